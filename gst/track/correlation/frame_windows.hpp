// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The search windows of a target: cells, windows and weights of shifts, for models on CPUs and
// GPUs.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "cells.hpp"
#include "model_request.hpp"

namespace integralhist {

/// Returns the cells whose colours a search in a square reads. They may lie outside of the square,
/// because the boxes of its outer shifts do.
inline CellGrid score_cells (const CentreBox &box, const Centre &middle)
{
  const double cell = box.cell ();
  const auto n_cells = [&] (double length) {
    return 2 * (inthist::correlation::kSearchRadius + int (length / cell / 2 + 1));
  };
  const int columns = n_cells (box.width), rows = n_cells (box.height);
  return CellGrid::around (middle.x, middle.y, columns * cell, rows * cell, columns, rows);
}

inline inthist::correlation::ShiftWeights shift_weights (const ModelRequest &request)
{
  return inthist::correlation::ShiftWeights::of_spread (
      request.spread * std::sqrt (request.box.width * request.box.height) / request.box.cell ());
}

/// Boxes all over a frame, among which a search by colours finds a lost target, and the cells whose
/// scores this search needs.
struct FrameWindows {
  CellGrid cells;
  double first_x, first_y, last_x, last_y;  // of the boxes' middles

  static FrameWindows of (const CentreBox &box, int width, int height)
  {
    constexpr double kMaxWindows = 20000;
    const double least = std::max (2.0, std::sqrt (double (width) * height / kMaxWindows)),
                 step_x = std::max (least, box.width / 4),
                 step_y = std::max (least, box.height / 4);
    return { { 0, 0, step_x, step_y, int (std::ceil (width / step_x)),
               int (std::ceil (height / step_y)) },
             box.width / 2,
             box.height / 2,
             width - box.width / 2,
             height - box.height / 2 };
  }
  std::vector<double> x () const { return middles (first_x, last_x, cells.width); }
  std::vector<double> y () const { return middles (first_y, last_y, cells.height); }

private:
  /// Returns the middle of each box along an axis. Adds step after step, as GPUs do, so that both
  /// round alike.
  static std::vector<double> middles (double first, double last, double step)
  {
    std::vector<double> found;
    for (double middle = first; middle <= last; middle += step)
      found.push_back (middle);
    return found;
  }
};

/// Returns the least distance between two candidates that a search of the whole frame returns.
inline double candidate_distance (const CentreBox &box)
{
  return box.side () / 4;
}

}  // namespace integralhist
