// SPDX-License-Identifier: LGPL-2.1-or-later
#include "log.hpp"

#include <gst/integralhist/base/log_category.hpp>

namespace integralhist::nvmot {

DEFINE_LOG_CATEGORY (log_category, "integralhist-nvmot", "the tracker library for nvtracker")

void report (const Error &error, const char *doing)
{
  GST_ERROR ("%s: %s %s", doing, error.message.c_str (), error.detail.c_str ());
  g_printerr ("integralhist_nvmot: %s: %s\n", doing, error.message.c_str ());
}

}  // namespace integralhist::nvmot
