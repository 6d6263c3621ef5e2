// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/integralhist/engine/options.hpp>
#include <gst/integralhist/engine/whole_tensor_engine.hpp>
#include <gst/integralhist/memory/memory_returns.hpp>

#include "on_demand_tensor.hpp"

namespace integralhist {

class CudaContext;

/// Frames in a device's memory, which stay there until somebody asks. The streaming thread calls.
class DeviceStore {
public:
  virtual ~DeviceStore () = default;
  /// Returns whether a frame on a device is on this one.
  virtual bool takes (const Frame &frame) const = 0;
  /// Makes a tensor that keeps frames.
  virtual Expected<std::unique_ptr<EngineTensor>>
  make (const std::shared_ptr<OnDemandContext> &context) = 0;
  /// Drops the buffers that have been read; says when others come back, and tensors with them.
  virtual Expected<MemoryReturns *> returns () = 0;
  /// Enqueues the copy of a frame's values into such a tensor.
  virtual Expected<SubmittedFrame> keep (const Frame &frame,
                                         std::shared_ptr<EngineTensor> into) = 0;
  // Any thread may ask these.
  virtual int device () const = 0;
  /// Returns the memory of tensors that were computed of frames.
  virtual guint64 bytes () const = 0;
};

/// Keeps frames on the context's GPU; returns null in builds without CUDA.
std::unique_ptr<DeviceStore> make_cuda_store (std::shared_ptr<CudaContext> context,
                                              Download download);

/// Makes an engine whose frames are computed when somebody asks: on the CPU, or on the device that
/// has them. If a consumer asks for all of a frame in host memory, `whole_engine` computes it,
/// unless that is null. With Compute::automatic frames are computed at once, as the engine that
/// `make_eager` makes does, while consumers keep asking for whole tensors. Frames on a device
/// always are that `device_store` does not take, or all if that is null. `assist` is a GPU for many
/// queries at once of frames in host memory.
Expected<std::unique_ptr<Engine>>
make_on_demand_engine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options,
                       LazyEngine::Make make_eager, std::shared_ptr<WholeTensorEngine> whole_engine,
                       std::unique_ptr<DeviceStore> device_store = nullptr,
                       std::optional<GpuAssist> assist = {});

}  // namespace integralhist
