// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Into which parts frames are shared out, so that they fit the devices. Not installed.
#pragma once

#include "engine.hpp"

namespace integralhist {

/// A device as a sharded engine sees it.
struct ShardDevice {
  int id = 0;
  std::size_t memory = 0;  // bytes that may be used
  std::function<Expected<std::unique_ptr<PartEngine>> (const inthist::Shape &, const Options &,
                                                       const Portion &)>
      make_engine;
};

/// Parts that a device has under way: one is computed while the other is downloaded.
constexpr unsigned kPartsAtOnce = 2;

/// How frames are shared out.
struct Sharing {
  bool resident = false;          // shards stay on the devices
  int bins = 0, rows = 0;         // of a part, at most
  int groups = 0, strips = 0;     // of a frame: tasks, and parts of a task
  std::vector<unsigned> tensors;  // of parts, that fit each device
  unsigned frames = 0;            // whose tensors fit all together; 0 for no limit, in host memory

  Part part (const inthist::Shape &shape, int group, int strip) const
  {
    const int first_bin = group * bins, first_row = strip * rows;
    return { first_bin, std::min (bins, shape.bins - first_bin), first_row,
             std::min (rows, shape.height - first_row) };
  }
};

/// What a device needs besides tensors, for parts of so many bins and rows.
using Overhead = std::function<std::size_t (int bins, int rows)>;

/// How many tensors of this shape fit in so much memory, beside what else is needed.
unsigned room_for (const inthist::Shape &shape, std::size_t memory, std::size_t needed);

/// How many whole tensors must fit for them to stay on the devices.
unsigned least_resident (const Options &options);

/// Shards stay on the devices where two whole tensors fit, one to hold and one in the making, or
/// one is enough because options.max_tensors or download=never say so. At most options.task_bins
/// bins are in a task. Where they stay, a device also has so many bytes of pictures. An error where
/// a device is too small for anything.
Expected<Sharing> share_out (const inthist::Shape &shape, std::span<const ShardDevice> devices,
                             const Options &options, const Overhead &overhead,
                             std::size_t pictures = 0);

/// For what the strategy takes, with pixels of so many bytes, and so many parts under way.
Overhead overhead_of (const inthist::Shape &shape, const Options &options, inthist::Device kind,
                      int pixel_bytes, unsigned parts);

}  // namespace integralhist
