// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What callers need of CudaContext and pinned memory in builds without CUDA: there is no device.
#include "pinned_memory.hpp"

namespace integralhist {

Expected<int> CudaContext::device_count ()
{
  return error (Error::Kind::no_device, kNoCuda);
}

Expected<std::shared_ptr<CudaContext>> CudaContext::primary (int)
{
  return error (Error::Kind::no_device, kNoCuda);
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
