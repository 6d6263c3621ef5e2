// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tables of features on the CPU. A gradient of 8-bit pixels is one of 511 x 511, so tables have the
// feature's value of each gradient, and the gradient's place among soft bins. A table also has the
// place of any other 8-bit value.
#pragma once

#include <array>
#include <cstdint>

#include "../binning.hpp"

namespace inthist::cpu {

/// Columns of a row, from the first to before the end.
struct Columns {
  int first, end;
};

/// The value of a feature, and its place among soft bins, for each gradient of 8-bit pixels.
struct GradientTable {
  static constexpr int kColumns = 512, kSize = 511 * kColumns;

  std::array<std::uint8_t, kSize> values;
  std::array<std::uint16_t, kSize> from_middles;  // from_first_middle ()

  static int index_of (int dx, int dy) { return (dy + 255) * kColumns + dx + 255; }
};

/// The WeightedPixel word of each gradient, if pixels have the gradient's length as weight and are
/// in soft bins.
using WeightTable = std::array<std::uint32_t, GradientTable::kSize>;

/// The tables for a frame.
struct LookedUp {
  const GradientTable *gradients = nullptr;  // null if the feature is not a gradient
  const WeightTable *weighted = nullptr;     // null unless the word depends on the gradient only
  std::array<std::uint16_t, 256> from_middles = {};  // of each value; not used for gradients

  /// Makes the tables for a frame. The table of gradients takes some milliseconds and 0.8 MB, or
  /// 1.8 MB with weights. It is kept for all frames with the same feature and the same number of
  /// sectors. Returns false if there is no memory.
  bool prepare (const Binning &binning);
};

}  // namespace inthist::cpu
