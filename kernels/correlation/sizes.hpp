// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The formulas of the filter that finds a target's size: a correlation filter along a row of kSizes
// sizes of the target's box, with the orientations of about 64 cells of the box as channels (M.
// Danelljan et al., "Accurate scale estimation for robust visual tracking", BMVC 2014).
#pragma once

#include "formulas.hpp"

namespace inthist::correlation {

inline constexpr int kSizes = 16, kMiddleSize = kSizes / 2;
inline constexpr double kSizeStep = 1.03;  // ratio of a size to the next smaller size
inline constexpr int kMaxSizeCells = 72, kMaxSizeChannels = kMaxSizeCells * kOrientations;
inline constexpr float kSizeRate = 0.035F;

struct SizeTables {
  float fade[kSizes];                          // fades out the smallest and the largest sizes
  float wanted_re[kSizes], wanted_im[kSizes];  // the spectrum of the wanted response
  double cos[kSizes], sin[kSizes];             // of i / kSizes turns
};

/// Mixes a channel at one size with that at a neighbouring size, which has the weight `share`.
HOST_DEVICE inline float mixed (float value, float neighbour, float share)
{
  return value + share * (neighbour - value);
}

/// Returns one frequency of a filter's numerator, moved by the learning rate `share` towards the
/// conjugate of the wanted response, times the sample.
HOST_DEVICE inline Complex learned_number (Complex numerator, Complex sample, Complex wanted,
                                           float share)
{
  return { numerator.re + share * (wanted.re * sample.re + wanted.im * sample.im - numerator.re),
           numerator.im + share * (wanted.re * sample.im - wanted.im * sample.re - numerator.im) };
}

/// Returns the regularisation of a filter of sizes: a hundredth of its mean first denominator.
HOST_DEVICE inline float regularisation_of_sum (float sum)
{
  const float regularisation = 0.01F * sum / kSizes;
  return regularisation > 1e-6F ? regularisation : 1e-6F;
}

/// Returns a filter's response to the i-th size, from the spectrum of its response to all sizes.
HOST_DEVICE inline double size_response (const double *re, const double *im, int i,
                                         const SizeTables &tables)
{
  double response = 0;
  for (int k = 0; k < kSizes; k++)
    response += re[k] * tables.cos[k * i % kSizes] - im[k] * tables.sin[k * i % kSizes];
  return response;
}

}  // namespace inthist::correlation
