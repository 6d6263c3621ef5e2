// SPDX-License-Identifier: LGPL-2.1-or-later
#include "filter.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace integralhist {
namespace {

constexpr int kCells = kGrid * kGrid, kFrequencies = kGrid * kHalf;
// Two real channels are one complex number each: that of a channel, and i times that of another.
constexpr int kPairs = kChannels / 2;
// Of the box's side: how wide the wanted peak is.
constexpr double kPeak = 0.1;

Fft &transform ()
{
  static thread_local Fft fft (kGrid);
  return fft;
}

constexpr std::size_t cell_at (int y, int x)
{
  return std::size_t (y) * kGrid + std::size_t (x);
}

/// Returns where the conjugate of a frequency is.
constexpr std::size_t mirrored (int y, int x)
{
  return cell_at ((kGrid - y) % kGrid, (kGrid - x) % kGrid);
}

/// Takes pairs of channels apart.
void unpack (const Complexes &pairs, Complexes &spectra)
{
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kHalf; x++) {
      const std::size_t k = cell_at (y, x) * kPairs, m = mirrored (y, x) * kPairs;
      const float *const ar = &pairs.re[k], *const ai = &pairs.im[k];
      const float *const br = &pairs.re[m], *const bi = &pairs.im[m];
      const std::size_t to = std::size_t (y * kHalf + x) * kChannels;
      float *__restrict re = &spectra.re[to], *__restrict im = &spectra.im[to];
      for (int c = 0; c < kPairs; c++) {
        re[c] = 0.5F * (ar[c] + br[c]), im[c] = 0.5F * (ai[c] - bi[c]);
        re[c + kPairs] = 0.5F * (ai[c] + bi[c]), im[c + kPairs] = 0.5F * (br[c] - ar[c]);
      }
    }
}

/// Puts pairs of channels together.
void pack (const Complexes &spectra, Complexes &pairs)
{
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kHalf; x++) {
      const std::size_t from = std::size_t (y * kHalf + x) * kChannels;
      const float *const re = &spectra.re[from], *const im = &spectra.im[from];
      const std::size_t k = cell_at (y, x) * kPairs, m = mirrored (y, x) * kPairs;
      for (int c = 0; c < kPairs; c++) {
        pairs.re[k + c] = re[c] - im[c + kPairs], pairs.im[k + c] = im[c] + re[c + kPairs];
        pairs.re[m + c] = re[c] + im[c + kPairs], pairs.im[m + c] = re[c + kPairs] - im[c];
      }
    }
}

/// Returns the spectrum of a peak at shift 0, `sigma` cells wide.
std::vector<float> spectrum_of_peak (double sigma)
{
  std::vector<double> along;
  for (int k = 0; k < kGrid; k++) {
    double sum = 0;
    for (int i = 0; i < kGrid; i++) {
      const int shift = i <= kGrid / 2 ? i : i - kGrid;
      sum += std::exp (-0.5 * shift * shift / (sigma * sigma))
             * std::cos (2 * std::numbers::pi * k * i / kGrid);
    }
    along.push_back (sum);
  }
  std::vector<float> spectrum;
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kHalf; x++)
      spectrum.push_back (float (along[y] * along[x]));
  return spectrum;
}

/// Returns the share of each cell in a box in the middle. Weights lie mirrored, as the filter's
/// spectrum is multiplied, not its conjugate.
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

Complexes spectra_of (std::span<const float> pictures)
{
  static thread_local Complexes pairs (std::size_t (kCells) * kPairs);
  for (std::size_t i = 0; i < kCells; i++) {
    std::copy_n (&pictures[i * kChannels], kPairs, &pairs.re[i * kPairs]);
    std::copy_n (&pictures[i * kChannels + kPairs], kPairs, &pairs.im[i * kPairs]);
  }
  transform ().forward_2d (pairs, kPairs);
  Complexes spectra (std::size_t (kFrequencies) * kChannels);
  unpack (pairs, spectra);
  return spectra;
}

