// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "../host_device.hpp"

namespace inthist {

/// Returns dividend / divisor. On a GPU the error is up to 2 units in the last place, which a
/// caller that needs the same numbers on every device must allow for.
HOST_DEVICE inline float quotient (float dividend, float divisor)
{
#ifdef __CUDA_ARCH__
  return __fdividef (dividend, divisor);
#else
  return dividend / divisor;
#endif
}

}  // namespace inthist
