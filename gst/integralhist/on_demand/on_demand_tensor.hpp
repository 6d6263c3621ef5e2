// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame's tensor that is not computed before somebody asks, wherever the frame is kept. It
// answers as Demand says (demand.hpp).
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include <gst/integralhist/engine/engine_tensor.hpp>

#include "demand.hpp"
#include "on_demand_context.hpp"

namespace integralhist {

/// What all such tensors are, wherever the values lie.
class OnDemandTensor : public EngineTensor {
public:
  Expected<> wait (GstClockTime) override { return {}; }
  void released () override;

protected:
  /// A tensor of a part of the frame.
  struct Box {
    Region region;
    std::shared_ptr<Tensor> tensor;
  };

  OnDemandTensor (std::shared_ptr<OnDemandContext> frames, const AnswerCost &cost)
      : EngineTensor (frames->shape), frames_ (std::move (frames)), demand_ (shape, cost)
  {
  }

  /// Computes the tensor of a part of the frame.
  virtual Expected<std::shared_ptr<Tensor>> compute (const Region &region) = 0;

  bool is_whole (const Region &region) const
  {
    return region.width == shape.width && region.height == shape.height;
  }
  /// Returns the shape of a part's tensor.
  inthist::Shape shape_of (const Region &region) const;
  /// Locks, and waits while another thread computes; a flush or a stop ends that.
  Expected<std::unique_lock<std::mutex>> lock ();
  /// Calls `compute` without the lock; others wait meanwhile.
  template <class Compute>
  auto unlocked (std::unique_lock<std::mutex> &lock, Compute &&compute)
  {
    computing_ = true;
    lock.unlock ();
    auto computed = compute ();
    lock.lock ();
    computing_ = false;
    changed_.notify_all ();
    return computed;
  }
  /// Returns whether another way may answer after this failure.
  static bool is_mended (const Error &error)
  {
    return error.kind == Error::Kind::failed || error.kind == Error::Kind::no_memory;
  }
  /// Tries ways to answer, in order, until one does. A way returns false if it is not for the
  /// question. If one fails for want of memory, or by a fault of a device, the next is tried.
  template <class... Ways>
  static Expected<> answer_by (Ways &&...ways)
  {
    std::optional<Error> failure;
    bool is_final = false;
    const auto is_over = [&] (auto &way) {
      const Expected<bool> answered = way ();
      if (answered)
        return *answered;
      failure = answered.error ();
      is_final = !is_mended (*failure);
      if (!is_final)
        note_failure (*failure);
      return is_final;
    };
    const bool over = (is_over (ways) || ...);
    return over && !is_final ? Expected<> () : tl::make_unexpected (std::move (*failure));
  }
  /// Returns the tensor of a part that `demand_` has named. Computes it, if it must.
  Expected<std::shared_ptr<const Box>> box_of (std::unique_lock<std::mutex> &lock,
                                               const Region &part);
  /// Calls `ask` with a box's tensor, and with the query moved there.
  template <class Ask>
  Expected<> ask_box (const Box &box, const Query &query, Ask &&ask)
  {
    std::unique_ptr<Region[]> list;
    const Query there =
        is_whole (box.region) ? query : TRY (moved (query, box.region, shape, list));
    return ask (*box.tensor, std::span (&there, 1));
  }

  const std::shared_ptr<OnDemandContext> frames_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool computing_ = false;  // without the lock; nobody touches the rest meanwhile
  std::shared_ptr<const Box> box_;
  Demand demand_;

private:
  static void note_failure (const Error &error);
  static Expected<Query> moved (Query query, const Region &to, const inthist::Shape &frame,
                                std::unique_ptr<Region[]> &list);
};

}  // namespace integralhist
