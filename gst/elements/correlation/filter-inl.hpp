// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a correlation filter (filter.hpp) does to all channels, compiled once for each instruction
// set. The loops over channels are plain, and the compiler makes vectors of them. Each number is
// made by the same operations in the same order in vectors of any size.

// A guard for each instruction set, as Highway's own files have
#if defined(CORRELATION_FILTER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORRELATION_FILTER_INL
#undef CORRELATION_FILTER_INL
#else
#define CORRELATION_FILTER_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "filter.hpp"

HWY_BEFORE_NAMESPACE ();
namespace integralhist::HWY_NAMESPACE {

/// Returns the sum of all channels: of both halves added to each other, and so on.
template <int kLength = kChannels>
HWY_INLINE float sum_of (float *values)
{
  if constexpr (kLength == 1) {
    return values[0];
  } else {
    for (int c = 0; c < kLength / 2; c++)
      values[c] += values[c + kLength / 2];
    return sum_of<kLength / 2> (values);
  }
}

/// Calls `body (i, k, m)`: i is where a frequency is in spectra, and the others are where it and
/// its conjugate are in pairs.
template <class Body>
HWY_INLINE void for_frequencies (Body &&body)
{
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kHalf; x++)
      body (std::size_t (y * kHalf + x) * kChannels, std::size_t (y * kGrid + x) * kPairs,
            std::size_t ((kGrid - y) % kGrid * kGrid + (kGrid - x) % kGrid) * kPairs);
}

/// Takes pairs of channels apart.
inline void unpack (const Complexes &pairs, Complexes &spectra)
{
  for_frequencies ([&] (std::size_t to, std::size_t k, std::size_t m) HWY_ATTR {
    const float *const ar = &pairs.re[k], *const ai = &pairs.im[k];
    const float *const br = &pairs.re[m], *const bi = &pairs.im[m];
    float *__restrict re = &spectra.re[to], *__restrict im = &spectra.im[to];
    for (int c = 0; c < kPairs; c++) {
      re[c] = 0.5F * (ar[c] + br[c]), im[c] = 0.5F * (ai[c] - bi[c]);
      re[c + kPairs] = 0.5F * (ai[c] + bi[c]), im[c + kPairs] = 0.5F * (br[c] - ar[c]);
    }
  });
}

/// Puts pairs of channels together.
inline void pack (const Complexes &spectra, Complexes &pairs)
{
  for_frequencies ([&] (std::size_t from, std::size_t k, std::size_t m) HWY_ATTR {
    const float *const re = &spectra.re[from], *const im = &spectra.im[from];
    for (int mirrored = 0; mirrored < 2; mirrored++) {  // which may be the same place
      const float sign = mirrored ? -1 : 1;
      const std::size_t place = mirrored ? m : k;
      float *__restrict to_re = &pairs.re[place], *__restrict to_im = &pairs.im[place];
      for (int c = 0; c < kPairs; c++) {
        to_re[c] = re[c] - sign * im[c + kPairs];
        to_im[c] = re[c + kPairs] + sign * im[c];
      }
    }
  });
}

