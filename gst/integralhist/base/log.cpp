// SPDX-License-Identifier: LGPL-2.1-or-later
#include "log.hpp"

GstDebugCategory *integralhist::log_category ()
{
  static GstDebugCategory *const category = [] {
    GstDebugCategory *made = nullptr;
    GST_DEBUG_CATEGORY_INIT (made, "integralhist", 0,
                             "engines and payloads of integral histograms");
    return made;
  }();
  return category;
}
