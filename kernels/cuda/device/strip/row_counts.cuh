// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Counts of the pixels in rows. A lane has the counts of four rows in one word, and warps pass each
// other counts of 16 bits. Two masks split a word, so the 16-bit counts lie in the order of rows 0,
// 2, 1, 3.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

namespace inthist::cuda {

/// Returns where a row's count is stored.
__device__ inline int place_of_row (int row)
{
  return (row & ~3) | (row & 1) << 1 | (row >> 1 & 1);
}

/// Stores the sums of two counts of each of four rows; a sum may need more than a byte. `to` is a
/// multiple of eight bytes.
__device__ inline void store_row_counts (std::uint16_t *to, std::uint32_t before, std::uint32_t own)
{
  *reinterpret_cast<uint2 *> (to) = make_uint2 ((before & 0xff00ffu) + (own & 0xff00ffu),
                                                (before >> 8 & 0xff00ffu) + (own >> 8 & 0xff00ffu));
}

}  // namespace inthist::cuda
