// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Operations on the four bytes of a word at a time.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include "../../inthist.hpp"

namespace inthist::cuda {

/// A LUT as an argument of a kernel.
struct LutWords {
  std::uint32_t words[sizeof (Lut) / 4];

  static LutWords of (const Lut &lut)
  {
    LutWords words;
    static_assert (sizeof words == sizeof lut);
    __builtin_memcpy (&words, lut.data (), sizeof words);
    return words;
  }
};

__device__ inline std::uint32_t byte_of (std::uint32_t word, int i)
{
  return __byte_perm (word, 0, 0x4440 | i);
}

__device__ inline std::uint32_t look_up (std::uint32_t word, const std::uint8_t *table)
{
  const auto in_low = [&] (int i) {
    return __byte_perm (table[byte_of (word, i)], table[byte_of (word, i + 1)], 0x40);
  };
  return __byte_perm (in_low (0), in_low (2), 0x5410);
}

/// Returns -1 in each byte of `word` that equals `pattern`'s in all bits of `mask`, else 0. A dot
/// product with -1s (__dp4a) counts them.
__device__ inline int equal_bytes (std::uint32_t word, std::uint32_t pattern, std::uint32_t mask)
{
  std::uint32_t different;
  int equal;
  asm("lop3.b32 %0, %1, %2, %3, 0x28;"
      : "=r"(different)
      : "r"(word), "r"(pattern), "r"(mask));  // (word ^ pattern) & mask
  asm("prmt.b32 %0, %1, %1, 0xba98;"          // each byte's bit 7, eight times
      : "=r"(equal)
      : "r"(~((different & 0x7f7f7f7fu) + 0x7f7f7f7fu | different)));
  return equal;
}

}  // namespace inthist::cuda
