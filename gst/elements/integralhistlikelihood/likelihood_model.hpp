// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The model that integralhistlikelihood looks for: the histogram of a region, or given numbers.
#pragma once

#include <vector>

#include <gst/video/video.h>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/gstintegralhistogrammeta.h>
#include <gst/properties/properties.hpp>

#include "model_text.hpp"

namespace integralhist {

using ModelText = ParsedText<std::optional<GstVideoRectangle>>;

struct LikelihoodModel {
  std::vector<gfloat> bins;      // histogram of the model; empty before the model is made
  HistogramSpec spec;            // the settings of these bins
  double width = 0, height = 0;  // size of the model's region, as a share of the frame's
};

/// Makes the model for a frame of this size from the properties `model` and `histogram`; if both
/// are empty, from the middle of the frame. The largest bin of a region's histogram is 1.
Expected<LikelihoodModel> make_model (const ModelText &text, const WrittenHistogram &written,
                                      GstIntegralHistogramMeta *meta, int width, int height);

/// Refuses a frame whose histogram has other settings than the model, such as another feature.
Expected<> check_feature (const LikelihoodModel &model, const GstIntegralHistogram *histogram);

}  // namespace integralhist
