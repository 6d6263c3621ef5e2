// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The computations of a correlation filter (filter.hpp) over all channels, compiled once for each
// instruction set. The compiler vectorises the plain loops over channels. The operations for a
// number, and their order, are the same in vectors of any size.
#include "filter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/filter.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE ();
namespace inthist::correlation::HWY_NAMESPACE {

/// Returns the sum of all channels. Repeatedly adds the second half to the first, as on a GPU.
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

inline constexpr float kNone[kChannels] = {};

/// Return the real or imaginary parts of a frequency's channels, from index i of the spectra on;
/// zeros if the spectra are null.
inline const float *re_of (const ComplexArray *spectra, std::size_t i)
{
  return spectra ? &spectra->re[i] : kNone;
}
inline const float *im_of (const ComplexArray *spectra, std::size_t i)
{
  return spectra ? &spectra->im[i] : kNone;
}

/// Calls `body (i, k, m)` for each frequency: i is the frequency's index in spectra of channels. k
/// and m are those of the frequency and of its conjugate in spectra of pairs of channels.
template <class Body>
HWY_INLINE void for_frequencies (Body &&body)
{
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kHalf; x++)
      body (std::size_t (y * kHalf + x) * kChannels, std::size_t (y * kGrid + x) * kPairs,
            std::size_t ((kGrid - y) % kGrid * kGrid + (kGrid - x) % kGrid) * kPairs);
}

inline void unpack (const ComplexArray &pairs, ComplexArray &spectra)
{
  for_frequencies ([&] (std::size_t to, std::size_t k, std::size_t m) HWY_ATTR {
    const float *const ar = &pairs.re[k], *const ai = &pairs.im[k];
    const float *const br = &pairs.re[m], *const bi = &pairs.im[m];
    float *__restrict re = &spectra.re[to], *__restrict im = &spectra.im[to];
    for (int c = 0; c < kPairs; c++) {
      const Complex there = { ar[c], ai[c] }, mirrored = { br[c], bi[c] };
      const Complex first = first_of_pair (there, mirrored),
                    second = first_of_pair (there.times_minus_i (), mirrored.times_minus_i ());
      re[c] = first.re, im[c] = first.im;
      re[c + kPairs] = second.re, im[c + kPairs] = second.im;
    }
  });
}

/// Adds two spectra, of which `others` may be null, and combines the channels of the sum in pairs.
inline void pack (const ComplexArray &spectra, const ComplexArray *others, ComplexArray &pairs)
{
  float *const pairs_re = pairs.re.data (), *const pairs_im = pairs.im.data ();
  for_frequencies ([&] (std::size_t from, std::size_t k, std::size_t m) HWY_ATTR {
    const float *const re = &spectra.re[from], *const im = &spectra.im[from];
    const float *const more_re = re_of (others, from), *const more_im = im_of (others, from);
    alignas (64) float sum_re[kChannels], sum_im[kChannels];
    for (int c = 0; c < kChannels; c++)
      sum_re[c] = re[c] + more_re[c], sum_im[c] = im[c] + more_im[c];
    const auto pair = [&] (int c, float sign) HWY_ATTR {
      return pair_of ({ sum_re[c], sum_im[c] }, { sum_re[c + kPairs], sum_im[c + kPairs] }, sign);
    };
    for (int c = 0; c < kPairs; c++)
      pairs_re[k + c] = pair (c, 1).re;
    for (int c = 0; c < kPairs; c++)
      pairs_im[k + c] = pair (c, 1).im;
    for (int c = 0; c < kPairs; c++)  // a frequency may be its own conjugate
      pairs_re[m + c] = pair (c, -1).re;
    for (int c = 0; c < kPairs; c++)
      pairs_im[m + c] = pair (c, -1).im;
  });
}

