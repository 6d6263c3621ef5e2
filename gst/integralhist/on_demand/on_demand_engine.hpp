// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/integralhist/engine/options.hpp>
#include <gst/integralhist/engine/whole_tensor_engine.hpp>
#include <gst/integralhist/memory/memory_returns.hpp>

#include "on_demand_tensor.hpp"

namespace integralhist {

class CudaContext;

/// Keeps frames in a device's memory until a consumer asks. Only the streaming thread calls it.
class DeviceStore {
public:
  virtual ~DeviceStore () = default;
  /// Returns whether a frame lies in the memory of this device.
  virtual bool takes (const Frame &frame) const = 0;
  /// Makes a tensor that keeps one frame after another.
  virtual Expected<std::unique_ptr<EngineTensor>>
  make (const std::shared_ptr<OnDemandContext> &context) = 0;
  /// Drops buffers that the device has read. The returned object says when more buffers, and the
  /// tensors that they keep, are returned.
  virtual Expected<MemoryReturns *> returns () = 0;
  /// Enqueues the copy of a frame's values into the tensor `into`, which make () has made.
  virtual Expected<SubmittedFrame> keep (const Frame &frame,
                                         std::shared_ptr<EngineTensor> into) = 0;
  // Any thread may call these.
  virtual int device () const = 0;
  /// Returns the bytes of the tensors that were computed from kept frames.
  virtual guint64 bytes () const = 0;
};

/// Makes a store that keeps frames on the context's GPU. Returns null in builds without CUDA.
std::unique_ptr<DeviceStore> make_cuda_store (std::shared_ptr<CudaContext> context,
                                              Download download);

/// Makes an engine that computes frames when a consumer asks: on the CPU, or on the device that has
/// the frame. If a consumer asks for all of a frame in host memory, `whole_engine` computes it,
/// unless that is null. With Compute::automatic, the engine that `make_eager` makes computes frames
/// at once while consumers keep asking for whole tensors. It always computes frames on a device
/// that `device_store` does not take, or all such frames if that is null. `assist` is a GPU for
/// many queries at once about frames in host memory.
Expected<std::unique_ptr<Engine>>
make_on_demand_engine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options,
                       LazyEngine::Make make_eager, std::shared_ptr<WholeTensorEngine> whole_engine,
                       std::unique_ptr<DeviceStore> device_store = nullptr,
                       std::optional<GpuAssist> assist = {});

}  // namespace integralhist
