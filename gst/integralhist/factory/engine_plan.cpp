// SPDX-License-Identifier: LGPL-2.1-or-later
#include "engine_plan.hpp"

namespace integralhist {

EnginePlan choose (const EngineRequest &request)
{
  const EnginePlan at_once = {};
  if (request.compute == Compute::eager)
    return at_once;
  // Does not measure strategies: on the CPU, an eager engine may start while frames stream.
  if (request.is_plain_cpu ())
    return { .on_demand = true, .measures = false };

  const bool automatic = request.compute == Compute::automatic,
             whole_gpu = request.on_gpu && !request.in_parts && !request.is_limited,
             weighs = request.content == inthist::Content::weights,
             // If this is false, eager engines report why, and the CPU computes frames in host
             // memory.
      computes = !request.on_gpu || request.gpu_takes_shape;
  const bool stays_on_gpu = whole_gpu && computes;
  // Compute::automatic computes at once if a frame needs several devices or rounds, if pixels have
  // weights on a GPU, if tensors are downloaded anyway, or if the memory of a device is short.
  if (automatic
      && (!stays_on_gpu || weighs || request.downloads || !request.has_room_to_change_schedule))
    return at_once;
  return { .on_demand = true,
           .stays_on_gpu = stays_on_gpu,
           .gpu_assists = whole_gpu,
           .has_whole = computes && !automatic && !weighs };
}

EagerEngine choose_eager (const EngineRequest &request, unsigned room, unsigned least)
{
  if (request.is_plain_cpu ())
    return EagerEngine::cpu;
  // Without a limit by the user, one tensor is enough: if consumers hold it and frames wait, there
  // is a warning.
  return !request.in_parts && room >= (request.is_limited ? least : 1) ? EagerEngine::one_device
                                                                       : EagerEngine::sharded;
}

}  // namespace integralhist
