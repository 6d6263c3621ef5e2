// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Levels as colours.
#pragma once

#include <array>

#include <glib.h>

namespace integralhist {

/// The bytes of a pixel of BGRx.
using Bgrx = std::array<guint8, 4>;

/// 256 colours from dark blue over green to yellow, each lighter than the one before and about as
/// far from it as from the next; the colour-blind see the same order, and so does a gray print.
/// Between ten colours of viridis (van der Walt and Smith 2015).
constexpr std::array<Bgrx, 256> colour_map ()
{
  constexpr double kControl[][3] = { { 68, 1, 84 },    { 72, 40, 120 },  { 62, 74, 137 },
                                     { 49, 104, 142 }, { 38, 130, 142 }, { 31, 158, 137 },
                                     { 53, 183, 121 }, { 110, 206, 88 }, { 181, 222, 43 },
                                     { 253, 231, 37 } };
  constexpr int kGaps = 9;
  std::array<Bgrx, 256> colours = {};
  for (int level = 0; level < 256; level++) {
    const int gap = level == 255 ? kGaps - 1 : level * kGaps / 255;
    const double part = double (level * kGaps) / 255 - gap;
    const auto mixed = [&] (int c) {
      return guint8 (kControl[gap][c] * (1 - part) + kControl[gap + 1][c] * part + 0.5);
    };
    colours[std::size_t (level)] = { mixed (2), mixed (1), mixed (0), 255 };
  }
  return colours;
}

}  // namespace integralhist
