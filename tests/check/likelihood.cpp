// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Likelihood maps against histograms counted pixel by pixel and the measures' textbook formulas in double precision. Environment: devices.hpp.
#include <cmath>
#include <numeric>
#include <random>

#include "devices.hpp"

namespace {

using Weights = std::vector<double>;

/// Of histograms that sum to 1, or of an empty window's, which is all zero; as compareHist (q, p) where OpenCV has the measure (modules/imgproc, "Histograms").
double
formula (Measure measure, const Weights &p, const Weights &q)
{
  const int n = int (p.size ());
  double sum = 0, pq = 0, pp = 0, qq = 0, p_so_far = 0, q_so_far = 0, gap = 0;
  const double mean_p = std::accumulate (p.begin (), p.end (), 0.0) / n, mean_q = std::accumulate (q.begin (), q.end (), 0.0) / n;
  for (int b = 0; b < n; b++) {
    p_so_far += p[b];
    q_so_far += q[b];
    pq += (p[b] - mean_p) * (q[b] - mean_q);
    pp += (p[b] - mean_p) * (p[b] - mean_p);
    qq += (q[b] - mean_q) * (q[b] - mean_q);
    gap = std::max (gap, std::fabs (p_so_far - q_so_far));
    switch (measure) {
      case Measure::intersection: sum += std::min (p[b], q[b]); break;
      case Measure::bhattacharyya: sum += std::sqrt (p[b] * q[b]); break;
      case Measure::chi_square: sum += q[b] > 0 ? (q[b] - p[b]) * (q[b] - p[b]) / q[b] : 0; break;
      case Measure::chi_square_alt: sum += p[b] + q[b] > 0 ? 2 * (p[b] - q[b]) * (p[b] - q[b]) / (p[b] + q[b]) : 0; break;
      case Measure::l1: sum += std::fabs (p[b] - q[b]); break;
      case Measure::l2: sum += (p[b] - q[b]) * (p[b] - q[b]); break;
      case Measure::kullback_leibler: sum += q[b] > 0 ? q[b] * std::log (q[b] / std::max (p[b], 1e-10)) : 0; break;
      case Measure::emd: sum += std::fabs (p_so_far - q_so_far); break;
      default: break;
    }
  }
  switch (measure) {
    case Measure::bhattacharyya: return std::sqrt (std::max (0.0, 1 - sum));
    case Measure::l2: return std::sqrt (sum);
    case Measure::correlation: return pp * qq > 2.220446e-16 ? pq / std::sqrt (pp * qq) : 1;
    case Measure::kolmogorov_smirnov: return gap;
    default: return sum;
  }
}

/// Of a window's pixels inside the frame, shares of each bin.
Weights
histogram (const Bytes &image, const Shape &shape, const Region &window)
{
  Weights shares (shape.bins);
  double pixels = 0;
  for (int y = std::max (0, window.y); y < std::min (shape.height, window.y + window.height); y++)
    for (int x = std::max (0, window.x); x < std::min (shape.width, window.x + window.width); x++) {
      shares[image[std::size_t (y) * shape.width + x] * shape.bins / 256]++;
      pixels++;
    }
  for (double &share : shares)
    share = pixels > 0 ? share / pixels : 0;
  return shares;
}

/// Models to look for: a window of the picture, one with few bins, and an even one.
std::vector<std::vector<float>>
models (const Bytes &image, const Shape &shape, std::mt19937 &random)
{
  const Weights seen = histogram (image, shape, { shape.width / 4, shape.height / 4, shape.width / 3 + 1, shape.height / 3 + 1 });
  std::vector<float> few (shape.bins), even (shape.bins, 1.0f / float (shape.bins));
  few[random () % few.size ()] += 0.75f;
  few[random () % few.size ()] += 0.25f;
  return { { seen.begin (), seen.end () }, few, even };
}

Grid
grid_of (const Shape &shape, int which)
{
  const int w = shape.width, h = shape.height;
  switch (which) {
    case 0: return { w / 4 + 1, h / 3 + 1, 0, 0, 1 + w / 30, 1 + h / 8, std::min (w, 30), 5 };  // most inside
    case 1: return { w / 2 + 1, h / 2 + 1, -w, -h, w / 5 + 1, h / 2 + 1, 11, 5 };  // over each border, and nowhere near the frame
    case 2: return { w, h, 0, 0, 1, 1, 1, 1 };                                     // the frame
    default: return { 1, 1, w - 3, h - 2, 1, 1, 7, 4 };                            // pixels, and none
  }
}

void
check_map (const Case &c, const Bytes &image, const Grid &grid, const std::vector<float> &model, Measure measure,
           const std::vector<float> &map)
{
  const Weights q (model.begin (), model.end ());
  for (int j = 0; j < grid.rows; j++)
    for (int i = 0; i < grid.columns; i++) {
      const Region window = { grid.x + i * grid.step_x, grid.y + j * grid.step_y, grid.window_width, grid.window_height };
      const double wanted = formula (measure, histogram (image, c.shape, window), q), got = map[std::size_t (j) * grid.columns + i];
      fail_unless (std::fabs (got - wanted) <= 1e-5 * std::max (1.0, std::fabs (wanted)), "%s: %s of %d,%d %dx%d is %.8g, must be %.8g",
                   c.name ().c_str (), name_of (measure), window.x, window.y, window.width, window.height, got, wanted);
    }
}

constexpr struct {
  int width, height, bins;
  Pattern pattern;
} kFrames[] = {
  { 1, 1, 1, Pattern::zeros },    { 37, 23, 256, Pattern::noise }, { 133, 97, 17, Pattern::noise }, { 64, 48, 1, Pattern::noise },
  { 320, 240, 2, Pattern::full }, { 97, 61, 16, Pattern::across }, { 320, 240, 3, Pattern::down },
};

}  // namespace

GST_START_TEST (maps)
{
  std::mt19937 random (seed ());
  for (const auto &[width, height, bins, pattern] : kFrames)
    for (const Type counter : { Type::u32, Type::u16, Type::u16_anchored }) {
      const Case c = case_of ({ width, height, bins, counter }, pattern);
      const Bytes image = picture_of (c), tensor = right_tensor (Input (c));
      for (int g = 0; g < 4; g++)
        for (const auto &model : models (image, c.shape, random)) {
          const Grid grid = grid_of (c.shape, g);
          for (int m = 0; m < kMeasures; m++) {
            std::vector<float> map (std::size_t (grid.columns) * grid.rows, NAN);
            cpu::likelihood_map (c.shape, c.layout (), tensor.data (), grid, model, Measure (m), map.data ());
            check_map (c, image, grid, model, Measure (m), map);
          }
        }
    }
}
GST_END_TEST

static Suite *
likelihood_suite ()
{
  Suite *const suite = suite_create ("likelihood");
  TCase *const tcase = case_of_suite (suite, "likelihood");
  tcase_add_test (tcase, maps);
  return suite;
}

GST_CHECK_MAIN (likelihood)
