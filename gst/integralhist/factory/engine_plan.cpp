// SPDX-License-Identifier: LGPL-2.1-or-later
#include "engine_plan.hpp"

namespace integralhist {

EnginePlan choose_engines (const EngineRequest &request)
{
  const EnginePlan eager = {};
  if (request.compute == Compute::eager)
    return eager;
  // Measures no strategies, because a CPU engine may be made later, while frames stream.
  if (request.is_plain_cpu ())
    return { .on_demand = true, .measures = false };

  const bool automatic = request.compute == Compute::automatic;
  const bool gpu_takes_whole_frame = request.on_gpu && !request.in_parts && !request.is_limited;
  const bool has_weights = request.content == Content::weights;
  // False if the GPU has no strategy for the shape. An eager engine then reports that, and the CPU
  // computes frames in host memory.
  const bool device_computes = !request.on_gpu || request.gpu_takes_shape;
  const bool stays_on_gpu = gpu_takes_whole_frame && device_computes;
  // Compute::automatic computes frames immediately if a frame needs several devices, or one device
  // several times; if pixels have weights on a GPU; if all tensors are downloaded; or if GPU memory
  // is short.
  if (automatic
      && (!stays_on_gpu || has_weights || request.downloads || !request.has_room_to_change_mode))
    return eager;
  return { .on_demand = true,
           .stays_on_gpu = stays_on_gpu,
           .gpu_assists = gpu_takes_whole_frame,
           .has_whole_engine = device_computes && !automatic && !has_weights };
}

EagerEngine choose_eager (const EngineRequest &request, unsigned room, unsigned least)
{
  if (request.is_plain_cpu ())
    return EagerEngine::cpu;
  // Without a memory limit set by the user, room for one tensor is enough: if frames wait for it
  // because consumers hold it, there is a warning.
  return !request.in_parts && room >= (request.is_limited ? least : 1) ? EagerEngine::one_device
                                                                       : EagerEngine::sharded;
}

}  // namespace integralhist
