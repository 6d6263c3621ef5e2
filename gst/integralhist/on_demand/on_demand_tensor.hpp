// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tensor of a frame that is kept, in host memory or on a GPU. Nothing is computed before a
// consumer asks. The way of a frame through this folder, and of a query:
//
//   OnDemandEngine::submit (frame)       the streaming thread
//     ├─ HostOnDemandTensor::keep ()     frame in host memory: KeptFrame copies its values
//     ├─ DeviceStore::keep ()            frame on a GPU: a CudaOnDemandTensor copies them there,
//     │                                  to a feature image
//     └─ an eager engine's submit ()     if consumers keep asking for all of each frame, as a
//                                        DemandProxy notes; with compute=auto on a GPU also the
//                                        first frames, and those that lie elsewhere
//
//   Tensor::ask (query)                  any thread
//     └─ HostOnDemandTensor::ask_one ()  tries these in order, until one answers (in host memory;
//                                        a CudaOnDemandTensor has a GPU and boxes):
//          ├─ a GPU                      DeviceFeatureImage, after Tensor::prepare ()
//          ├─ pixels                     cpu::answer_pixels (), unless a tensor of a region of
//          │                             the frame, by Demand::choose_tensor (), costs less
//          ├─ the whole tensor           WholeTensorEngine::compute (), if that is the frame
//          ├─ a box                      box_of () ──► compute (): a tensor of that region
//          └─ pixels again               if the box finds no memory
//
// The tensors of an engine share an OnDemandContext. Demand (demand.hpp) counts a frame's costs.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>

#include <gst/integralhist/engine/engine_tensor.hpp>

#include "demand.hpp"
#include "on_demand_context.hpp"

namespace integralhist {

/// The base of tensors on demand, in host memory and on a GPU.
class OnDemandTensor : public EngineTensor {
public:
  Expected<> wait (GstClockTime) override { return {}; }
  void released () override;

protected:
  /// A region of the frame, and its tensor.
  struct Box {
    Region region;
    std::shared_ptr<Tensor> tensor;
  };

  OnDemandTensor (std::shared_ptr<OnDemandContext> context, const AnswerCost &cost)
      : EngineTensor (context->shape), context_ (std::move (context)), demand_ (shape, cost)
  {
  }

  /// Computes the tensor of a region of the frame.
  virtual Expected<std::shared_ptr<Tensor>> compute (const Region &region) = 0;

  bool is_whole (const Region &region) const
  {
    return region.width == shape.width && region.height == shape.height;
  }
  /// Returns the shape that the tensor of a region has.
  inthist::Shape shape_of (const Region &region) const;
  /// Locks, and waits while another thread computes; a flush or a stop ends that.
  Expected<std::unique_lock<std::mutex>> lock ();
  /// Calls `compute` without holding the lock. Meanwhile lock () waits in all other threads.
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
  static constexpr Error::Kind kBroken[] = { Error::Kind::failed },
                               kBrokenOrFull[] = { Error::Kind::failed, Error::Kind::no_memory };
  /// Returns whether the outcome is a failure of one of these kinds, so that another way may
  /// answer. If so, logs the failure.
  template <class T>
  static bool falls_through (const Expected<T> &outcome,
                             std::span<const Error::Kind> kinds = kBrokenOrFull)
  {
    const bool does = !outcome && std::ranges::find (kinds, outcome.error ().kind) != kinds.end ();
    if (does)
      note_failure (outcome.error ());
    return does;
  }
  /// Returns the tensor of a region that `demand_` has chosen, and computes it if necessary.
  Expected<std::shared_ptr<const Box>> box_of (std::unique_lock<std::mutex> &lock,
                                               const Region &region);
  /// Calls `ask` with the tensor of a box, and with the query in coordinates of the box.
  template <class Ask>
  Expected<> ask_box (const Box &box, const Query &query, Ask &&ask)
  {
    std::unique_ptr<Region[]> list;
    const Query there =
        is_whole (box.region) ? query : TRY (moved (query, box.region, shape, list));
    return ask (*box.tensor, std::span (&there, 1));
  }

  const std::shared_ptr<OnDemandContext> context_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool computing_ = false;  // if true, only one thread uses the members below
  std::shared_ptr<const Box> box_;
  Demand demand_;

private:
  static void note_failure (const Error &error);
  static Expected<Query> moved (Query query, const Region &to, const inthist::Shape &frame,
                                std::unique_ptr<Region[]> &list);
};

}  // namespace integralhist
