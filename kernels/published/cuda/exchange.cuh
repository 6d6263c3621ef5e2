// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Warp shuffles (../../cuda/device/hardware/warp.cuh) of elements of four channels.
#pragma once

#include "../../cuda/device/hardware/warp.cuh"
#include "../element_types.hpp"

namespace inthist {

template <class Exchange>
__device__ inline F32x4 exchange_channels (const F32x4 &value, Exchange exchange)
{
  F32x4 out;
  for (int c = 0; c < 4; c++)
    out.channels[c] = exchange (value.channels[c]);
  return out;
}

}  // namespace inthist
