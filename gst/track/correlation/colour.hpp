// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The colours of a target and of its surroundings. A colour's score, 0 to 255, tells how much more
// frequent the colour is in the target than around it; a box's score is the mean over its pixels.
// Scores survive changes of shape, which a correlation filter does not (L. Bertinetto et al.,
// "Staple: complementary learners for real-time tracking", CVPR 2016).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <kernels/correlation/match.hpp>

#include "model_request.hpp"
#include "target_queries.hpp"

namespace integralhist {

class ColourModel {
public:
  /// Returns the boxes whose colours are learned, for a target with this box: the target's inner
  /// part, the whole target, and the target with its surroundings.
  static std::vector<GstVideoRectangle> boxes (const CentreBox &box);
  /// Learns from the counts of colours in boxes (), [box][bin]. The first call sets the shares of
  /// colours, and later calls move them in proportion to `rate`.
  void learn (std::span<const guint32> counts, double rate);
  std::span<const std::uint8_t> scores () const { return learned_.scores; }

  /// The learned state of the colours, which is copied to a GPU and back.
  struct Learned {
    std::vector<double> target, background;  // each bin's share of the pixels; empty at first
    std::vector<std::uint8_t> scores;
  };
  const Learned &learned () const { return learned_; }
  void set (Learned learned) { learned_ = std::move (learned); }

private:
  Learned learned_;
};

/// The integral image of colour scores in the cells of a part of a frame, which gives the mean
/// score of any box in it (kernels/correlation/match.hpp). One query sums up the cells' scores.
class ScoreMap {
public:
  ScoreMap () = default;
  /// Rounds the edges of the grid's cells to whole pixels inside the frame.
  ScoreMap (const CellGrid &grid, int frame_width, int frame_height);
  /// Adds a request for the sum of `scores` in each cell to `query`; none if there are no scores.
  void queue_cells (std::span<const std::uint8_t> scores, TargetCellsQuery &query) const;
  /// Computes the integral image from the answer to queue_cells (); without an answer it stays 0.
  void set_sums (std::span<const std::int64_t> cell_sums);
  std::size_t n_cells () const
  {
    return x_.size () < 2 || y_.size () < 2 ? 0 : (x_.size () - 1) * (y_.size () - 1);
  }

  /// Returns a view of the scores' integral image, which is valid while the ScoreMap lives.
  inthist::correlation::ScoreSums sums () const
  {
    return { x_.data (), y_.data (), 1, int (x_.size ()), int (y_.size ()), sums_.data () };
  }
  /// Returns the mean scores of boxes of one size, with middles at all of the given x and y, as
  /// [row][column].
  std::vector<double> scores (std::span<const double> x, std::span<const double> y, double width,
                              double height) const;

private:
  std::vector<int> x_, y_;    // edges of cells, whole pixels
  std::vector<double> sums_;  // sums of scores above and left of each corner
};

}  // namespace integralhist
