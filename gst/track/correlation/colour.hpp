// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The colours of a target and of its surroundings. A colour's score is the share of the target in
// both, from 0 to 255; a box's score is the mean of its pixels'. That survives changes of shape,
// which a correlation filter does not (L. Bertinetto et al., "Staple: complementary learners for
// real-time tracking", CVPR 2016).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "frame_queries.hpp"

namespace integralhist {

class ColourModel {
public:
  /// Returns the boxes to learn from, of a target with this middle and size: its inner part, itself
  /// and what is around it.
  static std::vector<GstVideoRectangle> boxes (double x, double y, double width, double height);
  /// Learns from what these have of each bin; the first time wholly.
  void learn (std::span<const guint32> counts, double rate);
  /// Returns the score of each bin.
  std::span<const std::uint8_t> scores () const { return scores_; }

private:
  std::vector<double> target_, around_;  // shares of the pixels; empty at first
  std::vector<std::uint8_t> scores_;
};

/// Scores of boxes in a part of a frame. It is asked once, cell by cell: each cell's histogram is
/// weighed by the scores. Inside a cell scores are taken as even.
class ScoreMap {
public:
  ScoreMap () = default;
  /// Its cells have edges of whole pixels, inside of the frame.
  ScoreMap (const CellGrid &grid, int frame_width, int frame_height);
  /// Asks the colours. If there are no scores it asks nothing, and all are 0.
  void queue_cells (std::span<const std::uint8_t> scores, CellGridQuery &query) const;
  /// Sets the map to the answer, the sum of each cell's scores. Without an answer the map stays 0.
  void set_sums (std::span<const std::int64_t> cell_sums);
  /// Returns how many cells it asks for.
  std::size_t n_cells () const
  {
    return x_.size () < 2 || y_.size () < 2 ? 0 : (x_.size () - 1) * (y_.size () - 1);
  }

  /// Returns the mean score of a box with this middle and size, 0 to 1. Outside of the frame and of
  /// the cells it is 0.
  double score (double x, double y, double width, double height) const
  {
    return scores ({ &x, 1 }, { &y, 1 }, width, height).front ();
  }
  /// Returns those of boxes with their middles in some columns and rows, [row][column].
  std::vector<double> scores (std::span<const double> x, std::span<const double> y, double width,
                              double height) const;

private:
  /// A place between two edges: the first of them, and how far behind it lies, 0 to 1.
  struct EdgePosition {
    std::size_t edge;
    double share;
  };
  static EdgePosition position_of (const std::vector<int> &edges, double at);
  double sum_before (const EdgePosition &x, const EdgePosition &y) const;

  std::vector<int> x_, y_;    // the edges of the cells, whole pixels
  std::vector<double> sums_;  // of scores left of and above each corner
};

}  // namespace integralhist
