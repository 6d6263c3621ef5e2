// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The butterflies of a transform (fft.hpp), compiled once for each instruction set. The additions
// and multiplications, and their order, are the same in vectors of any size.
#include "fft.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

// Vectors are kept in structs, for which the compiler must know their size. So SVE is not used on
// arm64, but NEON.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fft.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE ();
namespace inthist::correlation::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The memory of a butterfly: its first input and output, and the strides to the next ones.
struct Butterfly {
  const float *re, *im;
  std::size_t in_stride;
  float *to_re, *to_im;
  std::size_t out_stride;
};

/// A vector of complex numbers, which belong to neighbouring signals.
template <class D>
struct ComplexVector {
  using Numbers = hn::Vec<D>;
  Numbers re, im;

  static ComplexVector load (const float *re, const float *im)
  {
    return { hn::LoadU (D (), re), hn::LoadU (D (), im) };
  }
  void store (float *to_re, float *to_im) const
  {
    hn::StoreU (re, D (), to_re);
    hn::StoreU (im, D (), to_im);
  }
  ComplexVector operator+ (const ComplexVector &b) const
  {
    return { hn::Add (re, b.re), hn::Add (im, b.im) };
  }
  ComplexVector operator- (const ComplexVector &b) const
  {
    return { hn::Sub (re, b.re), hn::Sub (im, b.im) };
  }
  ComplexVector times (float wr, float wi) const
  {
    const Numbers r = hn::Set (D (), wr), i = hn::Set (D (), wi);
    return { hn::Sub (hn::Mul (re, r), hn::Mul (im, i)),
             hn::Add (hn::Mul (re, i), hn::Mul (im, r)) };
  }
  ComplexVector times_minus_i () const { return { im, hn::Neg (re) }; }
};

/// Computes a butterfly of two inputs, for the signals from i on that fit into a vector of type D.
template <class D>
HWY_INLINE void radix_2 (const Butterfly &b, std::size_t i, const float *wr, const float *wi)
{
  const auto x0 = ComplexVector<D>::load (b.re + i, b.im + i),
             x1 = ComplexVector<D>::load (b.re + i + b.in_stride, b.im + i + b.in_stride);
  (x0 + x1).store (b.to_re + i, b.to_im + i);
  (x0 - x1).times (wr[1], wi[1]).store (b.to_re + b.out_stride + i, b.to_im + b.out_stride + i);
}

template <class D>
HWY_INLINE void radix_4 (const Butterfly &b, std::size_t i, const float *wr, const float *wi)
{
  const auto at = [&] (std::size_t k) {
    return ComplexVector<D>::load (b.re + i + k * b.in_stride, b.im + i + k * b.in_stride);
  };
  const auto x0 = at (0), x1 = at (1), x2 = at (2), x3 = at (3);
  const auto s = x0 + x2, t = x0 - x2, u = x1 + x3, h = (x1 - x3).times_minus_i ();
  float *const re = b.to_re + i, *const im = b.to_im + i;
  (s + u).store (re, im);
  (t + h).times (wr[1], wi[1]).store (re + b.out_stride, im + b.out_stride);
  (s - u).times (wr[2], wi[2]).store (re + 2 * b.out_stride, im + 2 * b.out_stride);
  (t - h).times (wr[3], wi[3]).store (re + 3 * b.out_stride, im + 3 * b.out_stride);
}

/// Computes a butterfly for `n` signals that are next to each other in memory.
HWY_INLINE void run_butterfly (int radix, const Butterfly &b, std::size_t n, const float *wr,
                               const float *wi)
{
  using Many = hn::ScalableTag<float>;
  using One = hn::CappedTag<float, 1>;
  const std::size_t many = n - n % hn::Lanes (Many ());
  const auto run = [&] (auto &&on_many, auto &&on_one) {
    for (std::size_t i = 0; i < many; i += hn::Lanes (Many ()))
      on_many (i);
    for (std::size_t i = many; i < n; i++)
      on_one (i);
  };
  if (radix == 4)
    run ([&] (std::size_t i) { radix_4<Many> (b, i, wr, wi); },
         [&] (std::size_t i) { radix_4<One> (b, i, wr, wi); });
  else
    run ([&] (std::size_t i) { radix_2<Many> (b, i, wr, wi); },
         [&] (std::size_t i) { radix_2<One> (b, i, wr, wi); });
}

