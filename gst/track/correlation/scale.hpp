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

#include <kernels/correlation/fft.hpp>
#include <kernels/correlation/sizes.hpp>

#include "cells.hpp"
#include "model.hpp"

namespace integralhist {

using inthist::correlation::Complexes;

/// Returns what all filters of sizes share.
const inthist::correlation::SizeTables &size_tables ();

/// The cells of a box: some 64, about as wide as high.
struct SizeCells {
  int columns = 0, rows = 0;

  /// Returns the cells of a box of these sides.
  static SizeCells of (double width, double height);
  /// Returns the cells of kSizes sizes of the box at a place.
  std::array<CellGrid, inthist::correlation::kSizes> grids (const Place &place) const;
};

/// Returns by how much the target is larger than its box, from the responses to all sizes.
double size_factor_of (std::span<const double> response);
/// Returns how many sizes larger a box becomes by a factor; null if it is more than one each way.
std::optional<double> sizes_in (double factor);

class ScaleFilter {
public:
  /// Chooses the cells for a box of these sides, and forgets what was learned.
  void start (double width, double height);
  const SizeCells &cells () const { return cells_; }
  /// What kSizes sizes look like: [size][channel].
  using Sample = std::vector<float>;
  /// Returns it, from what the cells have of gradients.
  Sample sample (const FrameTensors &frame, std::span<const CellGrid> grids,
                 std::span<const std::int64_t> cell_sums) const;
  /// Returns by how much the target is larger than the sample's box; 1 if it is as large.
  double find (const Sample &sample) const;
  /// Makes it the sample of a box that is larger by this factor, from neighbouring sizes. The
  /// factor is up to a size each way.
  static void resize (Sample &sample, double factor);
  /// Learns from a sample of the target's box; the first time wholly.
  void learn (const Sample &sample, double rate);

  // For a copy on a GPU.
  const Complexes &numerator () const { return numerator_; }
  std::span<const float> denominator () const { return denominator_; }
  float regular () const { return regular_; }
  void set (const SizeCells &cells, Complexes numerator, std::vector<float> denominator,
            float regular)
  {
    cells_ = cells;
    numerator_ = std::move (numerator);
    denominator_ = std::move (denominator);
    regular_ = regular;
  }

private:
  SizeCells cells_;
  Complexes numerator_;  // [frequency][channel]
  std::vector<float> denominator_;
  float regular_ = 0;  // added to the denominator
};

}  // namespace integralhist
