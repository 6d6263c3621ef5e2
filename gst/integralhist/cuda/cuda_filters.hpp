// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/integralhist/engine/device_filters.hpp>
#include "in_context.hpp"

namespace integralhist {

std::shared_ptr<DeviceFilters> make_cuda_filters (Context context);

}  // namespace integralhist
