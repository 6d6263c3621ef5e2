// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The truth about a question: counts and sums of the pixels, the header's formulas in double
// precision, and which window is the best.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "question_bytes.hpp"

using Best = GstIntegralHistogramBest;
using Measure = GstIntegralHistogramMeasure;

/// A rectangle whose edges may lie anywhere.
struct Window {
  gint64 x, y, width, height;
};

inline Window window_of (const Rectangle &r)
{
  return { r.x, r.y, r.w, r.h };
}

inline Window window_of (const Grid &grid, gint64 i)
{
  return { grid.x + i % grid.columns * grid.step_x, grid.y + i / grid.columns * grid.step_y,
           grid.window_width, grid.window_height };
}

/// What the pixels of a window add up to in each plane.
inline std::vector<guint64> count (const Tensor &tensor, const Window &window)
{
  const Picture &picture = *tensor.picture;
  std::vector<guint64> sums (tensor.planes);
  const gint64 x1 = std::min<gint64> (window.x + window.width, picture.width),
               y1 = std::min<gint64> (window.y + window.height, picture.height);
  for (gint64 y = std::max<gint64> (window.y, 0); y < y1; y++)
    for (gint64 x = std::max<gint64> (window.x, 0); x < x1; x++) {
      const guint64 value = picture.pixels[gsize (y * picture.width + x)];
      if (!tensor.sums)
        sums[value * tensor.planes / 256]++;
      for (guint64 plane = 0, power = value; tensor.sums && plane < tensor.planes;
           plane++, power *= value)
        sums[plane] += power;
    }
  return sums;
}

/// The formulas of the header in double precision, of shares p and q; `empty` is a window without
/// pixels.
inline double compare (Measure measure, const std::vector<double> &p, const std::vector<double> &q,
                       bool empty)
{
  double sum = 0, gap = 0, pq = 0, pp = 0, qq = 0;
  const double mean_q = 1.0 / double (q.size ()), mean_p = empty ? 0 : mean_q;
  for (gsize b = 0; b < p.size (); b++) {
    const double d = p[b] - q[b], x = p[b] - mean_p, y = q[b] - mean_q;
    gap += d;
    pq += x * y;
    pp += x * x;
    qq += y * y;
    switch (measure) {
      case GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION: sum += std::min (p[b], q[b]); break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA: sum += std::sqrt (p[b] * q[b]); break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE: sum += q[b] > 0 ? d * d / q[b] : 0; break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE_ALT:
        sum += p[b] + q[b] > 0 ? 2 * d * d / (p[b] + q[b]) : 0;
        break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_L1: sum += std::abs (d); break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_L2: sum += d * d; break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION: break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_KULLBACK_LEIBLER:
        sum += q[b] > 0 ? q[b] * std::log (q[b] / std::max (p[b], 1e-10)) : 0;
        break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_EMD: sum += std::abs (gap); break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_KOLMOGOROV_SMIRNOV:
        sum = std::max (sum, std::abs (gap));
        break;
    }
  }
  switch (measure) {
    case GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA:
      return empty ? 1 : std::sqrt (std::max (1 - sum, 0.0));
    case GST_INTEGRAL_HISTOGRAM_MEASURE_L2: return std::sqrt (sum);
    case GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION:
      return pp * qq > 1e-12 ? pq / std::sqrt (pp * qq) : 1;
    default: return sum;
  }
}

/// Whether a number is the answer, as far as single precision has it. Correlations of nearly
/// constant histograms have no digits left, and are only in their range.
inline void check_likelihood (const Tensor &tensor, const Window &window, const float *model,
                              Measure measure, float answer)
{
  const auto counts = count (tensor, window);
  double pixels = 0, sum = 0;
  for (gsize b = 0; b < counts.size (); b++) {
    pixels += double (counts[b]);
    sum += double (model[b]);
  }
  std::vector<double> p, q;
  bool normal = true;  // numbers that single precision has in full
  for (gsize b = 0; b < counts.size (); b++) {
    p.push_back (pixels > 0 ? double (counts[b]) / pixels : 0);
    q.push_back (double (model[b]) / sum);
    normal &= q[b] == 0 || q[b] > 1e-6;
  }
  REQUIRE (std::isfinite (answer), "measure %d answers %g", measure, double (answer));
  if (measure == GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION)
    return REQUIRE (std::abs (answer) <= 1.001f, "a correlation is %g", double (answer));
  if (!normal && measure == GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE)
    return REQUIRE (answer >= 0, "a sum of squares is %g", double (answer));
  const double truth = compare (measure, p, q, pixels == 0);
  // the root of a small difference has half of its digits
  const double tolerance = measure == GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA
                               ? 2e-3
                               : 2e-5 * double (counts.size ());
  REQUIRE (std::abs (truth - double (answer)) <= tolerance * std::max (1.0, std::abs (truth)),
           "measure %d answers %.9g instead of %.9g", measure, double (answer), truth);
}

inline bool is_better (Measure measure, float a, float b)
{
  const bool more_is_better = measure == GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION
                              || measure == GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION;
  return more_is_better ? a > b : a < b;
}

/// Whether `best` is the best of the answers: in a list the first of equals, on a grid the one
/// nearest to the middle.
inline void check_best (const Best &best, const float *answers, gint64 n, const Grid *grid,
                        Measure measure)
{
  REQUIRE (best.index >= 0 && best.index < n, "the best of %" G_GINT64_FORMAT " is number %d", n,
           best.index);
  REQUIRE (best.value == answers[best.index], "the best has %g, and its window %g",
           double (best.value), double (answers[best.index]));
  const auto distance = [grid] (gint64 i) -> double {
    if (!grid)
      return 0;
    const double dx = 2.0 * double (i % grid->columns) - (grid->columns - 1),
                 dy = 2.0 * double (i / grid->columns) - (grid->rows - 1);
    return dx * dx + dy * dy;
  };
  for (gint64 i = 0; i < n; i++) {
    REQUIRE (!is_better (measure, answers[i], best.value),
             "number %" G_GINT64_FORMAT " is better than the best", i);
    if (answers[i] == best.value && i < best.index)
      REQUIRE (distance (i) >= distance (best.index) && (grid || i == best.index),
               "number %" G_GINT64_FORMAT " is as good, and comes first", i);
  }
}

template <class Answer>
void check_sums (const Tensor &tensor, const Window &window, const Answer *answers)
{
  const auto truth = count (tensor, window);
  for (gsize p = 0; p < truth.size (); p++)
    REQUIRE (guint64 (answers[p]) == truth[p],
             "plane %zu of %" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
             ",%" G_GINT64_FORMAT " is %" G_GUINT64_FORMAT " instead of %" G_GUINT64_FORMAT,
             p, window.x, window.y, window.width, window.height, guint64 (answers[p]), truth[p]);
}

inline bool fits_32_bits (const Tensor &tensor, const std::vector<Rectangle> &rectangles)
{
  return std::ranges::all_of (rectangles, [&] (const Rectangle &r) {
    return std::ranges::all_of (count (tensor, window_of (r)),
                                [] (guint64 sum) { return sum <= G_MAXUINT32; });
  });
}
