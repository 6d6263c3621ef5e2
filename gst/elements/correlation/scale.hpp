// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A filter that finds how much larger or smaller a target has become: one correlation filter along
// a row of sizes, with the orientations of some 64 cells of the box as channels (M. Danelljan et
// al., "Accurate scale estimation for robust visual tracking", BMVC 2014).
#pragma once

#include <vector>

#include "cells.hpp"
#include "fft.hpp"

namespace integralhist {

class ScaleFilter {
public:
  /// Chooses the cells for a box of these sides, and forgets what was learned.
  void start (double width, double height);
  /// Learns how the box with this middle and size looks; the first time wholly.
  Expected<> learn (const FrameTensors &frame, double x, double y, double width, double height,
                    double rate);
  /// Returns by how much the target is larger than this box; 1 where it is as large.
  Expected<double> find (const FrameTensors &frame, double x, double y, double width,
                         double height) const;

private:
  Expected<Complexes> spectra (const FrameTensors &frame, double x, double y, double width,
                               double height) const;

  int columns_ = 0, rows_ = 0;
  Complexes numerator_;  // [frequency][channel]
  std::vector<float> denominator_;
  float regular_ = 0;  // added to the denominator
};

}  // namespace integralhist
