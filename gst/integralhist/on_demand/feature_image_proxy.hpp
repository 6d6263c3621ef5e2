// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>

#include <gst/integralhist/engine/device_feature_image.hpp>

#include "on_demand_context.hpp"
#include "tensor_proxy.hpp"

namespace integralhist {

/// A tensor of a frame in a GPU's memory, with the frame's feature image on that GPU, for many
/// queries at once. The image is made if such queries were announced for an earlier frame.
class FeatureImageProxy final : public TensorProxy {
public:
  FeatureImageProxy (std::shared_ptr<OnDemandContext> context, std::shared_ptr<Tensor> tensor,
                     std::unique_ptr<DeviceFeatureImage> feature_image)
      : TensorProxy (std::move (tensor)), context_ (std::move (context)),
        feature_image_ (std::move (feature_image))
  {
  }
  ~FeatureImageProxy () override
  {
    if (feature_image_ && !expected_)
      context_->feature_image_wanted = false;
    if (feature_image_)
      context_->give_back (std::move (feature_image_));
  }

  Expected<DeviceFeatureImage *> prepare (std::span<const inthist::Region>) override
  {
    context_->feature_image_wanted = true;
    expected_ = true;
    return feature_image_.get ();
  }
  Expected<> ask (std::span<const Query> queries) override
  {
    if (!may_use_feature_image ())
      return tensor_->ask (queries);
    for (const Query &query : queries)
      if (!TRY (count_windows (*feature_image_, shape, query)))
        TRY (tensor_->ask ({ &query, 1 }));
    return {};
  }
  Expected<> ask_cells (std::span<const CellsQuery> queries) override
  {
    return may_use_feature_image () && feature_image_->takes (queries)
               ? feature_image_->add_up_cells (queries)
               : tensor_->ask_cells (queries);
  }

private:
  bool may_use_feature_image () const { return expected_ && feature_image_; }

  const std::shared_ptr<OnDemandContext> context_;
  std::unique_ptr<DeviceFeatureImage> feature_image_;  // may be null
  std::atomic<bool> expected_ = false;
};

}  // namespace integralhist
