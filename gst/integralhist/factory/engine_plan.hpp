// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Chooses the engine for the frames of a stream from the user's settings and the abilities of the
// devices only.
#pragma once

#include <kernels/shape.hpp>

#include <gst/integralhist/engine/options.hpp>

namespace integralhist {

struct EngineRequest {
  Compute compute = Compute::eager;
  inthist::Content content = inthist::Content::bins;
  bool on_gpu = false;                       // otherwise the CPU computes
  bool lists_devices = false;                // cuda-device-ids; of a CPU they are pretended
  bool in_parts = false;                     // for several devices, or task-bins
  bool is_limited = false;                   // max-device-memory
  bool downloads = false;                    // every tensor, at once
  bool gpu_takes_shape = false;              // a strategy of the GPU does
  bool has_room_to_change_schedule = false;  // on a GPU: both kinds of tensors fit

  /// Returns whether the CPU computes all frames with one engine.
  bool is_plain_cpu () const { return !on_gpu && !lists_devices && !in_parts && !is_limited; }
};

/// How frames are computed.
struct EnginePlan {
  bool on_demand = false;     // otherwise at once
  bool stays_on_gpu = false;  // frames in a GPU's memory wait there for queries
  bool gpu_assists = false;   // answers many queries at once, of frames in host memory
  bool has_whole = false;     // an engine computes a frame when a consumer asks for all of it
  bool measures = true;       // which strategy is the fastest

  bool operator== (const EnginePlan &) const = default;
};

EnginePlan choose (const EngineRequest &request);

/// An engine that computes each frame at once.
enum class EagerEngine { cpu, one_device, sharded };

/// `room` tensors fit the device; if its memory is limited, at least `least` must fit.
EagerEngine choose_eager (const EngineRequest &request, unsigned room, unsigned least);

}  // namespace integralhist
