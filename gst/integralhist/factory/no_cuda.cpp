// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Stubs of the CUDA functions, for builds without CUDA: they report that there is no device.
#include <gst/integralhist/cuda/memory/pinned_memory.hpp>
#include <gst/integralhist/engine/device_blender.hpp>
#include <gst/integralhist/engine/device_feature_image.hpp>
#include <gst/integralhist/on_demand/on_demand_engine.hpp>
#include <gst/integralhist/sharded/sharded_engine.hpp>

#include "shard_devices.hpp"

namespace integralhist {

constexpr char kNoCuda[] =
    "this build has no CUDA (it was configured with -Dcuda=disabled, or without nvcc)";

Expected<int> CudaContext::device_count ()
{
  return error (Error::Kind::no_device, kNoCuda);
}

Expected<std::shared_ptr<CudaContext>> CudaContext::primary (int)
{
  return error (Error::Kind::no_device, kNoCuda);
}

Expected<std::size_t> CudaContext::free_memory () const
{
  return error (Error::Kind::no_device, kNoCuda);
}

GpuAssist cuda_assist (std::shared_ptr<CudaContext>)
{
  return {};
}

std::unique_ptr<DeviceStore> make_cuda_store (std::shared_ptr<CudaContext>, Download)
{
  return nullptr;
}

Expected<std::unique_ptr<DeviceBlender>> make_device_blender (std::shared_ptr<CudaContext>)
{
  return error (Error::Kind::no_device, kNoCuda);
}

Expected<ShardDevice> cuda_shard_device (std::shared_ptr<CudaContext>, const Lut &, const Options &)
{
  return error (Error::Kind::no_device, kNoCuda);
}

DeviceFunctions device_functions (const std::vector<std::shared_ptr<CudaContext>> &)
{
  return {};
}

GstAllocator *new_pinned_allocator (std::shared_ptr<CudaContext>)
{
  return nullptr;
}

bool is_pinned (GstMemory *, const void *, std::size_t)
{
  return false;
}

}  // namespace integralhist
