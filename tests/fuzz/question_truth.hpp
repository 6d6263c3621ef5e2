// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of answers against the pixels and the formulas, and of the best window.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "formulas.hpp"
#include "measures.hpp"
#include "pixel_sums.hpp"
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

inline Sums count (const Tensor &tensor, const Window &window)
{
  const Picture &picture = *tensor.picture;
  if (tensor.labels) {
    Sums counts = count_pixels (picture.pixels, picture.width, window, 256);
    counts.resize (tensor.planes);
    return counts;
  }
  return tensor.sums ? add_pixels (picture.pixels, picture.width, window, int (tensor.planes))
                     : count_pixels (picture.pixels, picture.width, window, int (tensor.planes));
}

inline guint64 pixels_in (const Tensor &tensor, const Window &window)
{
  return pixels_in (tensor.picture->pixels, tensor.picture->width, window);
}

/// Checks that a number is the answer, to single precision. Correlations of nearly constant
/// histograms have no digits left, and only have to be in their range.
inline void check_likelihood (const Tensor &tensor, const Window &window, const float *model,
                              Measure measure, float answer)
{
  const bool linear = measure == GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR;
  const Weights p = shares_of_pixels (count (tensor, window), pixels_in (tensor, window)),
                q = model_of (name_of (measure), std::span (model, tensor.planes));
  const double most = std::abs (
      *std::ranges::max_element (q, {}, [] (double weight) { return std::abs (weight); }));
  if (linear && most > 1e38)
    return;                                  // which single precision may have no sum of
  const bool normal = std::ranges::all_of (  // numbers that single precision has in full
      q, [] (double share) { return share == 0 || share > 1e-6; });
  REQUIRE (std::isfinite (answer), "measure %d answers %g", measure, double (answer));
  if (measure == GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION)
    return REQUIRE (std::abs (answer) <= 1.001f, "a correlation is %g", double (answer));
  if (!normal && measure == GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE)
    return REQUIRE (answer >= 0, "a sum of squares is %g", double (answer));
  const double truth = formula (name_of (measure), p, q);
  // the root of a small difference has half of its digits
  const double tolerance =
      measure == GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA ? 2e-3 : 2e-5 * double (p.size ());
  const double scale = linear ? most : std::max (1.0, std::abs (truth));
  REQUIRE (std::abs (truth - double (answer)) <= tolerance * scale + 1e-30,
           "measure %d answers %.9g instead of %.9g", measure, double (answer), truth);
}

/// Checks that `best` is the best of the answers to a grid, or to a list (null).
inline void check_best (const Best &best, const float *answers, gint64 n, const Grid *grid,
                        Measure measure)
{
  const int truth =
      best_of (name_of (measure), std::span (answers, gsize (n)), grid ? grid->columns : 0);
  REQUIRE (best.index == truth && best.value == answers[truth],
           "the best of %" G_GINT64_FORMAT " is number %d (%g) instead of %d (%g)", n, best.index,
           double (best.value), truth, double (answers[truth]));
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