void move (Complexes &spectra, double x, double y)
{
  // the highest frequency of an axis is its own conjugate, and stays so
  const auto turned = [] (int frequency, double cells) {
    const double turn = -2 * std::numbers::pi * frequency * cells / kGrid;
    return frequency == kGrid / 2 ? std::complex<double> (std::cos (turn)) : std::polar (1.0, turn);
  };
  for (int j = 0; j < kGrid; j++)
    for (int i = 0; i < kHalf; i++) {
      const auto factor = turned (i, x) * turned (j <= kGrid / 2 ? j : j - kGrid, y);
      const auto re = float (factor.real ()), im = float (factor.imag ());
      float *const at_re = &spectra.re[std::size_t (j * kHalf + i) * kChannels],
                   *const at_im = &spectra.im[std::size_t (j * kHalf + i) * kChannels];
      for (int c = 0; c < kChannels; c++) {
        const float before = at_re[c];
        at_re[c] = before * re - at_im[c] * im;
        at_im[c] = before * im + at_im[c] * re;
      }
    }
}

void CorrelationFilter::start (const Complexes &spectra, double width, double height)
{
  wanted_ = spectrum_of_peak (kPeak * std::sqrt (width * height));
  inside_ = shares_in_box (width, height);
  rows_inside_.clear ();
  for (int y = 0; y < kGrid; y++)
    rows_inside_.push_back (std::any_of (&inside_[cell_at (y, 0)], &inside_[cell_at (y, 0)] + kGrid,
                                         [] (float share) { return share > 0; }));
  double sum = 0;
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kHalf; x++) {
      const std::size_t k = std::size_t (y * kHalf + x) * kChannels;
      double power = 0;
      for (std::size_t i = k; i < k + kChannels; i++)
        power += spectra.re[i] * spectra.re[i] + spectra.im[i] * spectra.im[i];
      sum += power * (x == 0 || x == kGrid / 2 ? 1 : 2);  // of the conjugate, too
    }
  energy_ = std::max (float (sum / kCells), 1e-6F);
  for (Complexes *spectrum : { &v_, &g_, &h_, &last_ })
    *spectrum = Complexes (spectra.size ());
  solve (spectra, { 0, 0.1F * energy_, 4 });
  renew ();
}

void CorrelationFilter::remember (const CorrelationFilter &before, double share)
{
  const float its = float (share);
  for (std::size_t i = 0; i < v_.size (); i++) {
    v_.re[i] += its * (before.v_.re[i] - v_.re[i]);
    v_.im[i] += its * (before.v_.im[i] - v_.im[i]);
  }
  renew ();
}

void CorrelationFilter::learn (const Complexes &spectra, double rate)
{
  last_ = v_;
  g_ = v_;
  std::ranges::fill (h_.re, 0);
  std::ranges::fill (h_.im, 0);
  solve (spectra, { float (8 * energy_ / rate), 10 * energy_, 2 });
}

void CorrelationFilter::solve (const Complexes &spectra, const Settings &settings)
{
  constexpr float kFaster = 10;  // times rho, each round
  float rho = settings.rho;
  for (int round = 0; round < settings.rounds; round++, rho *= kFaster) {
    solve_frequencies (spectra, settings.mu, rho);
    for (std::size_t i = 0; i < g_.size (); i++) {
      g_.re[i] = v_.re[i] + h_.re[i];
      g_.im[i] = v_.im[i] + h_.im[i];
    }
    keep_inside ();
    for (std::size_t i = 0; i < h_.size (); i++) {  // it is of the next rho
      h_.re[i] = (h_.re[i] + v_.re[i] - g_.re[i]) / kFaster;
      h_.im[i] = (h_.im[i] + v_.im[i] - g_.im[i]) / kFaster;
    }
  }
  v_ = g_;
}

