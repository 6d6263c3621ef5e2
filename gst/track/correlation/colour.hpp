// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The colours of a target and of its surroundings. A colour's score, 0 to 255, is the target's
// share of that colour in both; a box's score is the mean over its pixels. Scores survive changes
// of shape, which a correlation filter does not (L. Bertinetto et al., "Staple: complementary
// learners for real-time tracking", CVPR 2016).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <kernels/correlation/match.hpp>

#include "frame_queries.hpp"
#include "model.hpp"

namespace integralhist {

class ColourModel {
public:
  /// Returns the boxes to learn from, for a target at this place: its inner part, the whole target,
  /// and the target with its surroundings.
  static std::vector<GstVideoRectangle> boxes (const Place &place);
  /// Learns from the counts of each bin in boxes (). The first call learns completely, later calls
  /// with the share `rate`.
  void learn (std::span<const guint32> counts, double rate);
  /// Returns the score of each bin.
  std::span<const std::uint8_t> scores () const { return scores_; }

  // Access to the learned state, for a copy on a GPU.
  std::span<const double> target_shares () const { return target_; }
  std::span<const double> around_shares () const { return around_; }
  void set (std::vector<double> target, std::vector<double> around,
            std::vector<std::uint8_t> scores)
  {
    target_ = std::move (target);
    around_ = std::move (around);
    scores_ = std::move (scores);
  }

private:
  std::vector<double> target_, around_;  // shares of the pixels; empty at first
  std::vector<std::uint8_t> scores_;
};

/// The scores of boxes in a part of a frame (kernels/correlation/match.hpp). One query gives the
/// sum of each cell: its histogram, weighted by the scores.
class ScoreMap {
public:
  ScoreMap () = default;
  /// Rounds the edges of the grid's cells to whole pixels inside the frame.
  ScoreMap (const CellGrid &grid, int frame_width, int frame_height);
  /// Adds the request for each cell's sum of scores to `query`. If `scores` is empty, adds nothing,
  /// and all sums are 0.
  void queue_cells (std::span<const std::uint8_t> scores, CellGridQuery &query) const;
  /// Fills the map from the answer to queue_cells (): the sum of each cell. Without an answer the
  /// map stays 0.
  void set_sums (std::span<const std::int64_t> cell_sums);
  /// Returns the number of cells, which is also the number of sums in the answer.
  std::size_t n_cells () const
  {
    return x_.size () < 2 || y_.size () < 2 ? 0 : (x_.size () - 1) * (y_.size () - 1);
  }

  /// Returns a view of the map, which is valid while the map lives.
  inthist::correlation::ScoreSums sums () const
  {
    return { x_.data (), y_.data (), 1, int (x_.size ()), int (y_.size ()), sums_.data () };
  }
  /// Returns the mean scores of boxes whose middles lie in these columns and rows, [row][column].
  std::vector<double> scores (std::span<const double> x, std::span<const double> y, double width,
                              double height) const;

private:
  std::vector<int> x_, y_;    // the edges of the cells, whole pixels
  std::vector<double> sums_;  // sums of the scores left of and above each corner
};

}  // namespace integralhist