/// Begins a round of ADMM (filter.hpp): sets `v` to the best weights without a box. At each
/// frequency they solve (conj (x) x' + tau) v = b, which Sherman and Morrison's formula inverts.
inline void solve_frequencies (const ComplexArray &spectra, const float *wanted,
                               const ProximalTerms &terms, ComplexArray &v)
{
  const float mu = terms.mu, rho = terms.rho, tau = mu + rho;
  for (int k = 0; k < kFrequencies; k++) {
    const std::size_t o = std::size_t (k) * kChannels;
    const float *const xr = &spectra.re[o], *const xi = &spectra.im[o];
    const float *const gr = &terms.g.re[o], *const gi = &terms.g.im[o];
    const float *const hr = re_of (terms.h, o), *const hi = im_of (terms.h, o);
    const float *const pr = &terms.last.re[o], *const pi = &terms.last.im[o];
    const float y = wanted[k];
    alignas (64) float br[kChannels], bi[kChannels], power[kChannels], re[kChannels], im[kChannels];
    for (int c = 0; c < kChannels; c++) {
      const Complex x = { xr[c], xi[c] },
                    b = right_side (x, y, Complex{ gr[c], gi[c] } - Complex{ hr[c], hi[c] }, rho,
                                    { pr[c], pi[c] }, mu),
                    product = x * b;
      br[c] = b.re, bi[c] = b.im;
      power[c] = x.power ();
      re[c] = product.re, im[c] = product.im;
    }
    const float scale = 1 / (tau + sum_of (power)), share = 1 / tau;
    const Complex s = Complex{ sum_of (re), sum_of (im) } * scale;
    float *__restrict vr = &v.re[o], *__restrict vi = &v.im[o];
    for (int c = 0; c < kChannels; c++) {
      const Complex solved =
          (Complex{ br[c], bi[c] } - Complex{ xr[c], xi[c] }.conjugate_times (s)) * share;
      vr[c] = solved.re, vi[c] = solved.im;
    }
  }
}

/// Ends a round of ADMM (filter.hpp): sets `to`, which may be h, to the next scaled dual variable,
/// (h + v - g) / growth. The dual variable itself, rho h, must not change when rho grows.
inline void update_dual (const ComplexArray *h, const ComplexArray &v, const ComplexArray &g,
                         float growth, ComplexArray &to)
{
  for_frequencies ([&] (std::size_t i, std::size_t, std::size_t) HWY_ATTR {
    const float *const vr = &v.re[i], *const vi = &v.im[i];
    const float *const gr = &g.re[i], *const gi = &g.im[i];
    const float *const hr = re_of (h, i), *const hi = im_of (h, i);
    alignas (64) float re[kChannels], im[kChannels];
    for (int c = 0; c < kChannels; c++) {
      re[c] = (hr[c] + vr[c] - gr[c]) / growth;
      im[c] = (hi[c] + vi[c] - gi[c]) / growth;
    }
    std::copy_n (re, kChannels, &to.re[i]);
    std::copy_n (im, kChannels, &to.im[i]);
  });
}

/// Multiplies each cell's channels, which are in pairs, by the cell's factor. Rows outside of the
/// box become 0.
inline void scale_cells (const float *factors, const std::uint8_t *inside, ComplexArray &pairs)
{
  constexpr std::size_t kRow = std::size_t (kGrid) * kPairs;
  for (std::size_t y = 0; y < kGrid; y++) {
    float *__restrict re = &pairs.re[y * kRow], *__restrict im = &pairs.im[y * kRow];
    if (!inside[y]) {
      std::fill_n (re, kRow, 0.0F);
      std::fill_n (im, kRow, 0.0F);
      continue;
    }
    for (std::size_t x = 0; x < kGrid; x++) {
      const float factor = factors[y * kGrid + x];
      for (std::size_t c = x * kPairs; c < (x + 1) * kPairs; c++)
        re[c] *= factor, im[c] *= factor;
    }
  }
}

inline void multiply_channels (float wr, float wi, float *__restrict re, float *__restrict im)
{
  for (int c = 0; c < kChannels; c++) {
    const Complex product = Complex{ re[c], im[c] } * Complex{ wr, wi };
    re[c] = product.re, im[c] = product.im;
  }
}

/// Computes the spectrum of a filter's response: at each frequency, the sum over all channels of
/// weights times spectra.
inline void respond (const ComplexArray &weights, const ComplexArray &spectra,
                     ComplexArray &response)
{
  for_frequencies ([&] (std::size_t o, std::size_t k, std::size_t m) HWY_ATTR {
    const float *const wr = &weights.re[o], *const wi = &weights.im[o];
    const float *const xr = &spectra.re[o], *const xi = &spectra.im[o];
    alignas (64) float re[kChannels], im[kChannels];
    for (int c = 0; c < kChannels; c++) {
      const Complex product = Complex{ wr[c], wi[c] } * Complex{ xr[c], xi[c] };
      re[c] = product.re, im[c] = product.im;
    }
    const float sum_re = sum_of (re), sum_im = sum_of (im);
    response.re[m / kPairs] = sum_re, response.im[m / kPairs] = -sum_im;
    response.re[k / kPairs] = sum_re, response.im[k / kPairs] = sum_im;
  });
}

}  // namespace inthist::correlation::HWY_NAMESPACE
HWY_AFTER_NAMESPACE ();

