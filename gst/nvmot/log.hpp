// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The debug log category of the library for nvtracker.
#pragma once

#include <gst/integralhist/base/log_category.hpp>

namespace integralhist::nvmot {

inline DEFINE_LOG_CATEGORY (log_category, "integralhist-nvmot", "the tracker library for nvtracker")

}  // namespace integralhist::nvmot

#define GST_CAT_DEFAULT (integralhist::nvmot::log_category ())