/// Makes `v_` the best filter without a box, near to `g_` - `h_` and to the last one: of each
/// frequency the solution of (conj (x) x' + tau) v = b, by Sherman and Morrison.
void CorrelationFilter::solve_frequencies (const Complexes &spectra, float mu, float rho)
{
  const float tau = mu + rho;
  for (int k = 0; k < kFrequencies; k++) {
    const std::size_t o = std::size_t (k) * kChannels;
    const float *const xr = &spectra.re[o], *const xi = &spectra.im[o];
    const float *const gr = &g_.re[o], *const gi = &g_.im[o];
    const float *const hr = &h_.re[o], *const hi = &h_.im[o];
    const float *const pr = &last_.re[o], *const pi = &last_.im[o];
    const float y = wanted_[k];
    float br[kChannels], bi[kChannels], power = 0, sr = 0, si = 0;
    for (int c = 0; c < kChannels; c++) {
      br[c] = xr[c] * y + rho * (gr[c] - hr[c]) + mu * pr[c];
      bi[c] = -xi[c] * y + rho * (gi[c] - hi[c]) + mu * pi[c];
    }
    for (int c = 0; c < kChannels; c++) {
      power += xr[c] * xr[c] + xi[c] * xi[c];
      sr += xr[c] * br[c] - xi[c] * bi[c];
      si += xr[c] * bi[c] + xi[c] * br[c];
    }
    const float scale = 1 / (tau + power), share = 1 / tau;
    sr *= scale;
    si *= scale;
    for (int c = 0; c < kChannels; c++) {
      v_.re[o + c] = (br[c] - (xr[c] * sr + xi[c] * si)) * share;
      v_.im[o + c] = (bi[c] - (xr[c] * si - xi[c] * sr)) * share;
    }
  }
}

/// Takes the weights of `g_` outside of the box away.
void CorrelationFilter::keep_inside ()
{
  static thread_local Complexes pairs (std::size_t (kCells) * kPairs);
  pack (g_, pairs);
  transform ().inverse_2d (pairs, kPairs, rows_inside_);
  for (std::size_t i = 0; i < kCells; i++)
    for (std::size_t c = i * kPairs; c < (i + 1) * kPairs; c++) {
      pairs.re[c] *= inside_[i] / kCells;
      pairs.im[c] *= inside_[i] / kCells;
    }
  transform ().forward_2d (pairs, kPairs, rows_inside_);
  unpack (pairs, g_);
}

std::vector<float> CorrelationFilter::respond (const Complexes &spectra) const
{
  Complexes response (kCells);
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kHalf; x++) {
      const std::size_t o = std::size_t (y * kHalf + x) * kChannels;
      float re = 0, im = 0;
      for (std::size_t i = o; i < o + kChannels; i++) {
        re += used_.re[i] * spectra.re[i] - used_.im[i] * spectra.im[i];
        im += used_.re[i] * spectra.im[i] + used_.im[i] * spectra.re[i];
      }
      response.re[mirrored (y, x)] = re, response.im[mirrored (y, x)] = -im;
      response.re[cell_at (y, x)] = re, response.im[cell_at (y, x)] = im;
    }
  transform ().inverse_2d (response, 1);
  for (float &value : response.re)
    value /= kCells;
  return std::move (response.re);
}

std::vector<float> CorrelationFilter::weights () const
{
  Complexes pairs (std::size_t (kCells) * kPairs);
  pack (used_, pairs);
  transform ().inverse_2d (pairs, kPairs);
  std::vector<float> weights (std::size_t (kCells) * kChannels);
  for (std::size_t i = 0; i < kCells; i++)
    for (int c = 0; c < kPairs; c++) {
      weights[i * kChannels + c] = pairs.re[i * kPairs + c] / kCells;
      weights[i * kChannels + kPairs + c] = pairs.im[i * kPairs + c] / kCells;
    }
  return weights;
}

}  // namespace integralhist
