// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How alike two histograms are, in double precision and as textbooks have it; as compareHist (q, p)
// where OpenCV has the measure (modules/imgproc, "Histograms").
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

using Weights = std::vector<double>;

/// Of histograms that sum to 1, or of an empty window's p, which is all zero. The measure is given
/// by its name.
inline double formula (std::string_view measure, const Weights &p, const Weights &q)
{
  const auto sum = [&] (auto &&term) {
    return std::transform_reduce (p.begin (), p.end (), q.begin (), 0.0, std::plus<> (), term);
  };
  const auto cumulative = [] (Weights weights) {
    std::partial_sum (weights.begin (), weights.end (), weights.begin ());
    return weights;
  };
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
