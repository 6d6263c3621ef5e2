// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A part of a frame: some of its bins in some of its rows. A device computes one part at a time.
#pragma once

#include <cstddef>

#include <kernels/inthist.hpp>

namespace integralhist {

struct Part {
  int first_bin = 0, bins = 0, first_row = 0, rows = 0;
};

inline inthist::Shape part_of (inthist::Shape shape, int bins, int rows)
{
  shape.bins = bins;
  shape.height = rows;
  return shape;
}

/// The largest part that an engine computes: at most this many bins and rows; 0 for all.
struct PartLimit {
  int bins = 0, rows = 0;

  inthist::Shape of (const inthist::Shape &shape) const
  {
    return part_of (shape, bins ? bins : shape.bins, rows ? rows : shape.height);
  }
};

/// Returns the rows of a frame that a part needs.
inline inthist::Image rows_of_part (inthist::Image image, const Part &part)
{
  if (image.format.reads_single_pixel ())
    image.data = static_cast<const std::byte *> (image.data) + part.first_row * image.stride;
  else
    image.first_row = part.first_row;
  return image;
}

/// Returns the LUT for a part's bins, which are numbered from 0.
inline inthist::Lut lut_of_part (const inthist::Lut &lut, const inthist::Shape &shape,
                                 const Part &part)
{
  return part.bins == shape.bins ? lut : inthist::lut_of_bins (lut, part.first_bin, part.bins);
}

}  // namespace integralhist
