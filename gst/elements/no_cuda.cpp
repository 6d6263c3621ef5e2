// SPDX-License-Identifier: LGPL-2.1-or-later
//
// ComputeDevices in builds without CUDA: there is no device.
#include "compute_devices.hpp"

namespace integralhist {

Expected<> ComputeDevices::open_cuda (GstElement *, const ProducerProperties &, std::string *why)
{
  *why = kNoCuda;
  return {};
}

bool ComputeDevices::propose_allocation (GstQuery *, unsigned)
{
  return false;
}

}  // namespace integralhist
