// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The truth about likelihoods: the likeness of two histograms, in double precision and by the
// textbooks; the same as compareHist (q, p) if OpenCV has the measure (modules/imgproc,
// "Histograms").
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

using Weights = std::vector<double>;

/// Divides numbers by their sum; a sum of zero leaves zeros.
inline Weights shares (const auto &numbers)
{
  Weights weights (numbers.begin (), numbers.end ());
  const double sum = std::accumulate (weights.begin (), weights.end (), 0.0);
  for (double &weight : weights)
    weight = sum > 0 ? weight / sum : 0;
  return weights;
}

/// Returns a model in the form that the measure takes: histograms sum to 1, weights stay as they
/// are.
inline Weights model_of (std::string_view measure, const auto &numbers)
{
  return measure == "linear" ? Weights (numbers.begin (), numbers.end ()) : shares (numbers);
}

/// Returns a model to try the measure with: for linear, any model becomes weights from -1 to 1.
template <class Number>
std::vector<Number> tried_with (std::string_view measure, std::vector<Number> model)
{
  const Number most = *std::max_element (model.begin (), model.end ());
  for (std::size_t b = 0; measure == "linear" && b < model.size (); b++)
    model[b] *= Number (b % 2 ? -1 : 1) / most;
  return model;
}

/// Divides counts by the window's pixels, of which some may be in no bin; without any leaves zeros.
inline Weights shares_of_pixels (const auto &counts, std::uint64_t pixels)
{
  Weights weights (counts.begin (), counts.end ());
  for (double &weight : weights)
    weight = pixels > 0 ? weight / double (pixels) : 0;
  return weights;
}

/// Compares histograms by the named measure. q sums to 1, but is weights for linear. p sums to 1,
/// to less if some of the window's pixels are in no bin, and to 0 if all are.
inline double formula (std::string_view measure, const Weights &p, const Weights &q)
{
  const auto sum = [&] (auto &&term) {
    return std::transform_reduce (p.begin (), p.end (), q.begin (), 0.0, std::plus<> (), term);
  };
  const auto cumulative = [] (Weights weights) {
    std::partial_sum (weights.begin (), weights.end (), weights.begin ());
    return weights;
  };
  if (measure == "linear")
    return std::inner_product (p.begin (), p.end (), q.begin (), 0.0);
  if (measure == "intersection")
    return sum ([] (double a, double b) { return std::min (a, b); });
  if (measure == "bhattacharyya")
    return std::sqrt (
        std::max (0.0, 1 - sum ([] (double a, double b) { return std::sqrt (a * b); })));
  if (measure == "chi-square")
    return sum ([] (double a, double b) { return b > 0 ? (b - a) * (b - a) / b : 0; });
  if (measure == "chi-square-alt")
    return sum (
        [] (double a, double b) { return a + b > 0 ? 2 * (a - b) * (a - b) / (a + b) : 0; });
  if (measure == "l1")
    return sum ([] (double a, double b) { return std::fabs (a - b); });
  if (measure == "l2")
    return std::sqrt (sum ([] (double a, double b) { return (a - b) * (a - b); }));
  if (measure == "correlation") {
    const double mean_p = std::accumulate (p.begin (), p.end (), 0.0) / double (p.size ());
    const double mean_q = std::accumulate (q.begin (), q.end (), 0.0) / double (q.size ());
    const double pp = sum ([&] (double a, double) { return (a - mean_p) * (a - mean_p); });
    const double qq = sum ([&] (double, double b) { return (b - mean_q) * (b - mean_q); });
    return pp * qq > 2.220446e-16
               ? sum ([&] (double a, double b) { return (a - mean_p) * (b - mean_q); })
                     / std::sqrt (pp * qq)
               : 1;
  }
  if (measure == "kullback-leibler")
    return sum (
        [] (double a, double b) { return b > 0 ? b * std::log (b / std::max (a, 1e-10)) : 0; });
  if (measure == "emd")
    return formula ("l1", cumulative (p), cumulative (q));
  if (measure == "kolmogorov-smirnov") {
    const Weights P = cumulative (p), Q = cumulative (q);
    return std::transform_reduce (
        P.begin (), P.end (), Q.begin (), 0.0, [] (double a, double b) { return std::max (a, b); },
        [] (double a, double b) { return std::fabs (a - b); });
  }
  std::abort ();
}

/// Tells whether more is more alike.
inline bool is_similarity (std::string_view measure)
{
  return measure == "intersection" || measure == "correlation" || measure == "linear";
}

/// Finds the best answer: of equals the first, on a grid of so many columns the one nearest to the
/// middle, and of these the first.
inline int best_of (std::string_view measure, std::span<const float> answers, int columns = 0)
{
  const bool more = is_similarity (measure);
  const std::int64_t rows = columns ? std::int64_t (answers.size ()) / columns : 0;
  const auto distance = [&] (std::int64_t i) -> double {  // squared, of twice the grid
    return columns ? std::pow (2 * (i % columns) - (columns - 1), 2)
                         + std::pow (2 * (i / columns) - (rows - 1), 2)
                   : 0;
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < answers.size (); i++) {
    const bool better = more ? answers[i] > answers[best] : answers[i] < answers[best];
    if (better
        || (answers[i] == answers[best]
            && distance (std::int64_t (i)) < distance (std::int64_t (best))))
      best = i;
  }
  return int (best);
}
