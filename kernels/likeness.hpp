// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Measures of how alike two histograms are, in one source for CPU and GPU. A window's histogram p
// is divided by the window's pixels, or by its sum if bins have weights, so pixels that are in no
// bin count against the likeness. p of a window without pixels is zero. A model q is divided by the
// sum of q, except for linear. The caller adds one bin after another, b = 0, 1, ..., to a
// MeasureSum. Each is computed from four elements of a plane, so that no histogram is stored. Only
// IEEE 754 sums, products and roots are used, and none is fused, so that all devices get the same
// bits. If OpenCV's compareHist has the measure, the result is that of compareHist (q, p), also for
// a division by zero. For bhattacharyya, both histograms get one more bin, in which p has the
// pixels that are in no bin, and q has 0:
//   intersection        sum min(p, q), a similarity (Swain and Ballard 1991); HISTCMP_INTERSECT
//   bhattacharyya       sqrt(1 - sum sqrt(p q)), the Hellinger distance; HISTCMP_BHATTACHARYYA
//   chi-square          sum (q - p)^2 / q, of bins with q > 0; HISTCMP_CHISQR
//   chi-square-alt      2 sum (p - q)^2 / (p + q), of bins with p + q > 0; HISTCMP_CHISQR_ALT.
//                       Adam et al. 2006 use half of it
//   l1, l2              sum |p - q|, sqrt(sum (p - q)^2)
//   correlation         of the bins, a similarity, -1 to 1; 1 if p or q is constant, as p is in a
//                       window whose pixels are all in no bin; HISTCMP_CORREL
//   kullback-leibler    sum q log(q / p), p at least 1e-10, of bins with q > 0; HISTCMP_KL_DIV
//   emd                 sum |P - Q|, P and Q cumulative: the earth mover's distance between
//                       histograms in one dimension, in bins (Rubner et al. 2000)
//   kolmogorov-smirnov  max |P - Q|
//   linear              sum p q, a score that may be any number, more is better: q is not
//                       divided and has any sign, like the weights of a linear classifier
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>

#include "host_device.hpp"

