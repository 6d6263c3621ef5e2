// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The producers' property "regions", clipped to the frame.
#pragma once

#include <string>
#include <vector>

#include <gst/video/video.h>

#include <kernels/inthist.hpp>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

class ReportedRegions {
public:
  /// Parses and clips the regions where the text has changed. A frame of another size needs an
  /// object of its own.
  Expected<> update (const std::string &text, const inthist::Shape &shape);
  const std::vector<GstVideoRectangle> &all () const { return regions_; }

private:
  std::string parsed_text_;
  std::vector<GstVideoRectangle> regions_;
};

}  // namespace integralhist