#if HWY_ONCE

namespace inthist::correlation {
namespace {

HWY_EXPORT (unpack);
HWY_EXPORT (pack);
HWY_EXPORT (solve_frequencies);
HWY_EXPORT (update_dual);
HWY_EXPORT (scale_cells);
HWY_EXPORT (multiply_channels);
HWY_EXPORT (respond);

Fft &transform ()
{
  static thread_local Fft fft (kGrid);
  return fft;
}

/// Returns the spectrum of a Gaussian peak at shift 0 with a standard deviation of `sigma` cells.
std::vector<float> spectrum_of_peak (double sigma)
{
  static const auto cosines = [] {
    std::array<std::array<double, kGrid>, kGrid> all;
    for (int k = 0; k < kGrid; k++)
      for (int i = 0; i < kGrid; i++)
        all[k][i] = std::cos (2 * std::numbers::pi * k * i / kGrid);
    return all;
  }();
  std::array<double, kGrid> peak, along;
  for (int i = 0; i < kGrid; i++) {
    const int shift = i <= kGrid / 2 ? i : i - kGrid;
    peak[i] = std::exp (-0.5 * shift * shift / (sigma * sigma));
  }
  for (int k = 0; k < kGrid; k++) {
    double sum = 0;
    for (int i = 0; i < kGrid; i++)
      sum += peak[i] * cosines[k][i];
    along[k] = sum;
  }
  std::vector<float> spectrum;
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kHalf; x++)
      spectrum.push_back (float (along[y] * along[x]));
  return spectrum;
}

/// Returns the share of each cell that lies in a box in the middle. The cells are mirrored, as
/// weights are, because spectra are multiplied by the filter's spectrum and not by its conjugate.
std::vector<float> shares_in_box (double width, double height)
{
  const auto share = [] (int i, double side) {
    const double from_middle = std::fabs ((kGrid - i) % kGrid + 0.5 - kGrid / 2.0);
    return std::clamp (std::max (side / 2, 1.0) - from_middle + 0.5, 0.0, 1.0);
  };
  std::vector<float> shares;
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kGrid; x++)
      shares.push_back (float (share (y, height) * share (x, width)));
  return shares;
}

}  // namespace

ComplexArray spectra_of (std::span<const float> channels)
{
  static thread_local ComplexArray pairs (std::size_t (kFilterCells) * kPairs);
  for (std::size_t i = 0; i < kFilterCells; i++) {
    std::copy_n (&channels[i * kChannels], kPairs, &pairs.re[i * kPairs]);
    std::copy_n (&channels[i * kChannels + kPairs], kPairs, &pairs.im[i * kPairs]);
  }
  transform ().forward_2d (pairs, kPairs);
  ComplexArray spectra (std::size_t (kFrequencies) * kChannels);
  HWY_DYNAMIC_DISPATCH (unpack) (pairs, spectra);
  return spectra;
}

std::vector<std::complex<double>> phase_factors (double x, double y)
{
  // the highest frequency of an axis is its own conjugate, so its factor must be real
  const auto factor = [] (int frequency, double cells) {
    const double phase = -2 * std::numbers::pi * frequency * cells / kGrid;
    return frequency == kGrid / 2 ? std::complex<double> (std::cos (phase))
                                  : std::polar (1.0, phase);
  };
  std::vector<std::complex<double>> factors;
  for (int i = 0; i < kHalf; i++)
    factors.push_back (factor (i, x));
  for (int j = 0; j < kGrid; j++)
    factors.push_back (factor (j <= kGrid / 2 ? j : j - kGrid, y));
  return factors;
}

void shift_spectra (ComplexArray &spectra, double x, double y)
{
  const auto factors = phase_factors (x, y);
  const auto multiply = HWY_DYNAMIC_DISPATCH (multiply_channels);
  for (int j = 0; j < kGrid; j++)
    for (int i = 0; i < kHalf; i++) {
      const auto factor = factors[i] * factors[kHalf + j];
      const std::size_t k = std::size_t (j * kHalf + i) * kChannels;
      multiply (float (factor.real ()), float (factor.imag ()), &spectra.re[k], &spectra.im[k]);
    }
}

