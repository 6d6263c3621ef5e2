// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A part of a frame's tensor that a device computes at a time: a range of bins in a range of rows.
// PartMemory is the memory that an engine needs for parts besides tensors.
#pragma once

#include <cstddef>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

struct Part {
  int first_bin = 0, bins = 0, first_row = 0, rows = 0;
};

inline Shape shape_of_part (Shape shape, int bins, int rows)
{
  shape.bins = bins;
  shape.height = rows;
  return shape;
}

/// The most bins and rows that an engine computes at a time; 0 means all bins or all rows.
struct PartLimit {
  int bins = 0, rows = 0;

  Shape of (const Shape &shape) const
  {
    return shape_of_part (shape, bins ? bins : shape.bins, rows ? rows : shape.height);
  }
};

/// Returns the image of a frame from the first row of a part on. If a feature reads neighbours of
/// a pixel, the data stay those of the whole frame, and first_row says where to begin.
inline Image rows_of_part (Image image, const Part &part)
{
  if (image.format.reads_single_pixel ())
    image.data = static_cast<const std::byte *> (image.data) + part.first_row * image.stride;
  else
    image.first_row = part.first_row;
  return image;
}

/// Returns a LUT from pixel values to only those bins that a part has, renumbered from 0.
inline Lut lut_of_part (const Lut &lut, const Shape &shape, const Part &part)
{
  return part.bins == shape.bins ? lut : inthist::lut_of_bins (lut, part.first_bin, part.bins);
}

/// Bytes for the pixels and the workspace of each part in flight, and for the last row of a strip
/// of rows (`above`), to which the next strip of the frame adds its counts.
struct PartMemory {
  std::size_t pixels = 0, workspace = 0;
  std::size_t above = 0;
};

inline PartMemory part_memory_of (const Shape &most, const Strategy *strategy,
                                  const inthist::Tuning &tuning)
{
  return { inthist::binned_stride (most) * most.height,
           strategy ? strategy->workspace_bytes (most, tuning) : 0,
           sizeof (std::uint32_t) * most.bins * most.width };
}

/// How many pictures a device has room for besides one for each part in flight: the next frame's.
constexpr unsigned kPicturesAhead = 1;

}  // namespace integralhist
