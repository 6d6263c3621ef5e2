// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A filter that finds how much larger or smaller a target has become: one correlation filter along
// a row of sizes, with the orientations of some 64 cells of the box as channels (M. Danelljan et
// al., "Accurate scale estimation for robust visual tracking", BMVC 2014).
#pragma once

#include <span>
#include <vector>

#include <kernels/correlation/fft.hpp>

#include "cells.hpp"

namespace integralhist {

using inthist::correlation::Complexes;

class ScaleFilter {
public:
  /// Chooses the cells for a box of these sides, and forgets what was learned.
  void start (double width, double height);
  /// Returns the cells of 16 sizes of the box with this middle and size.
  std::vector<CellGrid> grids (double x, double y, double width, double height) const;
  /// What these sizes look like: [size][channel].
  using Sample = std::vector<float>;
  /// Returns it, from what the cells have of gradients.
  Sample sample (const FrameTensors &frame, std::span<const CellGrid> grids,
                 std::span<const std::int64_t> cell_sums) const;
  /// Returns by how much the target is larger than the sample's box; 1 where it is as large.
  double find (const Sample &sample) const;
  /// Makes it the sample of a box that is larger by this factor, from neighbouring sizes. Returns
  /// false where that is more than a size away.
  static bool resize (Sample &sample, double factor);
  /// Learns from a sample of the target's box; the first time wholly.
  void learn (const Sample &sample, double rate);

private:
  int columns_ = 0, rows_ = 0;
  Complexes numerator_;  // [frequency][channel]
  std::vector<float> denominator_;
  float regular_ = 0;  // added to the denominator
};

}  // namespace integralhist