FilterBox::FilterBox (double width, double height)
    : wanted (spectrum_of_peak (kPeakSigma * std::sqrt (width * height))),
      inside (shares_in_box (width, height))
{
  for (auto row = inside.begin (); row != inside.end (); row += kGrid)
    rows_inside.push_back (std::any_of (row, row + kGrid, [] (float share) { return share > 0; }));
  for (float &share : inside)
    share /= kFilterCells;
}

static float energy_of_spectra (const ComplexArray &spectra)
{
  double sum = 0;
  for (int f = 0; f < kFrequencies; f++) {
    const std::size_t k = std::size_t (f) * kChannels;
    double power = 0;
    for (std::size_t i = k; i < k + kChannels; i++)
      power += Complex{ spectra.re[i], spectra.im[i] }.power ();
    sum += energy_at (f % kHalf, power);
  }
  return energy_of_sum (sum);
}

void CorrelationFilter::start (const ComplexArray &spectra, FilterBox box)
{
  box_ = std::move (box);
  energy_ = energy_of_spectra (spectra);
  for (ComplexArray *spectrum : { &v_, &g_, &h_, &last_ })
    *spectrum = ComplexArray (spectra.size ());
  solve (spectra, Penalties::first (energy_), kFirstRounds);
  renew ();
}

void CorrelationFilter::remember (const CorrelationFilter &before, double share)
{
  const float kept = float (share);
  for (std::size_t i = 0; i < v_.size (); i++) {
    v_.re[i] += kept * (before.v_.re[i] - v_.re[i]);
    v_.im[i] += kept * (before.v_.im[i] - v_.im[i]);
  }
  renew ();
}

void CorrelationFilter::learn (const ComplexArray &spectra, double rate)
{
  std::swap (last_, v_);
  solve (spectra, Penalties::later (energy_, rate), kLaterRounds);
}

void CorrelationFilter::solve (const ComplexArray &spectra, const Penalties &penalties, int rounds)
{
  float rho = penalties.rho;
  for (int round = 0; round < rounds; round++, rho *= kRhoGrowth) {
    const bool is_first = round == 0, is_last = round + 1 == rounds;
    const ComplexArray *const h = is_first ? nullptr : &h_;
    HWY_DYNAMIC_DISPATCH (solve_frequencies)
    (spectra, box_->wanted.data (),
     ProximalTerms{ is_first ? last_ : g_, h, last_, penalties.mu, rho }, v_);
    keep_inside (h, is_last ? v_ : g_);
    if (!is_last)
      HWY_DYNAMIC_DISPATCH (update_dual) (h, v_, g_, kRhoGrowth, h_);
  }
}

/// Computes g of a round of ADMM (filter.hpp): the sum of v_ and `more`, which is null for zeros,
/// without the weights outside of the box.
void CorrelationFilter::keep_inside (const ComplexArray *more, ComplexArray &weights)
{
  static thread_local ComplexArray pairs (std::size_t (kFilterCells) * kPairs);
  const std::vector<std::uint8_t> &rows = box_->rows_inside;
  HWY_DYNAMIC_DISPATCH (pack) (v_, more, pairs);
  transform ().inverse_2d (pairs, kPairs, rows);
  HWY_DYNAMIC_DISPATCH (scale_cells) (box_->inside.data (), rows.data (), pairs);
  transform ().forward_2d (pairs, kPairs, rows);
  HWY_DYNAMIC_DISPATCH (unpack) (pairs, weights);
}

std::vector<float> CorrelationFilter::respond (const ComplexArray &spectra) const
{
  ComplexArray response (kFilterCells);
  HWY_DYNAMIC_DISPATCH (respond) (used_, spectra, response);
  transform ().inverse_2d (response, 1);
  for (float &value : response.re)
    value /= kFilterCells;
  return std::move (response.re);
}

std::vector<float> CorrelationFilter::weights () const
{
  ComplexArray pairs (std::size_t (kFilterCells) * kPairs);
  HWY_DYNAMIC_DISPATCH (pack) (used_, nullptr, pairs);
  transform ().inverse_2d (pairs, kPairs);
  std::vector<float> weights (std::size_t (kFilterCells) * kChannels);
  for (std::size_t i = 0; i < kFilterCells; i++)
    for (int c = 0; c < kPairs; c++) {
      weights[i * kChannels + c] = pairs.re[i * kPairs + c] / kFilterCells;
      weights[i * kChannels + kPairs + c] = pairs.im[i * kPairs + c] / kFilterCells;
    }
  return weights;
}

}  // namespace inthist::correlation

#endif
