// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The property "regions" of cudaintegralhist and cudaintegralimage, clipped to the frame.
#pragma once

#include <vector>

#include <gst/video/video.h>

#include <kernels/inthist.hpp>
#include <kernels/region.hpp>

#include <gst/properties/properties.hpp>

namespace integralhist {

class ClippedRegions {
public:
  /// Clips regions to the frame if the property was set again. Returns a text for users if a region
  /// became smaller, else an empty one. A new frame size needs a new object.
  Expected<std::string> update (const ParsedText<std::vector<GstVideoRectangle>> &set,
                                const inthist::Shape &shape)
  {
    if (set.set_count == known_set_count_)
      return std::string ();
    std::string notice;
    auto regions = TRY (set.value);
    for (GstVideoRectangle &r : regions) {
      const inthist::Region clipped = inthist::clip ({ r.x, r.y, r.w, r.h }, shape);
      if (clipped.width == 0)
        return error (Error::Kind::bad_setting, "regions=\"", set.text, "\": ", r.x, ",", r.y, ",",
                      r.w, ",", r.h, " lies outside of the ", shape.width, "x", shape.height,
                      " frame: set regions that overlap the frame, as x,y,width,height");
      if (notice.empty () && (clipped.width != r.w || clipped.height != r.h))
        notice =
            joined ("regions=\"", set.text, "\": ", r.x, ",", r.y, ",", r.w, ",", r.h,
                    " is clipped to ", clipped.x, ",", clipped.y, ",", clipped.width, ",",
                    clipped.height, ", because the frame is ", shape.width, "x", shape.height, ".");
      r = { clipped.x, clipped.y, clipped.width, clipped.height };
    }
    regions_ = std::move (regions);
    known_set_count_ = set.set_count;
    return notice;
  }
  const std::vector<GstVideoRectangle> &all () const { return regions_; }

private:
  guint64 known_set_count_ = 0;  // ParsedText::set_count of the regions
  std::vector<GstVideoRectangle> regions_;
};

}  // namespace integralhist
