// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The debug log category of trackers, and of the element integralhisttrack that uses them.
#pragma once

#include <gst/gst.h>

namespace integralhist {

inline GstDebugCategory *track_log ()
{
  static GstDebugCategory *const category = [] {
    GstDebugCategory *made = nullptr;
    GST_DEBUG_CATEGORY_INIT (made, "integralhisttrack", 0, "tracking by integral histograms");
    return made;
  }();
  return category;
}

}  // namespace integralhist
