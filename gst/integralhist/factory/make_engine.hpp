// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/integralhist/engine/engine.hpp>
#include <gst/integralhist/engine/options.hpp>

namespace integralhist {

struct DeviceFunctions;
struct ShardDevice;

/// Where frames are computed.
struct Devices {
  std::vector<std::shared_ptr<CudaContext>> contexts;  // none: the CPU computes
  std::vector<int> ids;  // as the user lists them; on the CPU they are pretended

  bool are_several () const { return contexts.size () > 1 || ids.size () > 1; }
};

/// Makes the engine for a shape: a sharded one for several devices, or where the settings or the
/// memory need rounds. Pictures of the input are no larger than those of `format`.
Expected<std::unique_ptr<Engine>> make_engine (const inthist::Shape &shape, const inthist::Lut &lut,
                                               const Options &options, const Devices &devices,
                                               const inthist::PixelFormat &format);

/// Returns the CPU as a device of its own, so that a sharded engine runs without a GPU.
ShardDevice pretend_device (int id, const inthist::Lut &lut, const Options &options);

// Builds with CUDA have these two.
Expected<ShardDevice> cuda_shard_device (std::shared_ptr<CudaContext> context,
                                         const inthist::Lut &lut, const Options &options);
/// Returns the functions for devices with these contexts.
DeviceFunctions cuda_functions (const std::vector<std::shared_ptr<CudaContext>> &contexts);

}  // namespace integralhist
