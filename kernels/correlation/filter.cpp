// SPDX-License-Identifier: LGPL-2.1-or-later
#include "filter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filter-inl.hpp"
#include <hwy/foreach_target.h>

#include "filter-inl.hpp"

namespace inthist::correlation {
namespace {

HWY_EXPORT (unpack);
HWY_EXPORT (pack);
HWY_EXPORT (solve_frequencies);
HWY_EXPORT (disagree);
HWY_EXPORT (scale_cells);
HWY_EXPORT (turn);
HWY_EXPORT (respond);

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
  static thread_local Complexes pairs (std::size_t (kFilterCells) * kPairs);
  for (std::size_t i = 0; i < kFilterCells; i++) {
    std::copy_n (&pictures[i * kChannels], kPairs, &pairs.re[i * kPairs]);
    std::copy_n (&pictures[i * kChannels + kPairs], kPairs, &pairs.im[i * kPairs]);
  }
  transform ().forward_2d (pairs, kPairs);
  Complexes spectra (std::size_t (kFrequencies) * kChannels);
  HWY_DYNAMIC_DISPATCH (unpack) (pairs, spectra);
  return spectra;
}

std::vector<std::complex<double>> turns_of (double x, double y)
{
  // the highest frequency of an axis is its own conjugate, and stays so
  const auto turned = [] (int frequency, double cells) {
    const double turn = -2 * std::numbers::pi * frequency * cells / kGrid;
    return frequency == kGrid / 2 ? std::complex<double> (std::cos (turn)) : std::polar (1.0, turn);
  };
  std::vector<std::complex<double>> turns;
  for (int i = 0; i < kHalf; i++)
    turns.push_back (turned (i, x));
  for (int j = 0; j < kGrid; j++)
    turns.push_back (turned (j <= kGrid / 2 ? j : j - kGrid, y));
  return turns;
}

void move (Complexes &spectra, double x, double y)
{
  const auto turns = turns_of (x, y);
  const auto turn = HWY_DYNAMIC_DISPATCH (turn);
  for (int j = 0; j < kGrid; j++)
    for (int i = 0; i < kHalf; i++) {
      const auto factor = turns[i] * turns[kHalf + j];
      const std::size_t k = std::size_t (j * kHalf + i) * kChannels;
      turn (float (factor.real ()), float (factor.imag ()), &spectra.re[k], &spectra.im[k]);
    }
}

const cuda::FilterTables &filter_tables ()
{
  static const cuda::FilterTables tables = [] {
    cuda::FilterTables all;
    std::ranges::copy (hann (), all.window);
    int i = 0;
    transform ().for_twiddles ([&] (float re, float im) {
      all.twiddle_re[i] = re, all.twiddle_im[i] = im;
      i++;
    });
    return all;
  }();
  return tables;
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
  energy_ = std::max (float (sum / kFilterCells), 1e-6F);
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
  std::swap (last_, v_);
  const auto [mu, rho] = nearness (rate);
  solve (spectra, { mu, rho, 2 });
}

void CorrelationFilter::solve (const Complexes &spectra, const Settings &settings)
{
  float rho = settings.rho;
  for (int round = 0; round < settings.rounds; round++, rho *= kFasterRounds) {
    const bool is_first = round == 0, is_last = round + 1 == settings.rounds;
    const Complexes *const h = is_first ? nullptr : &h_;
    HWY_DYNAMIC_DISPATCH (solve_frequencies)
    (spectra, wanted_.data (), NearTo{ is_first ? last_ : g_, h, last_, settings.mu, rho }, v_);
    keep_inside (h, is_last ? v_ : g_);
    if (!is_last)
      HWY_DYNAMIC_DISPATCH (disagree) (h, v_, g_, kFasterRounds, h_);  // it is of the next rho
  }
}

std::array<float, kFilterCells> CorrelationFilter::inside () const
{
  std::array<float, kFilterCells> factors;
  std::ranges::transform (inside_, factors.begin (),
                          [] (float share) { return share / kFilterCells; });
  return factors;
}

/// Makes `weights` `v_`, or the sum of it and more, without those outside of the box.
void CorrelationFilter::keep_inside (const Complexes *more, Complexes &weights)
{
  static thread_local Complexes pairs (std::size_t (kFilterCells) * kPairs);
  const auto factors = inside ();
  HWY_DYNAMIC_DISPATCH (pack) (v_, more, pairs);
  transform ().inverse_2d (pairs, kPairs, rows_inside_);
  HWY_DYNAMIC_DISPATCH (scale_cells) (factors.data (), rows_inside_.data (), pairs);
  transform ().forward_2d (pairs, kPairs, rows_inside_);
  HWY_DYNAMIC_DISPATCH (unpack) (pairs, weights);
}

std::vector<float> CorrelationFilter::respond (const Complexes &spectra) const
{
  Complexes response (kFilterCells);
  HWY_DYNAMIC_DISPATCH (respond) (used_, spectra, response);
  transform ().inverse_2d (response, 1);
  for (float &value : response.re)
    value /= kFilterCells;
  return std::move (response.re);
}

std::vector<float> CorrelationFilter::weights () const
{
  Complexes pairs (std::size_t (kFilterCells) * kPairs);
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
