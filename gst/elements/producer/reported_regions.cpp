// SPDX-License-Identifier: LGPL-2.1-or-later
#include "reported_regions.hpp"

#include <kernels/region.hpp>

#include <gst/elements/base/parse.hpp>

namespace integralhist {

Expected<> ReportedRegions::update (const std::string &text, const inthist::Shape &shape)
{
  if (text == parsed_text_)
    return {};
  auto regions = TRY (parse_regions (text));
  for (GstVideoRectangle &r : regions) {
    const inthist::Region clipped = inthist::clip ({ r.x, r.y, r.w, r.h }, shape);
    if (clipped.width == 0)
      return error (Error::Kind::bad_setting, "regions=\"", text, "\": ", r.x, ",", r.y, ",", r.w,
                    ",", r.h, " lies wholly outside of the ", shape.width, "x", shape.height,
                    " frame: set regions that have pixels of it, x,y,width,height");
    r = { clipped.x, clipped.y, clipped.width, clipped.height };
  }
  regions_ = std::move (regions);
  parsed_text_ = text;
  return {};
}

}  // namespace integralhist
