// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Functions of few numbers, which the CPU looks up: a gradient's value and its place among soft
// bins, and the place of any other value.
#pragma once

#include <array>
#include <cstdint>

#include "../binning.hpp"

namespace inthist::cpu {

/// Columns of a row, from the first to before the end.
struct Columns {
  int first, end;
};

/// Of all gradients of 8 bits.
struct GradientTable {
  static constexpr int kColumns = 512, kSize = 511 * kColumns;

  std::array<std::uint8_t, kSize> values;         // of the feature
  std::array<std::uint16_t, kSize> from_middles;  // from_first_middle

  static int index_of (int dx, int dy) { return (dy + 255) * kColumns + dx + 255; }
};

/// The words of pixels that gradients weigh, in soft bins: that of each gradient.
using WeightTable = std::array<std::uint32_t, GradientTable::kSize>;

/// What is looked up of a frame.
struct LookedUp {
  const GradientTable *gradients = nullptr;          // of a feature that is a gradient
  const WeightTable *weighted = nullptr;             // where a gradient says all of a pixel
  std::array<std::uint16_t, 256> from_middles = {};  // of the values of others

  /// Makes what a frame wants. The table of a gradient has some milliseconds of work and 0.8 MB,
  /// or 1.8 with weights, which are kept for all frames of the same feature and sectors. Returns
  /// whether there was memory.
  bool prepare (const Binning &binning);
};

}  // namespace inthist::cpu
