// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The correlation filter, compared with its definition, worked out pixel by pixel in double.
#include <kernels/correlation/cpu/filter.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "test.hpp"  // last: it has macros with names of the standard library
#include <hwy/targets.h>

using namespace inthist::correlation;

namespace {

constexpr int kCells = kGrid * kGrid;

/// Pictures of all channels, of noise.
std::vector<float> noise (unsigned seed)
{
  std::mt19937 random (seed);
  std::uniform_real_distribution<float> number (-1, 1);
  std::vector<float> pictures (kCells * kChannels);
  for (float &value : pictures)
    value = number (random);
  return pictures;
}

std::size_t at (int x, int y)
{
  return std::size_t ((y + 2 * kGrid) % kGrid * kGrid + (x + 2 * kGrid) % kGrid);
}

/// Pictures of all channels, of noise in which neighbours are alike, similar to real cells.
std::vector<float> smooth_noise (unsigned seed)
{
  const auto from = noise (seed);
  std::vector<float> pictures (from.size ());
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kGrid; x++)
      for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++)
          for (int c = 0; c < kChannels; c++)
            pictures[at (x, y) * kChannels + c] += from[at (x + i, y + j) * kChannels + c] / 9;
  return pictures;
}

/// Returns the pictures moved to the right and down, around the border.
std::vector<float> moved (const std::vector<float> &pictures, int dx, int dy)
{
  std::vector<float> there (pictures.size ());
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kGrid; x++)
      std::copy_n (&pictures[at (x, y) * kChannels], kChannels,
                   &there[at (x + dx, y + dy) * kChannels]);
  return there;
}

/// Returns the sum over all channels and cells of the weights with the pictures at a shift.
double response_at (const std::vector<float> &weights, const std::vector<float> &pictures, int dx,
                    int dy)
{
  double sum = 0;
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kGrid; x++)
      for (int c = 0; c < kChannels; c++)
        sum += double (weights[at (dx - x, dy - y) * kChannels + c])
               * pictures[at (x, y) * kChannels + c];
  return sum;
}

/// The wanted response for a box of these sides.
double wanted_at (int dx, int dy, double width, double height)
{
  const double sigma = 0.1 * std::sqrt (width * height);
  return std::exp (-0.5 * (dx * dx + dy * dy) / (sigma * sigma));
}

/// Returns the mean square of the difference from the wanted responses.
double miss (const std::vector<float> &response, double width, double height)
{
  double sum = 0;
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kGrid; x++) {
      const int dx = x < kGrid / 2 ? x : x - kGrid, dy = y < kGrid / 2 ? y : y - kGrid;
      sum += std::pow (response[at (x, y)] - wanted_at (dx, dy, width, height), 2);
    }
  return sum / kCells;
}

using ComplexDouble = std::complex<double>;

/// The filter in double, by the sums that define a Fourier transform, on whole spectra.
struct Dense {
  Dense (const std::vector<float> &pictures, double width, double height)
      : weights (pictures.size ()), v_ (pictures.size ())
  {
    std::vector<double> peak;
    for (int y = 0; y < kGrid; y++)
      for (int x = 0; x < kGrid; x++) {
        const int dx = x <= kGrid / 2 ? x : x - kGrid, dy = y <= kGrid / 2 ? y : y - kGrid;
        peak.push_back (wanted_at (dx, dy, width, height));
        const auto share = [] (int i, double side) {
          return std::clamp (side / 2 - std::fabs ((kGrid - i) % kGrid + 0.5 - kGrid / 2.0) + 0.5,
                             0.0, 1.0);
        };
        inside_.push_back (share (x, width) * share (y, height));
      }
    wanted_ = transformed ({ peak.begin (), peak.end () }, -1);
    for (const ComplexDouble &x : spectra (pictures))
      energy += std::norm (x) / kCells;
  }

