// SPDX-License-Identifier: LGPL-2.1-or-later
//
// ComputeDevices and what it calls of the library, in builds without CUDA: there is no device.
#include <gst/integralhist/pinned_memory.hpp>

#include "compute_devices.hpp"

namespace integralhist {

constexpr char kNoCuda[] =
    "this build has no CUDA (it was configured with -Dcuda=disabled, or without nvcc)";

Expected<> ComputeDevices::open_cuda (GstElement *, const ProducerProperties &, std::string *why)
{
  *why = kNoCuda;
  return {};
}

bool ComputeDevices::propose_allocation (GstQuery *, unsigned)
{
  return false;
}

Expected<std::shared_ptr<CudaContext>> CudaContext::primary (int)
{
  return error (Error::Kind::no_device, kNoCuda);
}

bool is_pinned (GstMemory *, const void *, std::size_t)
{
  return false;
}

}  // namespace integralhist
