// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tables of features on the CPU. There are only 511 x 511 gradients of 8-bit pixels. So a table
// has, for each gradient, the feature's value and the position among soft bins. Another table has
// the position among soft bins of each 8-bit value, for features that are not gradients.
#pragma once

#include <array>
#include <cstdint>

#include "../binning.hpp"

namespace inthist::cpu {

/// A range of columns in a row, from the first column to before the end.
struct Columns {
  int first, end;
};

/// For each gradient of 8-bit pixels, the value of a feature and its position among soft bins.
struct GradientTable {
  static constexpr int kColumns = 512, kSize = 511 * kColumns;

  std::array<std::uint8_t, kSize> values;
  std::array<std::uint16_t, kSize> from_middles;  // from_first_middle ()

  static int index_of (int dx, int dy) { return (dy + 255) * kColumns + dx + 255; }
};

/// The WeightedPixel word of each gradient, for pixels in soft bins whose weight is the length of
/// the gradient.
using WeightTable = std::array<std::uint32_t, GradientTable::kSize>;

/// The tables for a frame.
struct LookedUp {
  const GradientTable *gradients = nullptr;  // null if the feature is not a gradient
  const WeightTable *weighted = nullptr;     // null unless the word depends on the gradient only
  std::array<std::uint16_t, 256> from_middles = {};  // by value; not used for gradients

  /// Prepares the tables for a frame. Computing the table of gradients takes some milliseconds, and
  /// it needs 0.8 MB, or 1.8 MB with weights. The table is kept for later frames with the same
  /// feature and number of sectors. Returns false if there is no memory.
  bool prepare (const Binning &binning);
};

}  // namespace inthist::cpu
