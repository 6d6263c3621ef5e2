// SPDX-License-Identifier: LGPL-2.1-or-later
#include "make_engine.hpp"

#include <kernels/registry.hpp>

#include <gst/integralhist/base/log.hpp>
#include <gst/integralhist/cuda/base/cuda_context.hpp>
#include <gst/integralhist/engine/picture_planes.hpp>
#include <gst/integralhist/host/cpu_engine.hpp>
#include <gst/integralhist/on_demand/on_demand_engine.hpp>
#include <gst/integralhist/sharded/sharded_engine.hpp>

#include "engine_plan.hpp"
#include "shard_devices.hpp"

namespace integralhist {
namespace {

/// Returns the options without measuring, so that an engine uses the built-in strategy.
Options untuned (Options options)
{
  options.tuning_time = 0;
  return options;
}

/// Returns whether a GPU has memory for the tensors of an eager engine and of frames on demand at
/// once, because both exist while Compute::automatic changes from one to the other.
Expected<bool> has_room_to_change_mode (const Shape &shape, const Options &options,
                                        const CudaContext &context)
{
  constexpr unsigned kHeld = 4;  // tensors that consumers hold, or that are kept for reuse
  return room_for (shape, TRY (context.free_memory ()), 0) >= 2 * (options.async_depth + kHeld);
}

Expected<EngineRequest> request_of (const Shape &shape, const Options &options,
                                    const Devices &devices)
{
  const bool on_gpu = devices.on_gpu ();
  return EngineRequest{
    .compute = options.compute,
    .content = shape.content,
    .on_gpu = on_gpu,
    .lists_devices = !devices.ids.empty (),
    .in_parts = devices.are_several () || options.task_bins > 0,
    .is_limited = options.max_device_memory > 0,
    .downloads = options.download == Download::eager,
    .gpu_takes_shape = on_gpu && inthist::preferred_strategy (Device::cuda, shape),
    .has_room_to_change_mode =
        on_gpu && options.compute == Compute::automatic
        && TRY (has_room_to_change_mode (shape, options, *devices.contexts.front ())),
  };
}

/// The arguments of an eager engine, besides options.
struct EagerInputs {
  Shape shape;
  Lut lut;
  Devices devices;
  PixelFormat format;
  EngineRequest request;

  Expected<std::unique_ptr<Engine>> make (const Options &options) const;
};

Expected<std::unique_ptr<Engine>> EagerInputs::make (const Options &options) const
{
  std::vector<ShardDevice> all;
  for (const auto &context : devices.contexts)
    all.push_back (TRY (cuda_shard_device (context, lut, options)));
  if (all.empty ())
    for (const int id : devices.ids.empty () ? std::vector{ 0 } : devices.ids)
      all.push_back (cpu_shard_device (id, lut, options));
  const DeviceFunctions functions = device_functions (devices.contexts);
  const unsigned room =
      room_for (shape, all.front ().memory,
                overhead_of (shape, options, functions.device,
                             most_picture_bytes (format, shape.width, shape.height, shape.height),
                             options.async_depth));
  GST_DEBUG ("%s: device %d has room for %u tensors", describe (shape).c_str (), all.front ().id,
             room);
  switch (choose_eager (request, room, least_resident_tensors (options))) {
    case EagerEngine::cpu: return make_cpu_engine (shape, lut, options);
    case EagerEngine::one_device: {
      // With limited memory, only the built-in strategy is used: `room` was computed for it.
      Options limited = request.is_limited ? untuned (options) : options;
      if (request.is_limited && (options.max_tensors == 0 || options.max_tensors > room))
        limited.max_tensors = room;
      return all.front ().make_engine (shape, limited, {});
    }
    case EagerEngine::sharded: break;
  }
  GST_DEBUG ("%s: a sharded engine of %zu devices", describe (shape).c_str (), all.size ());
  return make_sharded_engine (shape, options, std::move (all), functions, format);
}

/// Returns the options of an engine that computes whole tensors for queries, one at a time and also
/// after the element stops. Only the caller of a query gets its error, so nothing is reported.
Options for_queries (Options options)
{
  options.async_depth = 2;  // a cancelled frame may still be computed beside the new one
  options.waits_for_tensors = false;
  options.on_failure = nullptr;
  options.on_long_wait = nullptr;
  return untuned (options);
}

}  // namespace

Expected<std::unique_ptr<Engine>> make_engine (const Shape &shape, const Lut &lut,
                                               const Options &options, const Devices &devices,
                                               const PixelFormat &format)
{
  const EngineRequest request = TRY (request_of (shape, options, devices));
  const EnginePlan plan = choose_engines (request);
  const EagerInputs inputs = { shape, lut, devices, format, request };
  if (!plan.on_demand)
    return inputs.make (options);

  GST_DEBUG ("%s: frames are computed on demand", describe (shape).c_str ());
  const auto maker_of = [] (const EagerInputs &from, const Options &options) -> LazyEngine::Make {
    return [=] () -> Expected<std::shared_ptr<Engine>> { return TRY (from.make (options)); };
  };
  std::unique_ptr<DeviceStore> device_store;
  if (plan.stays_on_gpu)
    device_store = make_cuda_store (devices.contexts.front (), options.download);
  std::optional<GpuAssist> assist;
  if (plan.gpu_assists)
    assist = cuda_assist (devices.contexts.front ());
  std::shared_ptr<WholeTensors> whole_tensors;
  if (plan.has_whole_engine) {
    EagerInputs of_kept = inputs;
    if (shape.content == Content::sums)
      of_kept.lut = inthist::uniform_lut (256);  // kept values are already scores
    whole_tensors = std::make_shared<WholeTensors> (maker_of (of_kept, for_queries (options)),
                                                    request.on_gpu ? Device::cuda : Device::cpu);
  }
  return make_on_demand_engine (
      shape, lut, options, maker_of (inputs, plan.measures ? options : untuned (options)),
      std::move (whole_tensors), std::move (device_store), std::move (assist));
}

}  // namespace integralhist
