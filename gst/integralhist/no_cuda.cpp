// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What callers need of CudaContext and pinned memory in builds without CUDA.
#include "pinned_memory.hpp"

namespace integralhist {

Expected<std::shared_ptr<CudaContext>> CudaContext::primary (int)
{
  return error (Error::Kind::no_device, kNoCuda);
}

bool is_pinned (GstMemory *, const void *, std::size_t)
{
  return false;
}

}  // namespace integralhist
