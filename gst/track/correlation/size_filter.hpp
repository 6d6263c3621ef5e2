// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A filter that finds how much larger or smaller a target has become: one correlation filter along
// a row of sizes, with the orientations of some 64 cells of the box as channels (M. Danelljan et
// al., "Accurate scale estimation for robust visual tracking", BMVC 2014).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <kernels/correlation/cpu/fft.hpp>
#include <kernels/correlation/sizes.hpp>

#include "cells.hpp"
#include "model_request.hpp"

namespace integralhist {

using inthist::correlation::ComplexArray;

const inthist::correlation::SizeTables &size_tables ();

/// The division of a target's box into about 64 cells, each about as wide as high.
struct SizeCells {
  int columns = 0, rows = 0;

  static SizeCells of (double width, double height);
  std::array<CellGrid, inthist::correlation::kSizes> grids (const CentreBox &box) const;
};

/// Returns how much larger the target is than its box, from the filter's response to each size.
double size_factor_of (std::span<const double> response);
/// Returns how many steps between sizes enlarge a box by this factor: -1 to 1, or null beyond.
std::optional<double> size_steps_of (double factor);

class SizeFilter {
public:
  /// Chooses the cells for a box with these sides, and forgets what the filter has learned.
  void start (double width, double height);
  const SizeCells &cells () const { return learned_.cells; }
  /// The sample of a box, which the filter looks at: its channels at kSizes sizes, [size][channel].
  using Sample = std::vector<float>;
  /// Computes the sample of a box from the sums of gradients in the cells of all its sizes.
  Sample sample (const FrameTensors &frame, std::span<const CellGrid> grids,
                 std::span<const std::int64_t> cell_sums) const;
  /// Returns how much larger the target is than the box of the sample; 1 for the same size.
  double find (const Sample &sample) const;
  /// Changes a sample to that of a box enlarged by `factor`, by mixing neighbouring sizes. The
  /// factor is at most one step between sizes, up or down.
  static void enlarge_sample (Sample &sample, double factor);
  /// Learns from a sample of the target's box: from the first one completely, and then with `rate`.
  void learn (const Sample &sample, double rate);

  /// The learned state of the filter of sizes, which is copied to a GPU and back.
  struct Learned {
    SizeCells cells = {};
    ComplexArray numerator = {};  // [frequency][channel]
    std::vector<float> denominator = {};
    float regularisation = 0;  // added to the denominator
  };
  const Learned &learned () const { return learned_; }
  void set (Learned learned) { learned_ = std::move (learned); }

private:
  Learned learned_;
};

}  // namespace integralhist
