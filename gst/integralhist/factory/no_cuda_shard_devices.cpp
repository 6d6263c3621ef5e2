// SPDX-License-Identifier: LGPL-2.1-or-later
#include <gst/integralhist/cuda/cuda_context.hpp>
#include <gst/integralhist/sharded/sharded_engine.hpp>

#include "shard_devices.hpp"

namespace integralhist {

Expected<ShardDevice> cuda_shard_device (std::shared_ptr<CudaContext>, const inthist::Lut &,
                                         const Options &)
{
  return error (Error::Kind::no_device, kNoCuda);
}

DeviceFunctions cuda_functions (const std::vector<std::shared_ptr<CudaContext>> &)
{
  return {};
}

}  // namespace integralhist
