// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Distributes frames over several devices, or computes them in rounds if they do not fit one
// device. Poostchi et al. (2017, section 4.6) keep the bins in a queue, from which each GPU takes
// the next when it is free, so that GPUs of unequal speed finish together. In this engine, the
// queue spans the frames of a stream:
//
//   submit ──► tasks: groups of bins ──► one queue ──► a thread for each device
//
// Each thread has a part engine, which computes a group of bins. If there is room, the groups stay
// on the devices as shards of the tensor. If not, they are downloaded to one tensor in host memory,
// in rounds: one group is downloaded while the next is computed. If not even the plane of one bin
// fits, the rows of a group are computed in strips.
#pragma once

#include "sharded_tensor.hpp"

namespace integralhist {

/// Functions for the devices of a sharded engine, which are all the CPU or all GPUs.
struct DeviceFunctions {
  Device device = Device::cpu;
  AllocateHost allocate = allocate_on_host;
  /// Waits until the pixels of a frame in device memory are written.
  std::function<Expected<> (const Frame &)> await_writes = [] (const Frame &) {
    return Expected<> ();
  };
  /// Uploads a frame's pixels from pinned host memory to one device, from which the others copy
  /// them, and returns the owner of the uploaded pixels. Null if each device uploads for itself.
  std::function<Expected<std::shared_ptr<void>> (PartFrame &frame, int width, int height)> upload =
      nullptr;
  /// Smaller frames are uploaded to each device, because copies between devices are slower for
  /// them. With such copies and 32 bins, four H200s make 0.6 times the frames a second at 1280x720,
  /// as many at 1920x1080, 1.35 times at 4096x3072, 1.7 times at 8192x8192.
  std::size_t least_copied = 1 << 20;  // pixels

  bool peers_copy (const Shape &shape) const
  {
    return upload && std::size_t (shape.width) * shape.height >= least_copied;
  }
};

/// Makes a sharded engine for frames whose pictures are no larger than those of `format`.
Expected<std::unique_ptr<Engine>> make_sharded_engine (const Shape &shape, const Options &options,
                                                       std::vector<ShardDevice> devices,
                                                       const DeviceFunctions &functions,
                                                       const PixelFormat &format);

}  // namespace integralhist
