// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The cells and windows in which a target is searched, and the weights of shifts. Models on the CPU
// and on a GPU use this code.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "cells.hpp"
#include "model.hpp"

namespace integralhist {

/// Returns the cells whose colours a search in the square with this middle reads. The boxes of the
/// outer shifts reach beyond the square.
inline CellGrid score_cells (const Place &place, const Spot &middle)
{
  const double cell = place.cell ();
  const auto n_cells = [&] (double length) {
    return 2 * (inthist::correlation::kSearchRadius + int (length / cell / 2 + 1));
  };
  const int columns = n_cells (place.width), rows = n_cells (place.height);
  return CellGrid::around (middle.x, middle.y, columns * cell, rows * cell, columns, rows);
}

inline inthist::correlation::ShiftWeights shift_weights (const ModelRequest &request)
{
  return inthist::correlation::ShiftWeights::of_spread (
      request.reach * std::sqrt (request.place.width * request.place.height)
      / request.place.cell ());
}

/// Boxes of a target's size, all over the frame, whose colours are compared with the target's; and
/// the cells that this comparison reads.
struct FrameWindows {
  CellGrid cells;
  double first_x, first_y, last_x, last_y;  // of the boxes' middles

  static FrameWindows of (const Place &place, int width, int height)
  {
    constexpr double kMaxWindows = 20000;
    const double least = std::max (2.0, std::sqrt (double (width) * height / kMaxWindows)),
                 step_x = std::max (least, place.width / 4),
                 step_y = std::max (least, place.height / 4);
    return { { 0, 0, step_x, step_y, int (std::ceil (width / step_x)),
               int (std::ceil (height / step_y)) },
             place.width / 2,
             place.height / 2,
             width - place.width / 2,
             height - place.height / 2 };
  }
  /// Return the middles along an axis.
  std::vector<double> x () const { return all (first_x, last_x, cells.width); }
  std::vector<double> y () const { return all (first_y, last_y, cells.height); }
  /// Return the number of middles along an axis.
  std::size_t n_x () const { return count (first_x, last_x, cells.width); }
  std::size_t n_y () const { return count (first_y, last_y, cells.height); }

private:
  /// Calls see (middle) for each middle. The step is added repeatedly, as on the GPU, so that both
  /// round alike.
  template <class See>
  static void for_middles (double first, double last, double step, See &&see)
  {
    for (double at = first; at <= last; at += step)
      see (at);
  }
  static std::vector<double> all (double first, double last, double step)
  {
    std::vector<double> middles;
    for_middles (first, last, step, [&] (double at) { middles.push_back (at); });
    return middles;
  }
  static std::size_t count (double first, double last, double step)
  {
    std::size_t n = 0;
    for_middles (first, last, step, [&] (double) { n++; });
    return n;
  }
};

/// Returns the least distance between two spots that a search of the whole frame returns.
inline double spot_distance (const Place &place)
{
  return place.side () / 4;
}

}  // namespace integralhist
