// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Converts the numbers of pixels in rows: a lane has four rows in the bytes of a word, and warps
// pass each other 16-bit counts. Two masks split a word, so the order of the counts is rows 0, 2,
// 1, 3.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

namespace inthist::cuda {

/// Returns the index of a row's 16-bit count, in the order of rows 0, 2, 1, 3, 4, 6, 5, 7, ...
__device__ inline int place_of_row (int row)
{
  return (row & ~3) | (row & 1) << 1 | (row >> 1 & 1);
}

/// Stores `before` + `own`, which are the counts of four rows in bytes, as four 16-bit numbers,
/// because a sum may need more than a byte. `to` is aligned to eight bytes.
__device__ inline void store_row_counts (std::uint16_t *to, std::uint32_t before, std::uint32_t own)
{
  *reinterpret_cast<uint2 *> (to) = make_uint2 ((before & 0xff00ffu) + (own & 0xff00ffu),
                                                (before >> 8 & 0xff00ffu) + (own >> 8 & 0xff00ffu));
}

}  // namespace inthist::cuda
