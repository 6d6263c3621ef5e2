// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tables of features on the CPU. There are only 511 x 511 gradients of 8-bit pixels, so a table
// has, for each gradient, the feature's value and the position among soft bins (features/soft.hpp).
// For other features, a table has the position of each 8-bit value.
#pragma once

#include <array>
#include <cstdint>

#include "../binning.hpp"

namespace inthist::cpu {

/// A range of columns in a row of pixels, from the first column to before the end.
struct ColumnRange {
  int first, end;
};

struct GradientTable {
  static constexpr int kColumns = 512, kSize = 511 * kColumns;

  std::array<std::uint8_t, kSize> values;
  std::array<std::uint16_t, kSize> from_middles;  // from_first_middle ()

  static int index_of (int dx, int dy) { return (dy + 255) * kColumns + dx + 255; }
};

/// The WeightedPixel word of each gradient, for soft bins and the gradient's length as weight.
using WeightTable = std::array<std::uint32_t, GradientTable::kSize>;

struct FeatureTables {
  const GradientTable *gradients = nullptr;  // the table of gradients, or null for other features
  const WeightTable *weighted = nullptr;     // null unless weighted pixels depend on gradients only
  std::array<std::uint16_t, 256> from_middles = {};  // for features without gradients

  /// Prepares the tables for a frame. A table of gradients takes some milliseconds, and 0.8 MB, or
  /// 1.8 MB with weights, and is kept for later frames with the same feature and number of sectors.
  /// Returns false if there is no memory.
  bool prepare (const Binning &binning);
};

}  // namespace inthist::cpu
