// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <vector>

#include <gst/integralhist/engine/options.hpp>
#include <gst/integralhist/engine/part_engine.hpp>

namespace integralhist {

struct ShardDevice {
  int id = 0;
  std::size_t memory = 0;  // bytes that may be used
  std::function<Expected<std::unique_ptr<PartEngine>> (const inthist::Shape &, const Options &,
                                                       const PartLimit &)>
      make_engine;
};

/// How many parts are in flight on a device: one is computed while the other is downloaded.
constexpr unsigned kPartsAtOnce = 2;

/// How frames are divided.
struct Partition {
  bool resident = false;          // shards stay on the devices
  int bins = 0, rows = 0;         // at most, in a part
  int groups = 0, strips = 0;     // tasks in a frame; parts in a task
  std::vector<unsigned> tensors;  // how many parts fit each device
  unsigned frames = 0;            // how many fit all devices; 0: no limit, in host memory

  Part part (const inthist::Shape &shape, int group, int strip) const
  {
    const int first_bin = group * bins, first_row = strip * rows;
    return { first_bin, std::min (bins, shape.bins - first_bin), first_row,
             std::min (rows, shape.height - first_row) };
  }
};

/// Returns the bytes that a device needs for parts of this size in addition to tensors.
using Overhead = std::function<std::size_t (int bins, int rows)>;

/// Returns how many tensors of a shape fit `memory` bytes if `needed` bytes are used otherwise.
unsigned room_for (const inthist::Shape &shape, std::size_t memory, std::size_t needed);

/// Returns how many whole tensors must fit the devices so that tensors stay there as shards.
unsigned least_resident (const Options &options);

/// Divides frames over the devices. Shards stay on a device if two whole tensors fit, one held and
/// one in flight; one is enough with options.max_tensors 1 or download=never. Each device also has
/// `pictures` bytes of pictures. A task has at most options.task_bins bins. Returns an error if a
/// device is too small for any part.
Expected<Partition> divide (const inthist::Shape &shape, std::span<const ShardDevice> devices,
                            const Options &options, const Overhead &overhead,
                            std::size_t pictures = 0);

/// Returns the most bytes that an engine needs in addition to tensors, with the built-in choice,
/// parts of this shape, pictures of this many bytes for each part, and this many parts in flight.
std::size_t overhead_of (const inthist::Shape &part, const Options &options, inthist::Device kind,
                         std::size_t picture, unsigned parts);

}  // namespace integralhist
