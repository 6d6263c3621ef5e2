// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tensor of a frame that is kept in host memory or on a GPU, and computed when a consumer asks.
// The way of a frame and of a query through the classes of this folder:
//
//   OnDemandEngine::submit (frame)       the streaming thread
//     ├─ HostOnDemandTensor::keep ()     frame in host memory: HostFrame copies its values
//     ├─ DeviceStore::keep ()            frame on a GPU: a CudaOnDemandTensor copies them there,
//     │                                  to a feature image
//     └─ an eager engine's submit ()     if consumers keep asking for all of each frame, as a
//                                        EagerTensor notes; with compute=auto on a GPU also the
//                                        first frames, and those that lie elsewhere
//
//   Tensor::ask (query)                  any thread
//     ├─ HostOnDemandTensor::ask_one ()  tries several ways (host_on_demand_tensor.hpp)
//     └─ CudaOnDemandTensor::ask ()      answers from the feature image, or from the tensor of a
//                                        region, which region_tensor_of () finds or computes
//
// OnDemandShared has the state that all tensors of an engine use. QueryOptimizer
// (query_optimizer.hpp) counts a frame's costs.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include <gst/integralhist/base/cancel.hpp>
#include <gst/integralhist/engine/engine_tensor.hpp>

#include "on_demand_shared.hpp"
#include "query_optimizer.hpp"

namespace integralhist {

class OnDemandTensor : public EngineTensor {
public:
  Expected<> wait (GstClockTime) override { return {}; }
  void on_released () override;

protected:
  /// A region of the frame around queried windows, and the computed tensor of that region.
  struct RegionTensor {
    Region region;
    std::shared_ptr<Tensor> tensor;
  };

  OnDemandTensor (std::shared_ptr<OnDemandShared> shared, const AnswerCost &cost)
      : EngineTensor (shared->shape), shared_ (std::move (shared)), optimizer_ (shape, cost)
  {
  }

  virtual Expected<std::shared_ptr<Tensor>> compute (const Region &region) = 0;

  bool is_whole (const Region &region) const
  {
    return region.width == shape.width && region.height == shape.height;
  }
  Shape shape_of (const Region &region) const;
  static constexpr Error::Kind kFailed[] = { Error::Kind::failed },
                               kFailedOrNoMemory[] = { Error::Kind::failed,
                                                       Error::Kind::no_memory };
  /// Returns whether an answer failed with one of the given kinds of error, so that another way to
  /// answer must be tried. Logs such a failure.
  template <class T>
  static bool failed_recoverably (const Expected<T> &outcome,
                                  std::span<const Error::Kind> kinds = kFailedOrNoMemory)
  {
    const bool does = !outcome && std::ranges::find (kinds, outcome.error ().kind) != kinds.end ();
    if (does)
      note_failure (outcome.error ());
    return does;
  }
  /// Returns a tensor that covers a region of the frame: the one in region_tensor_ if that covers
  /// it, or a newly computed one, which then replaces the tensor in region_tensor_. The caller
  /// holds the mutex.
  Expected<std::shared_ptr<const RegionTensor>> region_tensor_of (const Region &region);
  /// Asks the tensor of a region, with the query's windows in coordinates of the region. With a
  /// `stream`, which may be null, enqueues the query there, as Tensor::ask_on () does.
  Expected<> ask_region_tensor (const RegionTensor &region_tensor, const Query &query,
                                std::optional<Stream> stream = {});

  const std::shared_ptr<OnDemandShared> shared_;

  CancellableMutex mutex_;  // guards all below; held while a tensor or pixel values are computed
  std::shared_ptr<const RegionTensor> region_tensor_;
  QueryOptimizer optimizer_;

private:
  static void note_failure (const Error &error);
};

}  // namespace integralhist
