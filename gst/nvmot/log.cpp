// SPDX-License-Identifier: LGPL-2.1-or-later
#include "log.hpp"

namespace integralhist::nvmot {

GstDebugCategory *log_category ()
{
  static GstDebugCategory *const category = [] {
    GstDebugCategory *made = nullptr;
    GST_DEBUG_CATEGORY_INIT (made, "integralhist-nvmot", 0, "the tracker library for nvtracker");
    return made;
  }();
  return category;
}

void report (const Error &error, const char *doing)
{
  GST_ERROR ("%s: %s %s", doing, error.message.c_str (), error.detail.c_str ());
  g_printerr ("integralhist_nvmot: %s: %s\n", doing, error.message.c_str ());
}

}  // namespace integralhist::nvmot
