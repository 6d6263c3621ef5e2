// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Chooses the cheapest way to answer a query about a frame. All ways give the same numbers:
//
//   pixels   a few small windows are counted pixel by pixel
//   region   the tensor of the region around nearby windows is computed, and kept for later queries
//   whole    the tensor of the whole frame is computed, and answers all later queries
//
// In total, the answers about a frame cost at most twice as much as its whole tensor.
#pragma once

#include <optional>

#include <kernels/query.hpp>

#include <gst/integralhist/engine/tensor.hpp>

#include "answer_cost.hpp"

namespace integralhist {

inline bool is_within (const Region &inner, const Region &outer)
{
  return inner.x >= outer.x && inner.y >= outer.y && inner.x + inner.width <= outer.x + outer.width
         && inner.y + inner.height <= outer.y + outer.height;
}

/// Returns whether a query asks for counts or sums, which need no tensor: pixels can be added up.
inline bool is_additive (const Query &query)
{
  return query.answers && (query.kind == QueryKind::counts || query.kind == QueryKind::sums);
}

/// Adds up the costs of queries about a frame, to choose the cheapest way to answer the next one.
class QueryOptimizer {
public:
  QueryOptimizer (const Shape &shape, const AnswerCost &cost)
      : shape_ (shape), answer_cost_ (&cost), frame_{ 0, 0, shape.width, shape.height }
  {
  }

  /// Returns the region of the frame whose tensor answers a query cheapest: the region of the last
  /// tensor, or of a tensor to compute. Returns nothing if the pixels in the query's windows should
  /// be counted.
  std::optional<Region> choose_tensor (const Query &query);
  /// Returns whether to add up grids of cells pixel by pixel. That is often cheaper than a tensor,
  /// because the cells of a grid share no pixels.
  bool choose_counting (std::span<const CellsQuery> queries);
  /// Notes that the tensor of a region was computed, and now is the last computed tensor.
  void note_computed (const Region &region);
  /// Returns whether computing the whole tensor at once would have been better than on demand.
  bool whole_is_better () const
  {
    return is_within (frame_, computed_region_)
           || cost_so_far_ > answer_cost_->max_share_of_whole * cost_of (frame_);
  }
  const Region &frame () const { return frame_; }
  void forget () { *this = QueryOptimizer (shape_, *answer_cost_); }

private:
  double cost_of (const Region &region) const
  {
    return answer_cost_->of_tensor (region, shape_.bins);
  }
  bool charge_counting (double counting, double lookups, const Region &all);

  Shape shape_;
  const AnswerCost *answer_cost_;
  Region frame_;
  Region computed_region_;  // region of the last computed tensor
  // The region around the windows that were counted pixel by pixel since the last tensor was
  // computed, the cost of counting them, and the cost of all answers about this frame.
  Region counted_region_;
  double counting_cost_ = 0;
  double cost_so_far_ = 0;
};

}  // namespace integralhist