  void solve (const std::vector<float> &pictures, double mu, double rho, int rounds)
  {
    const auto x = spectra (pictures);
    const auto last = v_;
    auto g = v_;
    std::vector<ComplexDouble> h (v_.size ());
    for (int round = 0; round < rounds; round++, rho *= 10) {
      for (std::size_t k = 0; k < kCells; k++) {
        ComplexDouble projected = 0, b[kChannels];
        double power = 0;
        for (std::size_t c = 0; c < kChannels; c++) {
          const std::size_t i = k * kChannels + c;
          b[c] = std::conj (x[i]) * wanted_[k] + rho * (g[i] - h[i]) + mu * last[i];
          projected += x[i] * b[c];
          power += std::norm (x[i]);
        }
        for (std::size_t c = 0; c < kChannels; c++)
          v_[k * kChannels + c] =
              (b[c] - std::conj (x[k * kChannels + c]) * projected / (mu + rho + power))
              / (mu + rho);
      }
      for (std::size_t c = 0; c < kChannels; c++) {
        std::vector<ComplexDouble> one (kCells);
        for (std::size_t k = 0; k < kCells; k++)
          one[k] = v_[k * kChannels + c] + h[k * kChannels + c];
        one = transformed (one, 1);
        for (std::size_t i = 0; i < kCells; i++) {
          one[i] *= inside_[i] / kCells;
          weights[i * kChannels + c] = one[i].real ();
        }
        one = transformed (one, -1);
        for (std::size_t k = 0; k < kCells; k++)
          g[k * kChannels + c] = one[k];
      }
      for (std::size_t i = 0; i < h.size (); i++)
        h[i] = (h[i] + v_[i] - g[i]) / 10.0;
    }
    v_ = g;
  }

  double energy = 0;
  std::vector<double> weights;

private:
  static std::vector<ComplexDouble> transformed (const std::vector<ComplexDouble> &picture,
                                                 int sign)
  {
    std::vector<ComplexDouble> rows (kCells), all (kCells);
    const auto turn = [sign] (int steps) {
      return std::polar (1.0, sign * 2 * std::numbers::pi * (steps % kGrid) / kGrid);
    };
    for (int y = 0; y < kGrid; y++)
      for (int k = 0; k < kGrid; k++)
        for (int x = 0; x < kGrid; x++)
          rows[at (k, y)] += picture[at (x, y)] * turn (k * x);
    for (int k = 0; k < kGrid; k++)
      for (int x = 0; x < kGrid; x++)
        for (int y = 0; y < kGrid; y++)
          all[at (x, k)] += rows[at (x, y)] * turn (k * y);
    return all;
  }

  static std::vector<ComplexDouble> spectra (const std::vector<float> &pictures)
  {
    std::vector<ComplexDouble> spectra (pictures.size ());
    for (std::size_t c = 0; c < kChannels; c++) {
      std::vector<ComplexDouble> one (kCells);
      for (std::size_t i = 0; i < kCells; i++)
        one[i] = pictures[i * kChannels + c];
      one = transformed (one, -1);
      for (std::size_t k = 0; k < kCells; k++)
        spectra[k * kChannels + c] = one[k];
    }
    return spectra;
  }

  std::vector<ComplexDouble> wanted_, v_;
  std::vector<double> inside_;
};

std::size_t best_of (const std::vector<float> &response)
{
  return std::size_t (std::ranges::max_element (response) - response.begin ());
}

}  // namespace

TEST (spectra)
{
  const auto pictures = noise (1);
  const ComplexArray got = spectra_of (pictures);
  std::mt19937 random (2);
  for (int i = 0; i < 60; i++) {
    const int kx = int (random () % kHalf), ky = int (random () % kGrid), c = i % kChannels;
    std::complex<double> wanted;
    for (int y = 0; y < kGrid; y++)
      for (int x = 0; x < kGrid; x++)
        wanted += double (pictures[at (x, y) * kChannels + c])
                  * std::polar (1.0, -2 * std::numbers::pi * (kx * x + ky * y) / kGrid);
    const std::size_t k = std::size_t (ky * kHalf + kx) * kChannels + c;
    fail_unless (std::abs (std::complex<double> (got.re[k], got.im[k]) - wanted) < 1e-4,
                 "channel %d at %d, %d", c, kx, ky);
  }
}

