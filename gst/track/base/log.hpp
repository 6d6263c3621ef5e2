// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The debug log category of trackers, and of the element integralhisttrack that uses them.
#pragma once

#include <gst/integralhist/base/log_category.hpp>

namespace integralhist {

inline DEFINE_LOG_CATEGORY (track_log, "integralhisttrack", "tracking by integral histograms")

}  // namespace integralhist
