// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The property "regions" of cudaintegralhist and cudaintegralimage, clipped to the frame.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gst/video/video.h>

#include <kernels/inthist.hpp>
#include <kernels/region.hpp>

#include <gst/properties/properties.hpp>

namespace integralhist {

class ClippedRegions {
public:
  /// Clips regions to the frame if the property was set again. The first region that becomes
  /// smaller is posted as an information of the element. If the frame size is new, call forget_size
  /// () first.
  Expected<> update (GstElement *element, const ParsedText<std::vector<GstVideoRectangle>> &set,
                     const inthist::Shape &shape)
  {
    if (set.set_count == known_set_count_)
      return {};
    auto regions = TRY (set.value);
    for (GstVideoRectangle &r : regions) {
      const inthist::Region clipped = inthist::clip ({ r.x, r.y, r.w, r.h }, shape);
      if (clipped.width == 0)
        return error (Error::Kind::bad_setting, "regions=\"", set.text, "\": ", r.x, ",", r.y, ",",
                      r.w, ",", r.h, " lies outside of the ", shape.width, "x", shape.height,
                      " frame: set regions that overlap the frame, as x,y,width,height");
      if ((clipped.width != r.w || clipped.height != r.h) && !std::exchange (posted_, true)) {
        const std::string text =
            joined ("regions=\"", set.text, "\": ", r.x, ",", r.y, ",", r.w, ",", r.h,
                    " is clipped to ", clipped.x, ",", clipped.y, ",", clipped.width, ",",
                    clipped.height, ", because the frame is ", shape.width, "x", shape.height, ".");
        // gst-launch-1.0 prints only the second text
        GST_ELEMENT_INFO (element, RESOURCE, SETTINGS, ("%s", text.c_str ()),
                          ("%s", text.c_str ()));
      }
      r = { clipped.x, clipped.y, clipped.width, clipped.height };
    }
    regions_ = std::move (regions);
    known_set_count_ = set.set_count;
    return {};
  }
  void forget_size () { known_set_count_ = 0; }
  const std::vector<GstVideoRectangle> &all () const { return regions_; }

private:
  bool posted_ = false;          // the information about a clipped region
  guint64 known_set_count_ = 0;  // ParsedText::set_count of the regions
  std::vector<GstVideoRectangle> regions_;
};

}  // namespace integralhist