/// Makes `v` the best weights without a box: of each frequency the solution of
/// (conj (x) x' + tau) v = b, by Sherman and Morrison.
inline void solve_frequencies (const Complexes &spectra, const float *wanted, const NearTo &near,
                               Complexes &v)
{
  const float mu = near.mu, rho = near.rho, tau = mu + rho;
  for (int k = 0; k < kFrequencies; k++) {
    const std::size_t o = std::size_t (k) * kChannels;
    const float *const xr = &spectra.re[o], *const xi = &spectra.im[o];
    const float *const gr = &near.g.re[o], *const gi = &near.g.im[o];
    const float *const hr = &near.h.re[o], *const hi = &near.h.im[o];
    const float *const pr = &near.last.re[o], *const pi = &near.last.im[o];
    const float y = wanted[k];
    alignas (64) float br[kChannels], bi[kChannels], power[kChannels], re[kChannels], im[kChannels];
    for (int c = 0; c < kChannels; c++) {
      br[c] = xr[c] * y + rho * (gr[c] - hr[c]) + mu * pr[c];
      bi[c] = -xi[c] * y + rho * (gi[c] - hi[c]) + mu * pi[c];
      power[c] = xr[c] * xr[c] + xi[c] * xi[c];
      re[c] = xr[c] * br[c] - xi[c] * bi[c];
      im[c] = xr[c] * bi[c] + xi[c] * br[c];
    }
    const float scale = 1 / (tau + sum_of (power)), share = 1 / tau;
    const float sr = sum_of (re) * scale, si = sum_of (im) * scale;
    float *__restrict vr = &v.re[o], *__restrict vi = &v.im[o];
    for (int c = 0; c < kChannels; c++) {
      vr[c] = (br[c] - (xr[c] * sr + xi[c] * si)) * share;
      vi[c] = (bi[c] - (xr[c] * si - xi[c] * sr)) * share;
    }
  }
}

/// Makes `sum` a + b.
inline void add (const Complexes &a, const Complexes &b, Complexes &sum)
{
  const auto run = [] (const float *x, const float *y, float *__restrict to) HWY_ATTR {
    for (int i = 0; i < kFrequencies * kChannels; i++)
      to[i] = x[i] + y[i];
  };
  run (a.re.data (), b.re.data (), sum.re.data ());
  run (a.im.data (), b.im.data (), sum.im.data ());
}

/// Makes `h` what v and g still disagree in, of a rho that is `faster` times as large.
inline void disagree (const Complexes &v, const Complexes &g, float faster, Complexes &h)
{
  const auto run = [=] (const float *x, const float *y, float *__restrict to) HWY_ATTR {
    for (int i = 0; i < kFrequencies * kChannels; i++)
      to[i] = (to[i] + x[i] - y[i]) / faster;
  };
  run (v.re.data (), g.re.data (), h.re.data ());
  run (v.im.data (), g.im.data (), h.im.data ());
}

/// Multiplies all pairs of each cell.
inline void scale_cells (const float *factors, Complexes &pairs)
{
  for (std::size_t i = 0; i < std::size_t (kGrid) * kGrid; i++) {
    float *__restrict re = &pairs.re[i * kPairs], *__restrict im = &pairs.im[i * kPairs];
    const float factor = factors[i];
    for (int c = 0; c < kPairs; c++)
      re[c] *= factor, im[c] *= factor;
  }
}

/// Multiplies all channels of a frequency.
inline void turn (float wr, float wi, float *__restrict re, float *__restrict im)
{
  for (int c = 0; c < kChannels; c++) {
    const float before = re[c];
    re[c] = before * wr - im[c] * wi;
    im[c] = before * wi + im[c] * wr;
  }
}

/// Makes the spectrum of the response: of each frequency the sum of all channels.
inline void respond (const Complexes &weights, const Complexes &spectra, Complexes &response)
{
  for_frequencies ([&] (std::size_t o, std::size_t k, std::size_t m) HWY_ATTR {
    const float *const wr = &weights.re[o], *const wi = &weights.im[o];
    const float *const xr = &spectra.re[o], *const xi = &spectra.im[o];
    alignas (64) float re[kChannels], im[kChannels];
    for (int c = 0; c < kChannels; c++) {
      re[c] = wr[c] * xr[c] - wi[c] * xi[c];
      im[c] = wr[c] * xi[c] + wi[c] * xr[c];
    }
    const float sum_re = sum_of (re), sum_im = sum_of (im);
    response.re[m / kPairs] = sum_re, response.im[m / kPairs] = -sum_im;
    response.re[k / kPairs] = sum_re, response.im[k / kPairs] = sum_im;
  });
}

}  // namespace integralhist::HWY_NAMESPACE
HWY_AFTER_NAMESPACE ();

#endif
