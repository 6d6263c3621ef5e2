// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The producers' property "regions", clipped to the frame.
#pragma once

#include <vector>

#include <gst/video/video.h>

#include <kernels/inthist.hpp>

#include <gst/properties/properties.hpp>

namespace integralhist {

class ReportedRegions {
public:
  /// Clips the regions if they have been set again. A frame of another size needs another
  /// object.
  Expected<> update (const ParsedText<std::vector<GstVideoRectangle>> &set,
                     const inthist::Shape &shape);
  const std::vector<GstVideoRectangle> &all () const { return regions_; }

private:
  guint64 known_sets_ = 0;  // ParsedText::sets of the regions
  std::vector<GstVideoRectangle> regions_;
};

}  // namespace integralhist
