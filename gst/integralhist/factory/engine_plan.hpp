// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Chooses the engine for a stream of frames, by the element's settings and the devices.
#pragma once

#include <kernels/shape.hpp>

#include <gst/integralhist/engine/options.hpp>

namespace integralhist {

struct EngineRequest {
  Compute compute = Compute::eager;
  Content content = Content::bins;
  bool on_gpu = false;                   // if false, the CPU computes
  bool lists_devices = false;            // the user lists devices, which a CPU may imitate
  bool in_parts = false;                 // the engine uses several devices, or task-bins is set
  bool is_limited = false;               // max-device-memory is set
  bool downloads = false;                // each computed tensor is copied to the host
  bool gpu_takes_shape = false;          // the GPU can compute tensors of the shape
  bool has_room_to_change_mode = false;  // GPU memory fits eager and on-demand tensors at once

  bool is_plain_cpu () const { return !on_gpu && !lists_devices && !in_parts && !is_limited; }
};

struct EnginePlan {
  bool on_demand = false;     // if false, frames are computed at once
  bool stays_on_gpu = false;  // frames in GPU memory wait there for queries
  bool gpu_assists = false;   // the GPU answers many queries at once about frames in host memory
  bool has_whole_engine = false;  // an engine computes whole tensors when consumers ask for them
  bool measures = true;           // engines measure strategies to find the fastest

  bool operator== (const EnginePlan &) const = default;
};

EnginePlan choose_engines (const EngineRequest &request);

enum class EagerEngine { cpu, one_device, sharded };

/// Chooses the kind of an eager engine for a device with memory for `room` tensors. If the user
/// limits the memory, one device is used only if at least `least` tensors fit.
EagerEngine choose_eager (const EngineRequest &request, unsigned room, unsigned least);

}  // namespace integralhist
