// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fft.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace integralhist {
namespace {

/// The numbers that one butterfly reads and writes: `n` of them, and as many `step` further.
struct Butterfly {
  const float *re, *im;
  std::size_t step;
  float *to_re, *to_im;
  int n;
};

void radix_2 (const Butterfly &b, float wr, float wi)
{
  const float *const re = b.re, *const im = b.im;
  float *__restrict r0 = b.to_re, *__restrict i0 = b.to_im;
  float *__restrict r1 = b.to_re + b.n, *__restrict i1 = b.to_im + b.n;
  for (int i = 0; i < b.n; i++) {
    const float ar = re[i], ai = im[i], br = re[i + b.step], bi = im[i + b.step];
    const float dr = ar - br, di = ai - bi;
    r0[i] = ar + br, i0[i] = ai + bi;
    r1[i] = dr * wr - di * wi, i1[i] = dr * wi + di * wr;
  }
}

void radix_4 (const Butterfly &b, const float *wr, const float *wi)
{
  const float *const re = b.re, *const im = b.im;
  float *__restrict r0 = b.to_re, *__restrict i0 = b.to_im;
  float *__restrict r1 = b.to_re + b.n, *__restrict i1 = b.to_im + b.n;
  float *__restrict r2 = r1 + b.n, *__restrict i2 = i1 + b.n;
  float *__restrict r3 = r2 + b.n, *__restrict i3 = i2 + b.n;
  const float w1r = wr[1], w1i = wi[1], w2r = wr[2], w2i = wi[2], w3r = wr[3], w3i = wi[3];
  for (int i = 0; i < b.n; i++) {
    const float ar = re[i], ai = im[i], br = re[i + b.step], bi = im[i + b.step];
    const float cr = re[i + 2 * b.step], ci = im[i + 2 * b.step];
    const float dr = re[i + 3 * b.step], di = im[i + 3 * b.step];
    const float sr = ar + cr, si = ai + ci, tr = ar - cr, ti = ai - ci;
    const float ur = br + dr, ui = bi + di, hr = br - dr, hi = bi - di;
    const float e1r = tr + hi, e1i = ti - hr, e2r = sr - ur, e2i = si - ui;
    const float e3r = tr - hi, e3i = ti + hr;
    r0[i] = sr + ur, i0[i] = si + ui;
    r1[i] = e1r * w1r - e1i * w1i, i1[i] = e1r * w1i + e1i * w1r;
    r2[i] = e2r * w2r - e2i * w2i, i2[i] = e2r * w2i + e2i * w2r;
    r3[i] = e3r * w3r - e3i * w3i, i3[i] = e3r * w3i + e3i * w3r;
  }
}

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
    for (int p = 0; p < butterflies; p++) {
      const std::size_t in = std::size_t (p) * n, out = in * pass.radix;
      const Butterfly butterfly{ from_re + in, from_im + in, std::size_t (butterflies) * n,
                                 to_re + out,  to_im + out,  n };
      const float *const wr = &pass.re[p * pass.radix], *const wi = &pass.im[p * pass.radix];
      if (pass.radix == 4)
        radix_4 (butterfly, wr, wi);
      else
        radix_2 (butterfly, wr[1], wi[1]);
    }
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
