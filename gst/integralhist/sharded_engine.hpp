// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames shared out over several devices, or computed in rounds where they do not fit one. Poostchi
// et al. (2017, section 4.6) have the bins in a queue, from which each GPU takes the next when it
// is free, so that unequal ones finish together; here the same over the frames of a stream:
//
//   submit ──► tasks: groups of bins ──► one queue ──► a thread for each device
//
// Each thread has an engine of parts. The parts become shards of the tensor, where they were
// computed, or one tensor in host memory, part by part.
//
// Tensors stay on the devices where they have room for them. Where they do not, groups of bins are
// rounds, each downloaded while the next is computed; and where not even one bin's plane fits, a
// group's rows are computed in strips. Not installed.
#pragma once

#include "sharded_tensor.hpp"

namespace integralhist {

/// What the devices have in common.
struct Host {
  inthist::Device kind = inthist::Device::cpu;
  AllocateHost allocate = [] (std::size_t bytes, const NoMemoryMessage &message,
                              const Cancelled &cancelled) {
    return allocate_on_host (bytes, message, cancelled);
  };
  /// Waits until a frame on a device is written.
  std::function<Expected<> (const Frame &)> await_producer = [] (const Frame &) {
    return Expected<> ();
  };
  /// Has a frame's pixels in (pinned) host memory brought to one of the devices, from which the
  /// others copy them; what comes back keeps them there. None where each device had better get them
  /// for itself.
  std::function<Expected<std::shared_ptr<void>> (Frame &frame, int width, int height)> relay =
      nullptr;
  /// Smaller pictures go up so fast that to share them costs more. 32 bins on four H200s: 0.6 times
  /// the frames a second at 1280x720, as many at 1920x1080, 1.35 times at 4096x3072 and 1.7 at
  /// 8192x8192.
  std::size_t least_relayed = 1 << 20;  // pixels

  bool relays (const inthist::Shape &shape) const
  {
    return relay && std::size_t (shape.width) * shape.height >= least_relayed;
  }
};

/// `pixel_bytes` is the most that a pixel takes.
Expected<std::unique_ptr<Engine>> make_sharded_engine (const inthist::Shape &shape,
                                                       const Options &options,
                                                       std::vector<ShardDevice> devices,
                                                       const Host &host, int pixel_bytes);

/// The CPU as a device of its own, so that all of this runs without a GPU.
ShardDevice pretend_device (int id, const inthist::Lut &lut, const Options &options);

#if INTHIST_CUDA
ShardDevice cuda_shard_device (std::shared_ptr<CudaContext> context, const inthist::Lut &lut,
                               const Options &options);
/// Of devices with these contexts.
Host cuda_host (const std::vector<std::shared_ptr<CudaContext>> &contexts);
#endif

}  // namespace integralhist
