// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a sharded engine divides frames over devices, so that the parts fit their memory.
#pragma once

#include <vector>

#include <gst/integralhist/engine/options.hpp>
#include <gst/integralhist/engine/part_engine.hpp>

namespace integralhist {

struct ShardDevice {
  int id = 0;
  std::size_t memory = 0;  // bytes that may be used
  std::function<Expected<std::unique_ptr<PartEngine>> (const Shape &, const Options &,
                                                       const PartLimit &)>
      make_engine;
};

/// The number of parts of frames in flight on a device: one is computed while one is downloaded.
constexpr unsigned kPartsAtOnce = 2;

/// How each frame is divided: into tasks, which are groups of bins, and tasks into strips of rows.
struct Partition {
  bool resident = false;          // shards stay on the devices
  int bins = 0, rows = 0;         // at most, in a part
  int groups = 0, strips = 0;     // number of tasks in a frame, and of strips in a task
  std::vector<unsigned> tensors;  // most tensors of parts on each device
  unsigned frames = 0;            // whole tensors that fit the devices; 0: no limit, in host memory

  Part part (const Shape &shape, int group, int strip) const
  {
    const int first_bin = group * bins, first_row = strip * rows;
    return { first_bin, std::min (bins, shape.bins - first_bin), first_row,
             std::min (rows, shape.height - first_row) };
  }
};

/// A function that returns the bytes that a device needs besides tensors for parts of a size.
using Overhead = std::function<std::size_t (int bins, int rows)>;

/// Returns how many tensors of a shape fit `memory` bytes, of which `needed` have another use.
unsigned room_for (const Shape &shape, std::size_t memory, std::size_t needed);

/// Returns how many whole tensors must fit the devices so that tensors stay there as shards.
unsigned least_resident_tensors (const Options &options);

/// Divides frames over devices. Tensors stay there as shards (groups of bins) if two fit, one held
/// and one in flight; one is enough with options.max_tensors 1 or download=never. Each device also
/// has `pictures` bytes of pictures. Returns an error if a device is too small for any part.
Expected<Partition> divide (const Shape &shape, std::span<const ShardDevice> devices,
                            const Options &options, const Overhead &overhead,
                            std::size_t pictures = 0);

/// Returns the most bytes that an engine needs besides tensors for `parts` parts of this shape in
/// flight, each with `picture` bytes of pixels. The strategy is that of the options or built-in.
std::size_t overhead_of (const Shape &part, const Options &options, Device device,
                         std::size_t picture, unsigned parts);

}  // namespace integralhist
