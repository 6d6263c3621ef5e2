// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The butterflies of a transform (fft.hpp), compiled once for each instruction set. The loops are
// plain: what is added and multiplied is the same in vectors of any size.

// A guard for each instruction set, as Highway's own files have
#if defined(CORRELATION_FFT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORRELATION_FFT_INL
#undef CORRELATION_FFT_INL
#else
#define CORRELATION_FFT_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE ();
namespace integralhist::HWY_NAMESPACE {

/// The numbers that one butterfly reads and writes: `n` of them, and as many `step` further.
struct Butterfly {
  const float *re, *im;
  std::size_t step;
  float *to_re, *to_im;
  int n;
};

inline void radix_2 (const Butterfly &b, float wr, float wi)
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

inline void radix_4 (const Butterfly &b, const float *wr, const float *wi)
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

/// What a pass of a transform does to all signals.
inline void run_pass (int radix, int butterflies, int n, const float *wr, const float *wi,
                      const float *from_re, const float *from_im, float *to_re, float *to_im)
{
  for (int p = 0; p < butterflies; p++, wr += radix, wi += radix) {
    const std::size_t in = std::size_t (p) * n, out = in * radix;
    const Butterfly butterfly{ from_re + in, from_im + in, std::size_t (butterflies) * n,
                               to_re + out,  to_im + out,  n };
    if (radix == 4)
      radix_4 (butterfly, wr, wi);
    else
      radix_2 (butterfly, wr[1], wi[1]);
  }
}

}  // namespace integralhist::HWY_NAMESPACE
HWY_AFTER_NAMESPACE ();

#endif