// the response is the weighted sum of the cells, shifted
TEST (response)
{
  const auto pictures = noise (3), others = noise (4);
  CorrelationFilter filter;
  filter.start (spectra_of (pictures), FilterBox (10, 6));
  const auto weights = filter.weights ();
  const auto got = filter.respond (spectra_of (others));
  for (const auto &[dx, dy] : { std::pair (0, 0), { 1, 0 }, { 0, 1 }, { -5, 9 }, { 15, -16 } }) {
    const double wanted = response_at (weights, others, dx, dy);
    fail_unless (std::fabs (got[at (dx, dy)] - wanted) < 1e-5, "shift %d, %d: %g, must be %g", dx,
                 dy, got[at (dx, dy)], wanted);
  }
}

TEST (no_weight_outside_of_the_box)
{
  constexpr double kWidth = 11, kHeight = 6.5;
  CorrelationFilter filter;
  filter.start (spectra_of (noise (5)), FilterBox (kWidth, kHeight));
  for (int round = 0; round < 2; round++) {
    const auto weights = filter.weights ();
    double inside = 0;
    for (int y = 0; y < kGrid; y++)
      for (int x = 0; x < kGrid; x++) {
        // a cell from x - 0.5 to x + 0.5 away from the middle of the grid, which is between cells
        const double u = std::fabs (x + 0.5 - kGrid / 2.0), v = std::fabs (y + 0.5 - kGrid / 2.0);
        const bool is_outside = u - 0.5 >= kWidth / 2 || v - 0.5 >= kHeight / 2;
        for (int c = 0; c < kChannels; c++) {
          const float weight = weights[at (-x, -y) * kChannels + c];
          fail_unless (!is_outside || std::fabs (weight) < 1e-7, "cell %d, %d: %g", x, y, weight);
          inside += is_outside ? 0 : std::fabs (weight);
        }
      }
    fail_unless (inside > 0.1);
    filter.learn (spectra_of (noise (6)), 0.5);
    filter.renew ();
  }
}

// the filter finds what it has learned, wherever that has moved to
TEST (peak_moves_with_the_picture)
{
  const auto pictures = smooth_noise (7);
  CorrelationFilter filter;
  filter.start (spectra_of (pictures), FilterBox (9, 9));
  const auto first = filter.respond (spectra_of (pictures));
  fail_unless (best_of (first) == 0 && first[0] > 0);
  for (const auto &[dx, dy] : { std::pair (1, 0), { 0, -3 }, { 11, 7 }, { -16, 15 } }) {
    const auto there = filter.respond (spectra_of (moved (pictures, dx, dy)));
    fail_unless (best_of (there) == at (dx, dy), "shift %d, %d", dx, dy);
    fail_unless (std::fabs (there[at (dx, dy)] - first[0]) < 1e-4);
  }
}

// rounds of ADMM as filter.hpp has them, each channel and frequency by itself
TEST (same_as_in_double)
{
  constexpr double kWidth = 7, kHeight = 12.5;
  const auto first = smooth_noise (8), next = smooth_noise (18);
  CorrelationFilter filter;
  filter.start (spectra_of (first), FilterBox (kWidth, kHeight));
  filter.learn (spectra_of (next), 0.6);
  filter.renew ();

  Dense dense (first, kWidth, kHeight);
  dense.solve (first, 0, 0.1 * dense.energy, 4);
  dense.solve (next, 8 * dense.energy / 0.6, 10 * dense.energy, 2);
  const auto weights = filter.weights ();
  double most = 0;
  for (const double weight : dense.weights)
    most = std::max (most, std::fabs (weight));
  fail_unless (most > 0);
  for (std::size_t i = 0; i < weights.size (); i++)
    fail_unless (std::fabs (weights[i] - dense.weights[i]) < 1e-4 * most, "%d: %g, must be %g",
                 int (i), weights[i], dense.weights[i]);
}

TEST (misses_less_than_no_filter)
{
  const auto spectra = spectra_of (smooth_noise (8));
  CorrelationFilter filter;
  filter.start (spectra, FilterBox (8, 8));
  fail_unless (miss (filter.respond (spectra), 8, 8)
               < 0.9 * miss (std::vector<float> (kCells), 8, 8));
}

