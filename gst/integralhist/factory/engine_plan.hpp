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
  bool lists_devices = false;                // cuda-device-ids; a CPU pretends them
  bool in_parts = false;                     // several devices, or task-bins is set
  bool is_limited = false;                   // max-device-memory
  bool downloads = false;                    // all tensors are downloaded at once
  bool gpu_takes_shape = false;              // a strategy of the GPU can compute the shape
  bool has_room_to_change_schedule = false;  // on a GPU: tensors of both schedules fit

  /// Returns whether one engine on the CPU computes all frames.
  bool is_plain_cpu () const { return !on_gpu && !lists_devices && !in_parts && !is_limited; }
};

/// How frames are computed.
struct EnginePlan {
  bool on_demand = false;     // if false, frames are computed at once
  bool stays_on_gpu = false;  // frames in a GPU's memory wait there for queries
  bool gpu_assists = false;   // the GPU answers many queries about frames in host memory
  bool has_whole = false;     // an engine computes a frame when a consumer asks for all of it
  bool measures = true;       // the fastest strategy is searched for

  bool operator== (const EnginePlan &) const = default;
};

EnginePlan choose (const EngineRequest &request);

/// The kind of engine that computes each frame at once.
enum class EagerEngine { cpu, one_device, sharded };

/// Chooses the kind of an eager engine. `room` tensors fit the device; if its memory is limited, at
/// least `least` must fit.
EagerEngine choose_eager (const EngineRequest &request, unsigned room, unsigned least);

}  // namespace integralhist
