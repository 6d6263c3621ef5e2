// SPDX-License-Identifier: LGPL-2.1-or-later
#include "make_engine.hpp"

#include <kernels/registry.hpp>

#include <gst/integralhist/host/cpu_engine.hpp>
#include <gst/integralhist/cuda/cuda_beside.hpp>
#include <gst/integralhist/cuda/cuda_engine.hpp>
#include <gst/integralhist/cuda/cuda_on_demand.hpp>
#include <gst/integralhist/cuda/peer_upload.hpp>
#include <gst/integralhist/cuda/pinned_memory.hpp>
#include <gst/integralhist/base/log.hpp>
#include <gst/integralhist/on_demand/on_demand_engine.hpp>
#include <gst/integralhist/engine/picture_planes.hpp>
#include <gst/integralhist/sharded/sharded_engine.hpp>

namespace integralhist {
namespace {

/// Has the engine take the built-in choice.
Options untuned (Options options)
{
  options.tuning_time = 0;
  return options;
}

/// Returns whether frames go to one engine, of the CPU.
bool is_plain_cpu (const Options &options, const Devices &devices)
{
  return !devices.are_several () && options.task_bins == 0 && options.max_device_memory == 0
         && devices.contexts.empty () && devices.ids.empty ();
}

Expected<std::unique_ptr<Engine>> make_eager_once (const inthist::Shape &shape,
                                                   const inthist::Lut &lut, const Options &options,
                                                   const Devices &devices,
                                                   const inthist::PixelFormat &format)
{
  if (is_plain_cpu (options, devices)) {
    GST_DEBUG ("%s: one engine, on the CPU", describe (shape).c_str ());
    return make_cpu_engine (shape, lut, options);
  }
  const bool several = devices.are_several () || options.task_bins > 0,
             limited = options.max_device_memory > 0;
  std::vector<ShardDevice> all;
  DeviceFunctions functions;
#if INTHIST_CUDA
  for (const auto &context : devices.contexts)
    all.push_back (TRY (cuda_shard_device (context, lut, options)));
  if (!all.empty ())
    functions = cuda_functions (devices.contexts);
#endif
  if (all.empty ())
    for (const int id : devices.ids.empty () ? std::vector{ 0 } : devices.ids)
      all.push_back (pretend_device (id, lut, options));

  if (!several) {
    const unsigned room =
        room_for (shape, all.front ().memory,
                  overhead_of (shape, options, functions.kind,
                               most_picture_bytes (format, shape.width, shape.height, shape.height),
                               options.async_depth));
    // Without a limit one tensor is enough; waits for tensors held downstream are warned about.
    GST_DEBUG ("%s: device %d has room for %u tensors", describe (shape).c_str (), all.front ().id,
               room);
    if (room >= (limited ? least_resident (options) : 1)) {
      // The memory of the built-in choice was counted.
      Options alone = limited ? untuned (options) : options;
      if (limited && (options.max_tensors == 0 || options.max_tensors > room))
        alone.max_tensors = room;
      return all.front ().make_engine (shape, alone, {});
    }
  }
  GST_DEBUG ("%s: a sharded engine of %zu devices", describe (shape).c_str (), all.size ());
  return make_sharded_engine (shape, options, std::move (all), functions, format);
}

/// Makes an engine that computes each frame at once.
Expected<std::unique_ptr<Engine>> make_eager (const inthist::Shape &shape, const inthist::Lut &lut,
                                              const Options &options, const Devices &devices,
                                              const inthist::PixelFormat &format)
{
  auto first = make_eager_once (shape, lut, options, devices, format);
  // A strategy measured to be faster may need more memory than the built-in choice.
  const bool is_large = !first && first.error ().kind == Error::Kind::no_memory && !options.strategy
                        && options.tuning_time > 0;
  if (!is_large)
    return first;
  GST_DEBUG ("no memory for the measured strategy (%s): trying the built-in choice",
             first.error ().message.c_str ());
  return make_eager_once (shape, lut, untuned (options), devices, format);
}

/// Returns whether a GPU has room for an eager engine's tensors and, while frames turn to on demand
/// or back, for those of frames on demand beside them.
Expected<bool> has_room_to_turn (const inthist::Shape &shape, const Options &options,
                                 const Devices &devices)
{
#if INTHIST_CUDA
  constexpr unsigned kHeld = 4;  // by consumers, besides those in flight; or kept for the next
  const std::size_t free = TRY (devices.contexts.front ()->free_memory ());
  return room_for (shape, free, 0) >= 2 * (options.async_depth + kHeld);
#else
  (void) shape, (void) options, (void) devices;
  return false;
#endif
}

/// Has an engine serve questions, one at a time and also after a stop. Who asks is told what goes
/// wrong.
Options for_questions (Options options)
{
  options.async_depth = 2;  // one that was given up may still be computed
  options.waits_for_tensors = false;
  options.failed = nullptr;
  options.still_waiting = nullptr;
  options.cancelled = nullptr;
  return untuned (options);
}

}  // namespace

Expected<std::unique_ptr<Engine>> make_engine (const inthist::Shape &shape, const inthist::Lut &lut,
                                               const Options &options, const Devices &devices,
                                               const inthist::PixelFormat &format)
{
  const bool plain_cpu = is_plain_cpu (options, devices), on_gpu = !devices.contexts.empty (),
             // else eager engines say what is wrong, and the CPU computes frames in host memory
      computes = !on_gpu || inthist::preferred_strategy (inthist::Device::cuda, shape),
             automatic = options.compute == Compute::automatic;
  // Frames that take several devices, or rounds, are computed at once, and pixels with weights on a
  // GPU. So are, on a GPU with Compute::automatic, those in host memory, which cost as much to
  // keep, and those of a device whose memory is short.
  const bool stay_on_gpu = on_gpu && computes && !devices.are_several () && options.task_bins == 0
                           && options.max_device_memory == 0
                           && shape.content != inthist::Content::weights;
  const bool are_downloaded = options.download == Download::eager;
  if (options.compute == Compute::eager
      || (automatic && !plain_cpu
          && (!stay_on_gpu || are_downloaded || !TRY (has_room_to_turn (shape, options, devices)))))
    return make_eager (shape, lut, options, devices, format);
  GST_DEBUG ("%s: frames are computed when somebody asks%s", describe (shape).c_str (),
             automatic && on_gpu ? ", once less than all is asked" : "");
  const auto later = [=] (const inthist::Lut &lut, const Options &with) -> LazyEngine::Make {
    return [=] () -> Expected<std::shared_ptr<Engine>> {
      return TRY (make_eager (shape, lut, with, devices, format));
    };
  };
  // when the CPU turns to an eager engine, frames stream: nothing is measured
  if (plain_cpu)
    return make_on_demand_engine (shape, lut, options, later (lut, untuned (options)), nullptr);
  std::unique_ptr<DeviceFrames> on_device;
  std::optional<DeviceBeside> beside;
#if INTHIST_CUDA
  if (on_gpu && !devices.are_several () && options.task_bins == 0 && options.max_device_memory == 0)
    beside = cuda_beside (devices.contexts.front ());
  if (stay_on_gpu)
    on_device = make_cuda_frames (devices.contexts.front (), options.download);
#endif
  std::shared_ptr<WholeFrames> behind;
  if (computes && !automatic && shape.content != inthist::Content::weights) {
    // what is kept of a table are scores already; of weights, what an engine does not take
    const bool scored = shape.content == inthist::Content::powers;
    behind = std::make_shared<WholeFrames> (
        later (scored ? inthist::uniform_lut (256) : lut, for_questions (options)),
        on_gpu ? inthist::Device::cuda : inthist::Device::cpu);
  }
  return make_on_demand_engine (shape, lut, options, later (lut, options), std::move (behind),
                                std::move (on_device), std::move (beside));
}

ShardDevice pretend_device (int id, const inthist::Lut &lut, const Options &options)
{
  return { id, options.max_device_memory ? options.max_device_memory : available_memory ().bytes,
           [lut] (const inthist::Shape &shape, const Options &o, const PartLimit &limit) {
             return make_cpu_engine (shape, lut, o, limit);
           } };
}

#if INTHIST_CUDA
Expected<ShardDevice> cuda_shard_device (std::shared_ptr<CudaContext> context,
                                         const inthist::Lut &lut, const Options &options)
{
  // 5 % are left to the driver and to other processes
  const std::size_t available = TRY (context->free_memory ()) / 20 * 19;
  return ShardDevice{
    context->device (),
    options.max_device_memory ? std::min<std::size_t> (options.max_device_memory, available)
                              : available,
    [lut, context] (const inthist::Shape &shape, const Options &o, const PartLimit &limit) {
      return make_cuda_engine (shape, lut, o, context, limit);
    }
  };
}

DeviceFunctions cuda_functions (const std::vector<std::shared_ptr<CudaContext>> &contexts)
{
  const std::shared_ptr<CudaContext> first = contexts.front ();
  DeviceFunctions functions = {
    inthist::Device::cuda,
    [first] (std::size_t bytes, const auto &message, const auto &) {
      return allocate_pinned (first, bytes, message);
    },
    [first] (const Frame &frame) {
      return frame.producer ? (frame.context ? frame.context : first)->synchronize (frame.producer)
                            : Expected<> ();
    }
  };
  if (const auto peers = PeerUpload::between (contexts))
    functions.upload = [peers] (PartFrame &frame, int width, int height) {
      return peers->upload (frame, width, height);
    };
  return functions;
}
#endif

}  // namespace integralhist
