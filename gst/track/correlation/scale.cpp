// SPDX-License-Identifier: LGPL-2.1-or-later
#include "scale.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "peak.hpp"

namespace integralhist {
namespace {

using namespace inthist::correlation;

constexpr int kSizes = 16, kMiddle = kSizes / 2;
constexpr double kStep = 1.03;  // from a size to the next
constexpr int kCells = 64;      // of a box, about
constexpr float kRate = 0.035F;

double angle (int i)
{
  return 2 * std::numbers::pi * (i % kSizes) / kSizes;
}

/// The spectrum of the wanted response, a peak one size wide at the middle.
Complexes wanted ()
{
  Complexes spectrum (kSizes);
  for (int k = 0; k < kSizes; k++) {
    double re = 0, im = 0;
    for (int i = 0; i < kSizes; i++) {
      const double peak = std::exp (-0.5 * (i - kMiddle) * (i - kMiddle));
      re += peak * std::cos (angle (k * i));
      im -= peak * std::sin (angle (k * i));
    }
    spectrum.re[k] = float (re), spectrum.im[k] = float (im);
  }
  return spectrum;
}

/// Returns the spectra of a sample along its sizes, [frequency][channel]. It is faded out towards
/// both ends.
Complexes faded_spectra (const ScaleFilter::Sample &sample)
{
  const std::size_t channels = sample.size () / kSizes;
  Complexes spectra (sample.size ());
  for (int i = 0; i < kSizes; i++) {
    const auto fade = float (0.5 - 0.5 * std::cos (angle (i)));
    for (std::size_t k = i * channels; k < (i + 1) * channels; k++)
      spectra.re[k] = fade * sample[k];
  }
  Fft (kSizes).run (spectra.re.data (), spectra.im.data (), int (channels));
  return spectra;
}

}  // namespace

void ScaleFilter::start (double width, double height)
{
  const auto n_cells = [] (double n) { return std::clamp (int (std::lround (n)), 3, 21); };
  columns_ = n_cells (std::sqrt (kCells * width / height));
  rows_ = n_cells (double (kCells) / columns_);
  numerator_ = {};
  denominator_.clear ();
}

std::vector<CellGrid> ScaleFilter::grids (double x, double y, double width, double height) const
{
  std::vector<CellGrid> grids;
  for (int i = 0; i < kSizes; i++) {
    const double size = std::pow (kStep, i - kMiddle);
    grids.push_back (CellGrid::around (x, y, width * size, height * size, columns_, rows_));
  }
  return grids;
}

ScaleFilter::Sample ScaleFilter::sample (const FrameTensors &frame, std::span<const CellGrid> grids,
                                         std::span<const std::int64_t> cell_sums) const
{
  const std::size_t n = std::size_t (columns_) * std::size_t (rows_);
  Sample sample (kSizes * n * kOrientations);
  for (std::size_t i = 0; i < kSizes; i++)
    sample_size ({ &cell_sums[i * n * kDirections], columns_, rows_,
                   cell_scale_of (frame, grids[i]).per_length, &sample[i * n * kOrientations] });
  return sample;
}

bool ScaleFilter::resize (Sample &sample, double factor)
{
  const double sizes = std::log (factor) / std::log (kStep);
  if (std::fabs (sizes) > 1)
    return false;
  const std::size_t channels = sample.size () / kSizes;
  const auto share = float (std::fabs (sizes));
  const auto approach = [&] (int i, int neighbour) {
    const float *const from = &sample[neighbour * channels];
    float *const to = &sample[i * channels];
    for (std::size_t c = 0; c < channels; c++)
      to[c] += share * (from[c] - to[c]);
  };
  if (sizes > 0)
    for (int i = 0; i + 1 < kSizes; i++)
      approach (i, i + 1);
  else
    for (int i = kSizes - 1; i > 0; i--)
      approach (i, i - 1);
  return true;
}

void ScaleFilter::learn (const Sample &of, double rate)
{
  const Complexes sample = faded_spectra (of);
  static const Complexes target = wanted ();
  const std::size_t channels = sample.size () / kSizes;
  const bool is_first = denominator_.empty ();
  if (is_first) {
    numerator_ = Complexes (sample.size ());
    denominator_.assign (kSizes, 0);
  }
  const float share = is_first ? 1 : float (rate) * kRate;
  for (int k = 0; k < kSizes; k++) {
    const float yr = target.re[k], yi = target.im[k];
    float power = 0;
    for (std::size_t i = k * channels; i < (k + 1) * channels; i++) {
      const float xr = sample.re[i], xi = sample.im[i];
      numerator_.re[i] += share * (yr * xr + yi * xi - numerator_.re[i]);
      numerator_.im[i] += share * (yr * xi - yi * xr - numerator_.im[i]);
      power += xr * xr + xi * xi;
    }
    denominator_[k] += share * (power - denominator_[k]);
  }
  if (is_first) {
    float sum = 0;
    for (const float power : denominator_)
      sum += power;
    regular_ = std::max (0.01F * sum / kSizes, 1e-6F);
  }
}

double ScaleFilter::find (const Sample &of) const
{
  const Complexes sample = faded_spectra (of);
  const std::size_t channels = sample.size () / kSizes;
  std::array<double, kSizes> re{}, im{}, response{};
  for (int k = 0; k < kSizes; k++) {
    for (std::size_t i = k * channels; i < (k + 1) * channels; i++) {
      re[k] += double (numerator_.re[i]) * sample.re[i] + double (numerator_.im[i]) * sample.im[i];
      im[k] += double (numerator_.re[i]) * sample.im[i] - double (numerator_.im[i]) * sample.re[i];
    }
    re[k] /= denominator_[k] + regular_;
    im[k] /= denominator_[k] + regular_;
  }
  for (int i = 0; i < kSizes; i++)
    for (int k = 0; k < kSizes; k++)
      response[i] += re[k] * std::cos (angle (k * i)) - im[k] * std::sin (angle (k * i));
  const int best = int (std::ranges::max_element (response) - response.begin ());
  const double between = best > 0 && best < kSizes - 1
                             ? peak_between (response[best - 1], response[best], response[best + 1])
                             : 0;
  return std::pow (kStep, best + between - kMiddle);
}

}  // namespace integralhist
