// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What integralhistlikelihood looks for: a region of the frame, or a histogram.
#pragma once

#include <string>
#include <vector>

#include <gst/integralhist/gstintegralhistogrammeta.h>
#include <gst/video/video.h>

namespace integralhist {

struct Model {
  std::vector<gfloat> bins;      // empty where there is none yet
  double width = 0, height = 0;  // of its region, as a part of the frame
};

/// The property `model`: none or one. Throws std::invalid_argument.
std::vector<GstVideoRectangle> parse_model (const std::string &text);
/// The property `histogram`: none, or a number of each bin. Throws std::invalid_argument.
std::vector<gfloat> parse_histogram (const std::string &text);
/// Of these two properties' texts, for a frame of this size; of the middle of the frame where both are empty. Throws std::invalid_argument, and std::runtime_error where the frame could not be asked.
Model take_model (const std::string &text, const std::string &histogram, GstIntegralHistogramMeta *meta, int width, int height);

}  // namespace integralhist
