// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The devices of a sharded engine, which distributes parts of frames over several devices.
#pragma once

#include <memory>
#include <vector>

#include <gst/integralhist/engine/options.hpp>

namespace integralhist {

class CudaContext;
struct DeviceFunctions;
struct ShardDevice;

/// Returns the CPU, described as a device, so that a sharded engine also runs without a GPU.
ShardDevice cpu_shard_device (int id, const Lut &lut, const Options &options);

Expected<ShardDevice> cuda_shard_device (std::shared_ptr<CudaContext> context, const Lut &lut,
                                         const Options &options);
/// Returns the functions of a sharded engine for GPUs, or for the CPU if there are no contexts.
DeviceFunctions device_functions (const std::vector<std::shared_ptr<CudaContext>> &contexts);

}  // namespace integralhist
