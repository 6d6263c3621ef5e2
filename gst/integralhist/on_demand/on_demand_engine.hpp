// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An engine that keeps frames, and computes only what consumers ask about them
// (on_demand_tensor.hpp).
#pragma once

#include <gst/integralhist/engine/options.hpp>
#include <gst/integralhist/memory/memory_returns.hpp>

#include "on_demand_tensor.hpp"
#include "whole_tensors.hpp"

namespace integralhist {

class CudaContext;

/// Keeps frames in a GPU's memory until a consumer asks about them. Only the streaming thread calls
/// it, except for device () and bytes (), which any thread may call.
class DeviceStore {
public:
  virtual ~DeviceStore () = default;
  virtual bool takes (const Frame &frame) const = 0;
  virtual Expected<std::unique_ptr<EngineTensor>>
  make (const std::shared_ptr<OnDemandShared> &shared) = 0;
  /// Drops buffers that the GPU has read. The returned object can wait until the GPU has read more
  /// buffers and so releases the tensors of these frames.
  virtual Expected<MemoryReturns *> returns () = 0;
  /// Enqueues the copy of a frame's pixel values into the tensor `into`, which make () has made.
  virtual Expected<SubmittedFrame> keep (const Frame &frame,
                                         std::shared_ptr<EngineTensor> into) = 0;
  virtual int device () const = 0;
  virtual guint64 bytes () const = 0;
};

/// Makes a store that keeps frames on the GPU of a CUDA context. Null in builds without CUDA.
std::unique_ptr<DeviceStore> make_cuda_store (std::shared_ptr<CudaContext> context,
                                              Download download);

/// Makes an engine that computes answers when a consumer asks, on the CPU or on the frame's GPU.
///   make_eager     makes an engine that computes frames at once: with Compute::automatic while
///                  consumers ask for whole tensors, and always on GPUs without device_store
///   whole_tensors  computes whole tensors of frames in host memory; may be null
///   device_store   keeps frames on a GPU; may be null
///   assist         a GPU that answers many queries at once about frames in host memory
Expected<std::unique_ptr<Engine>>
make_on_demand_engine (const Shape &shape, const Lut &lut, const Options &options,
                       LazyEngine::Make make_eager, std::shared_ptr<WholeTensors> whole_tensors,
                       std::unique_ptr<DeviceStore> device_store = nullptr,
                       std::optional<GpuAssist> assist = {});

}  // namespace integralhist
