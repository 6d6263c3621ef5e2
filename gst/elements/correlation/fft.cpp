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
    (pass.radix, butterflies, n, pass.re.data (), pass.im.data (), from_re, from_im, to_re, to_im);
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

void Fft::run_2d (float *re, float *im, int lanes)
{
  const std::size_t row = std::size_t (length_) * std::size_t (lanes);
  for (int y = 0; y < length_; y++)
    run (re + y * row, im + y * row, lanes);
  run (re, im, int (row));
}

void Fft::forward_2d (Complexes &pictures, int lanes)
{
  run_2d (pictures.re.data (), pictures.im.data (), lanes);
}

void Fft::inverse_2d (Complexes &spectra, int lanes)
{
  // the parts change places: that conjugates, but for a factor that is undone after
  run_2d (spectra.im.data (), spectra.re.data (), lanes);
}

}  // namespace integralhist