// the lower the learning rate, the nearer a filter stays to the last one
TEST (learns_by_the_rate)
{
  const auto first = spectra_of (smooth_noise (9)), next = spectra_of (smooth_noise (10));
  CorrelationFilter start;
  start.start (first, FilterBox (8, 8));  // whole cells: none is cut again each time
  const float before = start.respond (next)[0];
  double last_change = 0, last_peak = before;
  for (const double rate : { 1e-6, 0.1, 0.4, 1.0 }) {
    CorrelationFilter filter = start;
    filter.learn (next, rate);
    filter.renew ();
    const auto a = start.weights (), b = filter.weights ();
    double change = 0, all = 0;
    for (std::size_t i = 0; i < a.size (); i++) {
      change += std::pow (double (a[i]) - b[i], 2);
      all += std::pow (double (a[i]), 2);
    }
    const double peak = filter.respond (next)[0];
    if (rate < 1e-5)
      fail_unless (change < 1e-6 * all, "%g of %g", change, all);
    else
      fail_unless (change > last_change && peak > last_peak, "rate %g: change %g, peak %g", rate,
                   change, peak);
    last_change = change;
    last_peak = std::max (peak, last_peak);
  }
}

// shifted spectra equal those of the moved picture, and waves shift by any part of a cell
TEST (moves)
{
  const auto picture = smooth_noise (8);
  std::vector<float> moved (picture.size ());
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kGrid; x++)
      std::copy_n (&picture[at (x, y) * kChannels], kChannels,
                   &moved[at (x + 3, y - 2) * kChannels]);
  const auto expect_same = [] (const ComplexArray &got, const ComplexArray &wanted) {
    for (std::size_t i = 0; i < wanted.size (); i++)
      fail_unless (std::fabs (got.re[i] - wanted.re[i]) < 1e-3
                   && std::fabs (got.im[i] - wanted.im[i]) < 1e-3);
  };
  ComplexArray spectra = spectra_of (picture);
  shift_spectra (spectra, 3, -2);
  expect_same (spectra, spectra_of (moved));

  // waves of low and of the highest frequencies, drawn where they are then
  const auto waves = [] (double right, double down) {
    std::vector<float> drawn (kGrid * kGrid * kChannels);
    for (int y = 0; y < kGrid; y++)
      for (int x = 0; x < kGrid; x++)
        for (int c = 0; c < kChannels; c++) {
          const auto wave = [&] (int along, int across) {
            const double u = along * (x - right), v = across * (y - down);
            return std::cos (2 * std::numbers::pi * (u + v) / kGrid + (along < kGrid / 2 ? c : 0));
          };
          drawn[at (x, y) * kChannels + c] =
              float (wave (1, 2) + wave (5, -3) + wave (kGrid / 2, 0) + wave (0, 0));
        }
    return drawn;
  };
  spectra = spectra_of (waves (0, 0));
  shift_spectra (spectra, -0.3, 1.6);
  // of the highest wave only the part that cells can show is left
  expect_same (spectra, spectra_of (waves (-0.3, 1.6)));
}

// the same bits with each instruction set of this machine
TEST (instruction_sets)
{
  const auto first = smooth_noise (11), next = smooth_noise (12);
  std::vector<float> wanted;
  for (std::int64_t left = hwy::SupportedTargets () | HWY_SCALAR; left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    if ((target & HWY_TARGETS) == 0)
      continue;  // not compiled
    hwy::SetSupportedTargetsForTest (target);
    hwy::GetChosenTarget ().Update (hwy::SupportedTargets ());
    ComplexArray spectra = spectra_of (next);
    shift_spectra (spectra, 0.7, -1.2);
    CorrelationFilter filter;
    filter.start (spectra_of (first), FilterBox (9.3, 6));
    filter.learn (spectra, 0.4);
    filter.renew ();
    std::vector<float> got = filter.respond (spectra);
    const auto weights = filter.weights ();
    got.insert (got.end (), weights.begin (), weights.end ());
    if (wanted.empty ())
      wanted = got;
    fail_unless (got == wanted, "%s", hwy::TargetName (target));
  }
  hwy::SetSupportedTargetsForTest (0);
  hwy::GetChosenTarget ().Update (hwy::SupportedTargets ());
}
