// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Fourier transforms in the registers of a thread: Stockham's passes, in the order of cpu/fft.hpp.
#pragma once

#include "device_model.hpp"

namespace inthist::correlation::cuda {

/// Computes a pass of radix 4 of a transform of N numbers, with four twiddle factors a butterfly.
template <int kStep, int N>
__device__ void pass_4 (const Complex (&from)[N], Complex (&to)[N], const float *wr,
                        const float *wi)
{
  constexpr int kButterflies = N / 4 / kStep;
#pragma unroll
  for (int p = 0; p < kButterflies; p++)
#pragma unroll
    for (int q = 0; q < kStep; q++) {
      const auto at = [&] (int k) { return from[p * kStep + q + k * kButterflies * kStep]; };
      const auto twiddle = [&] (int k) { return Complex{ wr[p * 4 + k], wi[p * 4 + k] }; };
      const Complex s = at (0) + at (2), t = at (0) - at (2), u = at (1) + at (3),
                    h = (at (1) - at (3)).times_minus_i ();
      Complex *const out = to + p * 4 * kStep + q;
      out[0] = s + u;
      out[kStep] = (t + h) * twiddle (1);
      out[2 * kStep] = (s - u) * twiddle (2);
      out[3 * kStep] = (t - h) * twiddle (3);
    }
}

__device__ inline void transform_grid (Complex (&numbers)[kGrid], const ModelTables &tables)
{
  const float *const wr = tables.twiddle_re, *const wi = tables.twiddle_im;
  Complex other[kGrid];
  pass_4<1> (numbers, other, wr, wi);
  pass_4<4> (other, numbers, wr + 32, wi + 32);
#pragma unroll
  for (int q = 0; q < 16; q++) {
    other[q] = numbers[q] + numbers[q + 16];
    other[q + 16] = (numbers[q] - numbers[q + 16]) * Complex{ wr[41], wi[41] };
  }
#pragma unroll
  for (int i = 0; i < kGrid; i++)
    numbers[i] = other[i];
}

__device__ inline void transform_sizes (Complex (&numbers)[kSizes], const ModelTables &tables)
{
  const float *const wr = tables.size_twiddle_re, *const wi = tables.size_twiddle_im;
  Complex other[kSizes];
  pass_4<1> (numbers, other, wr, wi);
  pass_4<4> (other, numbers, wr + 16, wi + 16);
}

}  // namespace inthist::correlation::cuda
