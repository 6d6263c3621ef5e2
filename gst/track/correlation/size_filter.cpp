// SPDX-License-Identifier: LGPL-2.1-or-later
#include "size_filter.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace integralhist {
namespace {

using namespace inthist::correlation;

constexpr int kCells = 64;                  // of a box, approximately
constexpr int kMinSide = 3, kMaxSide = 21;  // cells

constexpr int most_cells ()
{
  int most = 0;
  for (int columns = kMinSide; columns <= kMaxSide; columns++)
    most = std::max (
        most, columns * std::clamp (int (double (kCells) / columns + 0.5), kMinSide, kMaxSide));
  return most;
}
static_assert (most_cells () <= kMaxSizeCells);

double angle (int i)
{
  return 2 * std::numbers::pi * (i % kSizes) / kSizes;
}

/// Sets the spectrum of the wanted response to sizes: a peak at the middle size, one size wide.
void set_wanted (SizeTables &tables)
{
  for (int k = 0; k < kSizes; k++) {
    double re = 0, im = 0;
    for (int i = 0; i < kSizes; i++) {
      const double peak = std::exp (-0.5 * (i - kMiddleSize) * (i - kMiddleSize));
      re += peak * std::cos (angle (k * i));
      im -= peak * std::sin (angle (k * i));
    }
    tables.wanted_re[k] = float (re), tables.wanted_im[k] = float (im);
  }
}

/// Returns the spectra of a sample along its sizes, [frequency][channel], after fading out the
/// smallest and the largest sizes.
ComplexArray faded_spectra (const SizeFilter::Sample &sample)
{
  const std::size_t channels = sample.size () / kSizes;
  ComplexArray spectra (sample.size ());
  for (int i = 0; i < kSizes; i++) {
    const float fade = size_tables ().fade[i];
    for (std::size_t k = i * channels; k < (i + 1) * channels; k++)
      spectra.re[k] = fade * sample[k];
  }
  Fft (kSizes).run (spectra.re.data (), spectra.im.data (), int (channels));
  return spectra;
}

}  // namespace

const SizeTables &size_tables ()
{
  static const SizeTables tables = [] {
    SizeTables all;
    set_wanted (all);
    for (int i = 0; i < kSizes; i++) {
      all.fade[i] = float (0.5 - 0.5 * std::cos (angle (i)));
      all.cos[i] = std::cos (angle (i)), all.sin[i] = std::sin (angle (i));
    }
    return all;
  }();
  return tables;
}

SizeCells SizeCells::of (double width, double height)
{
  const auto n_cells = [] (double n) {
    return std::clamp (int (std::lround (n)), kMinSide, kMaxSide);
  };
  const int columns = n_cells (std::sqrt (kCells * width / height));
  return { columns, n_cells (double (kCells) / columns) };
}

std::array<CellGrid, kSizes> SizeCells::grids (const CentreBox &box) const
{
  static const auto sizes = [] {
    std::array<double, kSizes> all;
    for (int i = 0; i < kSizes; i++)
      all[std::size_t (i)] = std::pow (kSizeStep, i - kMiddleSize);
    return all;
  }();
  std::array<CellGrid, kSizes> grids;
  for (std::size_t i = 0; i < grids.size (); i++)
    grids[i] =
        CellGrid::around (box.x, box.y, box.width * sizes[i], box.height * sizes[i], columns, rows);
  return grids;
}

double size_factor_of (std::span<const double> response)
{
  const int best = int (std::ranges::max_element (response) - response.begin ());
  const double between =
      best > 0 && best < kSizes - 1
          ? peak_between (response[std::size_t (best) - 1], response[std::size_t (best)],
                          response[std::size_t (best) + 1])
          : 0;
  return std::pow (kSizeStep, best + between - kMiddleSize);
}

std::optional<double> size_steps_of (double factor)
{
  const double sizes = std::log (factor) / std::log (kSizeStep);
  return std::fabs (sizes) > 1 ? std::optional<double> () : sizes;
}

void SizeFilter::start (double width, double height)
{
  learned_ = { .cells = SizeCells::of (width, height) };
}

SizeFilter::Sample SizeFilter::sample (const FrameTensors &frame, std::span<const CellGrid> grids,
                                       std::span<const std::int64_t> cell_sums) const
{
  const auto [columns, rows] = learned_.cells;
  const std::size_t n = std::size_t (columns) * std::size_t (rows);
  Sample sample (kSizes * n * kOrientations);
  for (std::size_t i = 0; i < kSizes; i++)
    sample_size ({ &cell_sums[i * n * kDirections], columns, rows,
                   cell_factors_of (frame, grids[i]).per_length, &sample[i * n * kOrientations] });
  return sample;
}

void SizeFilter::enlarge_sample (Sample &sample, double factor)
{
  const double sizes = *size_steps_of (factor);
  const std::size_t channels = sample.size () / kSizes;
  const auto share = float (std::fabs (sizes));
  const auto approach = [&] (int i, int neighbour) {
    const float *const from = &sample[std::size_t (neighbour) * channels];
    float *const to = &sample[std::size_t (i) * channels];
    for (std::size_t c = 0; c < channels; c++)
      to[c] = mixed (to[c], from[c], share);
  };
  if (sizes > 0)
    for (int i = 0; i + 1 < kSizes; i++)
      approach (i, i + 1);
  else
    for (int i = kSizes - 1; i > 0; i--)
      approach (i, i - 1);
}

void SizeFilter::learn (const Sample &sample, double rate)
{
  const ComplexArray spectra = faded_spectra (sample);
  const SizeTables &tables = size_tables ();
  const std::size_t channels = spectra.size () / kSizes;
  auto &[cells, numerator, denominator, regularisation] = learned_;
  const bool is_first = denominator.empty ();
  if (is_first) {
    numerator = ComplexArray (spectra.size ());
    denominator.assign (kSizes, 0);
  }
  const float share = is_first ? 1 : float (rate) * kSizeRate;
  for (int k = 0; k < kSizes; k++) {
    const Complex wanted = { tables.wanted_re[k], tables.wanted_im[k] };
    float power = 0;
    for (std::size_t i = k * channels; i < (k + 1) * channels; i++) {
      const Complex x = { spectra.re[i], spectra.im[i] };
      const Complex learned =
          learned_number ({ numerator.re[i], numerator.im[i] }, x, wanted, share);
      numerator.re[i] = learned.re, numerator.im[i] = learned.im;
      power += x.power ();
    }
    denominator[k] += share * (power - denominator[k]);
  }
  if (is_first) {
    float sum = 0;
    for (const float power : denominator)
      sum += power;
    regularisation = regularisation_of_sum (sum);
  }
}

double SizeFilter::find (const Sample &sample) const
{
  const auto &[cells, numerator, denominator, regularisation] = learned_;
  const ComplexArray spectra = faded_spectra (sample);
  const std::size_t channels = spectra.size () / kSizes;
  std::array<double, kSizes> re{}, im{}, response{};
  for (int k = 0; k < kSizes; k++) {
    for (std::size_t i = k * channels; i < (k + 1) * channels; i++) {
      re[k] += double (numerator.re[i]) * spectra.re[i] + double (numerator.im[i]) * spectra.im[i];
      im[k] += double (numerator.re[i]) * spectra.im[i] - double (numerator.im[i]) * spectra.re[i];
    }
    re[k] /= denominator[k] + regularisation;
    im[k] /= denominator[k] + regularisation;
  }
  for (int i = 0; i < kSizes; i++)
    response[std::size_t (i)] = size_response (re.data (), im.data (), i, size_tables ());
  return size_factor_of (response);
}

}  // namespace integralhist
