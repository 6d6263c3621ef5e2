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

/// Returns the tables that all filters of sizes share.
const inthist::correlation::SizeTables &size_tables ();

/// The division of a box into cells: about 64, each about as wide as high.
struct SizeCells {
  int columns = 0, rows = 0;

  /// Returns the cells for a box with these sides.
  static SizeCells of (double width, double height);
  /// Returns the cells of kSizes sizes of the box at a place.
  std::array<CellGrid, inthist::correlation::kSizes> grids (const Place &place) const;
};

/// Returns how much larger the target is than its box, from the responses to all sizes.
double size_factor_of (std::span<const double> response);
/// Returns the number of steps between sizes, from -1 to 1, that enlarge a box by this factor; null
/// if it takes more than one step.
std::optional<double> sizes_in (double factor);

class ScaleFilter {
public:
  /// Chooses the cells for a box with these sides, and forgets the learned state.
  void start (double width, double height);
  const SizeCells &cells () const { return cells_; }
  /// The channels of all kSizes sizes: [size][channel].
  using Sample = std::vector<float>;
  /// Returns the sample, from the sums of gradients in the cells.
  Sample sample (const FrameTensors &frame, std::span<const CellGrid> grids,
                 std::span<const std::int64_t> cell_sums) const;
  /// Returns how much larger the target is than the sample's box; 1 if it is as large.
  double find (const Sample &sample) const;
  /// Changes the sample to that of a box enlarged by this factor, by mixing neighbouring sizes. The
  /// factor is at most one size in each direction.
  static void resize (Sample &sample, double factor);
  /// Learns from a sample of the target's box. The first call learns completely, later calls with
  /// `rate`.
  void learn (const Sample &sample, double rate);

  // Access to the learned state, for a copy on a GPU.
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
