// SPDX-License-Identifier: LGPL-2.1-or-later
#include "log.hpp"

#include "log_category.hpp"

DEFINE_LOG_CATEGORY (integralhist::log_category, "integralhist",
                     "engines and payloads of integral histograms")
