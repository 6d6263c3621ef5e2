// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What integralhistlikelihood looks for: a region of the frame, or a histogram.
#pragma once

#include <string>
#include <vector>

#include <gst/integralhist/error.hpp>
#include <gst/integralhist/gstintegralhistogrammeta.h>
#include <gst/video/video.h>

namespace integralhist {

struct Model {
  std::vector<gfloat> bins;      // empty where there is none yet
  double width = 0, height = 0;  // of its region, as a part of the frame
};

/// What these two properties say to look for in a frame of this size; where both are empty, its
/// middle.
Expected<Model> take_model (const std::string &text, const std::string &histogram,
                            GstIntegralHistogramMeta *meta, int width, int height);

}  // namespace integralhist