inline void run_pass (const Butterflies &all, const float *from_re, const float *from_im,
                      float *to_re, float *to_im)
{
  const float *wr = all.wr, *wi = all.wi;
  for (int p = 0; p < all.n; p++, wr += all.radix, wi += all.radix)
    for (int group = 0; group < all.groups; group++) {
      const std::size_t in = std::size_t (p) * all.butterfly_in_stride
                             + std::size_t (group) * all.group_in_stride,
                        out = std::size_t (p) * all.butterfly_out_stride
                              + std::size_t (group) * all.group_out_stride;
      run_butterfly (all.radix,
                     { .re = from_re + in,
                       .im = from_im + in,
                       .in_stride = all.in_stride,
                       .to_re = to_re + out,
                       .to_im = to_im + out,
                       .out_stride = all.out_stride },
                     all.lanes, wr, wi);
    }
}

}  // namespace inthist::correlation::HWY_NAMESPACE
HWY_AFTER_NAMESPACE ();

#if HWY_ONCE

namespace inthist::correlation {

HWY_EXPORT (run_pass);

Fft::Fft (int length) : length_ (length)
{
  for (int left = length; left > 1;) {
    Pass pass;
    pass.radix = left % 4 == 0 ? 4 : 2;
    const int butterflies = left / pass.radix;
    for (int p = 0; p < butterflies; p++)
      for (int j = 0; j < pass.radix; j++) {
        const double angle = -2 * std::numbers::pi * p * j / left;
        pass.re.push_back (float (std::cos (angle)));
        pass.im.push_back (float (std::sin (angle)));
      }
    passes_.push_back (std::move (pass));
    left = butterflies;
  }
}

/// Transforms `lanes` signals in place, whose elements are `stride` numbers apart. Only the first
/// pass reads the signals, and only the last pass writes them; others use scratch memory.
void Fft::run (float *re, float *im, std::size_t stride, int lanes)
{
  const std::size_t all = std::size_t (length_) * std::size_t (lanes);
  for (ComplexArray &scratch : scratch_)
    if (scratch.size () < all)
      scratch = ComplexArray (all);
  const float *from_re = re, *from_im = im;
  std::size_t left = std::size_t (length_), n = std::size_t (lanes);
  for (std::size_t i = 0; i < passes_.size (); i++) {
    const Pass &pass = passes_[i];
    const bool is_first = i == 0, is_last = i + 1 == passes_.size ();
    const std::size_t radix = std::size_t (pass.radix), butterflies = left / radix;
    const std::size_t in_stride = is_first ? stride : n, elements = n / std::size_t (lanes);
    // the last pass writes to signals, whose elements may be further apart than in scratch memory
    const bool has_groups = is_last && stride != std::size_t (lanes);
    const Butterflies all_of_pass = { .radix = pass.radix,
                                      .n = int (butterflies),
                                      .butterfly_in_stride = in_stride,
                                      .in_stride = butterflies * in_stride,
                                      .butterfly_out_stride = n * radix,
                                      .out_stride = is_last ? elements * stride : n,
                                      .groups = has_groups ? int (elements) : 1,
                                      .lanes = has_groups ? std::size_t (lanes) : n,
                                      .group_in_stride = has_groups ? std::size_t (lanes) : 0,
                                      .group_out_stride = has_groups ? stride : 0,
                                      .wr = pass.re.data (),
                                      .wi = pass.im.data () };
    ComplexArray &scratch = scratch_[i % 2];
    float *const to_re = is_last ? re : scratch.re.data (), *const to_im =
                                                                is_last ? im : scratch.im.data ();
    HWY_DYNAMIC_DISPATCH (run_pass) (all_of_pass, from_re, from_im, to_re, to_im);
    from_re = to_re, from_im = to_im;
    left = butterflies;
    n *= radix;
  }
}

void Fft::run_rows (float *re, float *im, int lanes, std::span<const std::uint8_t> rows)
{
  const std::size_t row = std::size_t (length_) * std::size_t (lanes);
  for (int y = 0; y < length_; y++)
    if (rows.empty () || rows[std::size_t (y)])
      run (re + y * row, im + y * row, lanes);
}

/// Transforms the columns of signals, a few at a time, so that their numbers stay in a cache.
void Fft::run_columns (float *re, float *im, int lanes)
{
  constexpr int kLanes = 32;  // columns at a time
  const int some = std::clamp (kLanes / lanes, 1, length_);
  const std::size_t row = std::size_t (length_) * std::size_t (lanes);
  for (std::size_t first = 0; first < row; first += std::size_t (some * lanes))
    run (re + first, im + first, row, some * lanes);
}

void Fft::forward_2d (ComplexArray &signals, int lanes, std::span<const std::uint8_t> rows)
{
  run_rows (signals.re.data (), signals.im.data (), lanes, rows);
  run_columns (signals.re.data (), signals.im.data (), lanes);
}

void Fft::inverse_2d (ComplexArray &spectra, int lanes, std::span<const std::uint8_t> rows)
{
  // With real and imaginary parts swapped, a forward transform computes the inverse.
  run_columns (spectra.im.data (), spectra.re.data (), lanes);
  run_rows (spectra.im.data (), spectra.re.data (), lanes, rows);
}

}  // namespace inthist::correlation

#endif
