// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cuda_runtime.h>

#include "../../../expected.hpp"

namespace inthist::cuda {

/// Gets an attribute of the current CUDA device. Returns 0, or a CUDA error with `value` unchanged.
[[nodiscard]] inline int device_attribute (cudaDeviceAttr attribute, int &value)
{
  int device = 0;
  TRY_CODE (cudaGetDevice (&device));
  return cudaDeviceGetAttribute (&value, attribute, device);
}

}  // namespace inthist::cuda
