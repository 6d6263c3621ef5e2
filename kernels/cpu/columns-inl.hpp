// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Counts a bin's pixels column by column. Compiled once for each instruction set.

// This include guard works once for each instruction set (see Highway's -inl.h files).
#if defined(INTHIST_CPU_COLUMNS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef INTHIST_CPU_COLUMNS_INL_HPP
#undef INTHIST_CPU_COLUMNS_INL_HPP
#else
#define INTHIST_CPU_COLUMNS_INL_HPP
#endif

#include <algorithm>
#include <cstdint>

#include <hwy/highway.h>

#include "../strategy.hpp"

HWY_BEFORE_NAMESPACE ();
namespace inthist::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Adds to counts[x] the number of pixels of a bin in column x and rows first..last - 1. Returns
/// false if the job was cancelled.
template <class T>
bool count_columns (const Job &job, int bin, int first, int last, T *HWY_RESTRICT counts)
{
  const hn::CappedTag<std::uint8_t, 64> d8;
  const auto wanted = hn::Set (d8, std::uint8_t (bin));
  alignas (64) std::uint8_t sums[64];
  for (int x = 0; x < job.shape.width; x += int (hn::Lanes (d8))) {
    if (is_set (job.cancelled))
      return false;
    for (int y0 = first; y0 < last; y0 += 255) {
      auto sum = hn::Zero (d8);
      for (int y = y0; y < std::min (y0 + 255, last); y++)
        sum = hn::Sub (
            sum,
            hn::VecFromMask (
                d8, hn::Eq (hn::LoadU (d8, job.pixels.data + y * job.pixels.stride + x), wanted)));
      hn::Store (sum, d8, sums);
      for (std::size_t i = 0; i < hn::Lanes (d8); i++)
        counts[x + i] = T (counts[x + i] + sums[i]);
    }
  }
  return true;
}

}  // namespace inthist::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE ();

#endif