namespace inthist {

enum class Measure {
  intersection,
  bhattacharyya,
  chi_square,
  chi_square_alt,
  l1,
  l2,
  correlation,
  kullback_leibler,
  emd,
  kolmogorov_smirnov,
  linear,
};
constexpr int kMeasures = 11;

constexpr const char *name_of (Measure measure)
{
  constexpr const char *kNames[] = {
    "intersection", "bhattacharyya",    "chi-square", "chi-square-alt",     "l1",    "l2",
    "correlation",  "kullback-leibler", "emd",        "kolmogorov-smirnov", "linear"
  };
  return kNames[int (measure)];
}

/// Returns how many numbers (floats) a MeasureSum keeps from bin to bin.
HOST_DEVICE constexpr int state_size (Measure measure)
{
  switch (measure) {
    case Measure::correlation: return 4;
    case Measure::bhattacharyya:
    case Measure::emd:
    case Measure::kolmogorov_smirnov: return 2;
    default: return 1;
  }
}

/// Returns whether a MeasureSum counts the window's pixels, to know how many are in no bin.
HOST_DEVICE constexpr bool counts_pixels (Measure measure)
{
  return measure == Measure::bhattacharyya;
}

/// Returns whether a larger value of a measure means that histograms are more alike.
HOST_DEVICE constexpr bool is_similarity (Measure measure)
{
  return measure == Measure::intersection || measure == Measure::correlation
         || measure == Measure::linear;
}

/// Returns whether the model of a measure is a histogram. If not, its numbers may have any sign,
/// and are not normalised.
constexpr bool compares_histograms (Measure measure)
{
  return measure != Measure::linear;
}

/// Converts a model that sums to 1 to the numbers that MeasureSum::add () reads: for bhattacharyya
/// the square roots, for correlation each bin's difference from the mean of the bins up to it.
inline void prepare (Measure measure, std::span<float> model)
{
  double sum = 0;
  for (int bins = 1; float &q : model) {
    sum += q;
    if (measure == Measure::bhattacharyya)
      q = std::sqrt (q);
    else if (measure == Measure::correlation)
      q = float (q - sum / bins++);
  }
}

// reciprocal_of () improves a guess from the bits of x by Newton's method. For normal numbers the
// relative error of reciprocal_of () and log_of () is at most 2e-7, and all devices get the same
// bits. Neither has branches, which would keep a GPU from computing windows side by side.

HOST_DEVICE inline float reciprocal_of (float x)
{
  float r = std::bit_cast<float> (0x7ef311c7 - std::bit_cast<std::int32_t> (x));
  for (int i = 0; i < 3; i++)
    r = r * (2 - x * r);
  return r;
}

/// Returns the natural logarithm log x = e log 2 + 2 artanh ((m - 1) / (m + 1)), where x = 2^e m
/// and m is between sqrt (1/2) and sqrt (2).
HOST_DEVICE inline float log_of (float x)
{
  constexpr std::int32_t kRootOfHalf = 0x3f3504f3;
  const std::int32_t bits = std::bit_cast<std::int32_t> (x), exponent = (bits - kRootOfHalf) >> 23;
  const float m = std::bit_cast<float> (bits - exponent * (1 << 23));
  const float s = (m - 1) * reciprocal_of (m + 1), s2 = s * s;
  return float (exponent) * 0.69314718f
         + 2 * s * (1 + s2 * (1 / 3.0f + s2 * (1 / 5.0f + s2 * (1 / 7.0f + s2 * (1 / 9.0f)))));
}

template <Measure kMeasure>
class MeasureSum {
public:
  MeasureSum () = default;
  /// Begins the comparison of a window's histogram with a model. `normaliser` is 1 / the window's
  /// pixels, or 0 if it has none, and `pixels` the window's pixels, modulo 2^32. If bins have
  /// weights, both are about units of weight.
  HOST_DEVICE MeasureSum (float normaliser, std::uint32_t pixels)
      : normaliser_ (normaliser), uncounted_ (pixels)
  {
  }

  /// Adds a bin in which the window has `pixels` pixels; `q` is this bin of the prepared model.
  template <class Count>
  HOST_DEVICE void add (int bin, Count pixels, float q)
  {
    if constexpr (counts_pixels (kMeasure))
      count (std::uint32_t (pixels));
    add_share (bin, normaliser_ * float (pixels), q);
  }

  /// Subtracts a bin's pixels from the number of the window's pixels that are in no bin.
  HOST_DEVICE void count (std::uint32_t pixels) { uncounted_ -= pixels; }

  HOST_DEVICE void add_share ([[maybe_unused]] int bin, float p, float q)
  {
    const float d = p - q;
    if constexpr (kMeasure == Measure::intersection) {
      a_ += p < q ? p : q;
    } else if constexpr (kMeasure == Measure::bhattacharyya) {
      // 1 - sum sqrt (p q) = (sum (sqrt p - sqrt q)^2 + the share of pixels in no bin) / 2; this
      // form loses no digits if the histograms p and q are nearly equal
      const float r = std::sqrt (p) - q;
      a_ += r * r;
    } else if constexpr (kMeasure == Measure::chi_square) {
      a_ += q > 0 ? d * d * reciprocal_of (at_least_tiny (q)) : 0;
    } else if constexpr (kMeasure == Measure::chi_square_alt) {
      a_ += d * d * reciprocal_of (at_least_tiny (p + q));
    } else if constexpr (kMeasure == Measure::l1) {
      a_ += std::fabs (d);
    } else if constexpr (kMeasure == Measure::l2) {
      a_ += d * d;
    } else if constexpr (kMeasure == Measure::correlation) {
      // Correlation by Welford's method (1962): sums of differences from the mean of the bins so
      // far. The final mean is not known, because the histogram p may have any sum.
      const float n = float (bin + 1), x = p - mean_;
      mean_ += x * (bin > 0 ? reciprocal_of (n) : 1);  // exact: equal bins must have no variance
      a_ += x * q;
      b_ += x * (p - mean_);
      c_ += q * q * (n * reciprocal_of (bin > 0 ? float (bin) : 1.0f));
    } else if constexpr (kMeasure == Measure::kullback_leibler) {
      a_ += q * log_of (at_least_tiny (q) * reciprocal_of (p > 1e-10f ? p : 1e-10f));
    } else if constexpr (kMeasure == Measure::linear) {
      a_ += p * q;
    } else {  // emd, kolmogorov_smirnov: b_ is the cumulative P - Q so far
      b_ += d;
      const float gap = std::fabs (b_);
      a_ = kMeasure == Measure::emd ? a_ + gap : gap > a_ ? gap : a_;
    }
  }

