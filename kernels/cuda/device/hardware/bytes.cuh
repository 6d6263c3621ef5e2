// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Operations on the four bytes of a 32-bit word at a time: looking up bins, and comparing.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include "../../../inthist.hpp"

namespace inthist::cuda {

/// A LUT from values to bins, in 32-bit words, as the argument of a kernel or in shared memory.
struct LutWords {
  std::uint32_t words[sizeof (Lut) / 4];

  static LutWords of (const Lut &lut)
  {
    LutWords words;
    static_assert (sizeof words == sizeof lut);
    __builtin_memcpy (&words, lut.data (), sizeof words);
    return words;
  }

  /// Copies a LUT to shared memory. All threads of the block call this, and a barrier must follow.
  __device__ void copy (const LutWords &from)
  {
    if (threadIdx.x < sizeof (Lut) / 4)
      words[threadIdx.x] = from.words[threadIdx.x];
  }

  __device__ const std::uint8_t *table () const
  {
    return reinterpret_cast<const std::uint8_t *> (words);
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

/// Finds the bytes of a 32-bit word that belong to a bin: their bits from `shift` on equal `value`.
class BinPattern {
public:
  __device__ BinPattern (int shift, int value)
      : mask_ ((0xffu << shift & 0xff) * 0x01010101u),
        pattern_ ((unsigned (value) << shift & 0xff) * 0x01010101u)
  {
  }

  /// Returns a word with -1 in each byte that belongs to the bin, and 0 in the other bytes. A dot
  /// product with four times -1 (__dp4a) counts the bin's bytes.
  __device__ int equal (std::uint32_t word) const
  {
    int equal;
    asm("prmt.b32 %0, %1, %1, 0xba98;"  // copies bit 7 of each byte to its eight bits
        : "=r"(equal)
        : "r"(high_bits (word)));
    return equal;
  }

  /// Returns a word with 1 in each byte of `word` that belongs to the bin if bit 7 of the same byte
  /// of `wanted` is set, and 0 in the other bytes.
  __device__ std::uint32_t ones (std::uint32_t word, std::uint32_t wanted) const
  {
    return (high_bits (word) & wanted) >> 7;
  }

private:
  /// Returns a word: bit 7 of each byte tells whether the byte is in the bin; others are undefined.
  __device__ std::uint32_t high_bits (std::uint32_t word) const
  {
    std::uint32_t different;
    asm("lop3.b32 %0, %1, %2, %3, 0x28;"
        : "=r"(different)
        : "r"(word), "r"(pattern_), "r"(mask_));  // (word ^ pattern) & mask
    return ~((different & 0x7f7f7f7fu) + 0x7f7f7f7fu | different);
  }

  const std::uint32_t mask_, pattern_;
};

}  // namespace inthist::cuda
