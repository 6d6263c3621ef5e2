// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fft.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fft-inl.hpp"
#include <hwy/foreach_target.h>

#include "fft-inl.hpp"

namespace integralhist {
namespace {

HWY_EXPORT (run_pass);

}  // namespace

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

void Fft::run (float *re, float *im, int lanes)
{
  const std::size_t all = std::size_t (length_) * std::size_t (lanes);
  if (scratch_.size () < all)
    scratch_ = Complexes (all);
  float *from_re = re, *from_im = im, *to_re = scratch_.re.data (), *to_im = scratch_.im.data ();
  int left = length_, n = lanes;
  for (const Pass &pass : passes_) {
    const int butterflies = left / pass.radix;
    HWY_DYNAMIC_DISPATCH (run_pass)
    (pass.radix, butterflies, std::size_t (n), pass.re.data (), pass.im.data (), from_re, from_im,
     to_re, to_im);
    std::swap (from_re, to_re);
    std::swap (from_im, to_im);
    left = butterflies;
    n *= pass.radix;
  }
  if (from_re != re) {
    std::copy_n (from_re, all, re);
    std::copy_n (from_im, all, im);
  }
}

void Fft::run_rows (float *re, float *im, int lanes, std::span<const std::uint8_t> rows)
{
  const std::size_t row = std::size_t (length_) * std::size_t (lanes);
  for (int y = 0; y < length_; y++)
    if (rows.empty () || rows[std::size_t (y)])
      run (re + y * row, im + y * row, lanes);
}

/// Transforms columns, so few at a time that they stay in a cache.
void Fft::run_columns (float *re, float *im, int lanes)
{
  constexpr int kLanes = 32;  // of columns at a time
  const int some = std::clamp (kLanes / lanes, 1, length_);
  const std::size_t n = std::size_t (some) * std::size_t (lanes),
                    row = std::size_t (length_) * std::size_t (lanes),
                    all = n * std::size_t (length_);
  if (columns_.size () < all)
    columns_ = Complexes (all);
  const auto copy_rows = [&] (const float *from, std::size_t step, float *to, std::size_t to_step) {
    for (int y = 0; y < length_; y++, from += step, to += to_step)
      std::copy_n (from, n, to);
  };
  for (std::size_t first = 0; first < row; first += n) {
    copy_rows (re + first, row, columns_.re.data (), n);
    copy_rows (im + first, row, columns_.im.data (), n);
    run (columns_.re.data (), columns_.im.data (), int (n));
    copy_rows (columns_.re.data (), n, re + first, row);
    copy_rows (columns_.im.data (), n, im + first, row);
  }
}

void Fft::forward_2d (Complexes &pictures, int lanes, std::span<const std::uint8_t> rows)
{
  run_rows (pictures.re.data (), pictures.im.data (), lanes, rows);
  run_columns (pictures.re.data (), pictures.im.data (), lanes);
}

void Fft::inverse_2d (Complexes &spectra, int lanes, std::span<const std::uint8_t> rows)
{
  // the parts change places: that conjugates, but for a factor that is undone after
  run_columns (spectra.im.data (), spectra.re.data (), lanes);
  run_rows (spectra.im.data (), spectra.re.data (), lanes, rows);
}

}  // namespace integralhist