  HOST_DEVICE float normaliser () const { return normaliser_; }

  HOST_DEVICE float value () const
  {
    if constexpr (kMeasure == Measure::bhattacharyya)
      return normaliser_ > 0 ? std::sqrt ((a_ + normaliser_ * float (uncounted_)) / 2) : 1;
    if constexpr (kMeasure == Measure::chi_square_alt)
      return 2 * a_;
    if constexpr (kMeasure == Measure::l2)
      return std::sqrt (a_);
    if constexpr (kMeasure == Measure::correlation) {
      constexpr float kConstant = 2.220446e-16f;  // as in compareHist
      const float value = b_ * c_ > kConstant ? a_ / std::sqrt (b_ * c_) : 1;
      return value > 1 ? 1 : value < -1 ? -1 : value;
    }
    return a_;
  }

  /// Calls visit (k, number) for each number that a MeasureSum keeps from bin to bin, so that
  /// another MeasureSum can go on with them. All numbers are floats: the integer uncounted_ is
  /// passed as the float that has the same bits.
  template <class Visit>
  HOST_DEVICE void for_state (Visit &&visit)
  {
    visit (0, a_);
    if constexpr (counts_pixels (kMeasure)) {
      float bits = std::bit_cast<float> (uncounted_);
      visit (1, bits);
      uncounted_ = std::bit_cast<std::uint32_t> (bits);
    } else if constexpr (state_size (kMeasure) > 1) {
      visit (1, b_);
    }
    if constexpr (kMeasure == Measure::correlation) {
      visit (2, mean_);
      visit (3, c_);
    }
  }

private:
  HOST_DEVICE static float at_least_tiny (float x) { return x > 1e-30f ? x : 1e-30f; }

  float normaliser_ = 0;
  std::uint32_t uncounted_ = 0;  // the window's pixels in none of the bins so far
  float a_ = 0, b_ = 0, c_ = 0, mean_ = 0;
};

template <Measure kMeasure>
using MeasureConstant = std::integral_constant<Measure, kMeasure>;

template <class Body>
auto with_measure (Measure measure, Body &&body)
{
  switch (measure) {
    case Measure::intersection: return body (MeasureConstant<Measure::intersection>{});
    case Measure::bhattacharyya: return body (MeasureConstant<Measure::bhattacharyya>{});
    case Measure::chi_square: return body (MeasureConstant<Measure::chi_square>{});
    case Measure::chi_square_alt: return body (MeasureConstant<Measure::chi_square_alt>{});
    case Measure::l1: return body (MeasureConstant<Measure::l1>{});
    case Measure::l2: return body (MeasureConstant<Measure::l2>{});
    case Measure::correlation: return body (MeasureConstant<Measure::correlation>{});
    case Measure::kullback_leibler: return body (MeasureConstant<Measure::kullback_leibler>{});
    case Measure::emd: return body (MeasureConstant<Measure::emd>{});
    case Measure::kolmogorov_smirnov: return body (MeasureConstant<Measure::kolmogorov_smirnov>{});
    case Measure::linear: break;
  }
  return body (MeasureConstant<Measure::linear>{});
}

}  // namespace inthist
