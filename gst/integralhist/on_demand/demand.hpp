// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Chooses the cheapest way to answer a query about a frame. All ways give the same numbers:
//
//   pixels   a few small windows are counted pixel by pixel
//   box      windows near each other have a tensor of the box around them, which is kept for the
//            next query
//   whole    for all other queries, and for every query after that
//
// In total, a frame costs at most twice as much as its tensor.
#pragma once

#include <optional>

#include <kernels/query.hpp>

#include <gst/integralhist/engine/answer_cost.hpp>
#include <gst/integralhist/engine/tensor.hpp>

namespace integralhist {

using inthist::Region;

inline bool is_within (const Region &inner, const Region &outer)
{
  return inner.x >= outer.x && inner.y >= outer.y && inner.x + inner.width <= outer.x + outer.width
         && inner.y + inner.height <= outer.y + outer.height;
}

/// Returns whether a query can be answered by counting pixels.
inline bool adds_up (const Query &query)
{
  return query.answers
         && (query.kind == inthist::QueryKind::counts || query.kind == inthist::QueryKind::sums);
}

/// Adds up what the queries about a frame cost, to choose the cheapest way for the next one.
class Demand {
public:
  Demand (const inthist::Shape &shape, const AnswerCost &cost)
      : shape_ (shape), answer_cost_ (&cost), frame_{ 0, 0, shape.width, shape.height }
  {
  }

  /// Returns the region of the frame whose tensor answers a query cheapest: the region of the last
  /// tensor, or of a tensor to compute. Returns nothing if the pixels in the query's windows should
  /// be counted.
  std::optional<Region> choose_tensor (const Query &query);
  /// Returns whether to count cells from pixels, which is cheap because the cells of a grid share
  /// no pixels.
  bool choose_counting (std::span<const CellsQuery> queries);
  /// Notes that a tensor of this region was computed, and replaces the last one.
  void note_computed (const Region &region);
  /// Returns whether computing the whole frame at once would have been better than what was done.
  bool is_for_all () const
  {
    return is_within (frame_, box_) || spent_in_all_ > answer_cost_->at_once * cost_of (frame_);
  }
  const Region &frame () const { return frame_; }
  void forget () { *this = Demand (shape_, *answer_cost_); }

private:
  double cost_of (const Region &region) const
  {
    return answer_cost_->of_tensor (region, shape_.bins);
  }
  bool charge_counting (double counting, double lookups, const Region &all);

  inthist::Shape shape_;
  const AnswerCost *answer_cost_;
  Region frame_;
  Region box_;  // the region of the last tensor
  // The region around the windows that were counted from pixels since the last tensor, and their
  // cost.
  Region asked_;
  double spent_ = 0;
  double spent_in_all_ = 0;  // the cost of this frame so far, for pixels and tensors
};

}  // namespace integralhist
