// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The devices of a sharded engine.
#pragma once

#include <memory>
#include <vector>

#include <gst/integralhist/engine/options.hpp>

namespace integralhist {

class CudaContext;
struct DeviceFunctions;
struct ShardDevice;

/// Returns the CPU, described as a device, so that a sharded engine runs without a GPU.
ShardDevice pretend_device (int id, const inthist::Lut &lut, const Options &options);

Expected<ShardDevice> cuda_shard_device (std::shared_ptr<CudaContext> context,
                                         const inthist::Lut &lut, const Options &options);
/// Returns the functions for devices with these contexts. Without contexts, returns those of the
/// CPU.
DeviceFunctions cuda_functions (const std::vector<std::shared_ptr<CudaContext>> &contexts);

}  // namespace integralhist
