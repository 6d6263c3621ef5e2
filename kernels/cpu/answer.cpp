// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Answers queries on all cores. Counts, sums and quantiles take one window after another.
// Likelihoods and votes take a run of windows at a time, bin after bin: a plane's rows are read
// from end to end, and the compiler has the same work for many windows side by side.
#include <algorithm>
#include <functional>
#include <vector>

#include "../window.hpp"
#include "parallel.hpp"

namespace inthist {

namespace cpu {
namespace {

constexpr int kRun = 64;  // windows whose sums stay in the cache

/// Calls `body (first, n)` for runs of at most kRun windows, in parallel.
template <class Body>
int in_runs (int windows, Body &&body)
{
  const int runs = divide_up (windows, kRun);
  return for_each (runs, 1, nullptr,
                   [&] (int run) { body (run * kRun, std::min (kRun, windows - run * kRun)); });
}

template <class Sum, class PlaneAccessor>
int count (const Shape &shape, const PlaneAccessor &plane, const Query &query)
{
  auto *const sums = static_cast<Sum *> (query.answers);
  return in_runs (query.windows.size (), [&] (int first, int n) {
    for (int i = first; i < first + n; i++) {
      const Region window = window_of (query.windows, i, shape);
      for (int b = 0; b < shape.bins; b++)
        sums[std::size_t (i) * shape.bins + b] =
            sum_region<Sum> (plane (b), window, exact_pixels (shape, b));
    }
  });
}

/// Compares n windows, sums `first` and on, with the model; writes complete sums to `values`.
template <Measure kMeasure, class PlaneAccessor>
void compare (const Shape &shape, const PlaneAccessor &plane, const Query &query, std::size_t first,
              const Region *windows, int n, const float *model, float *values)
{
  std::vector<MeasureSum<kMeasure>> sums;
  float weight[kRun];
  sums.reserve (kRun);
  for (int i = 0; i < n; i++) {
    weight[i] = weight_of (windows[i].width, windows[i].height);
    resume (query, first + i, sums.emplace_back (query.bins_of (shape), weight[i] == 0));
  }
  for (int b = 0; b < shape.bins; b++) {
    const auto at = plane (b);
    const float q = MeasureSum<kMeasure>::prepared (model[b]);
    for (int i = 0; i < n; i++)
      sums[i].add (
          weight[i] * float (sum_region<std::uint32_t> (at, windows[i], exact_pixels (shape, b))),
          q);
  }
  for (int i = 0; i < n; i++)
    finish (shape, query, first + i, sums[i], [&] (float value) { values[i] = value; });
}

template <class PlaneAccessor>
using Compare = decltype (&compare<Measure::l1, PlaneAccessor>);

template <class PlaneAccessor>
Compare<PlaneAccessor> compare_of (const Query &query)
{
  return with_measure (query.measure, [] (auto measure) -> Compare<PlaneAccessor> {
    return compare<measure.value, PlaneAccessor>;
  });
}

template <class PlaneAccessor>
int likelihoods (const Shape &shape, const PlaneAccessor &plane, const Query &query)
{
  const auto compare = compare_of<PlaneAccessor> (query);
  return in_runs (query.windows.size (), [&] (int first, int n) {
    Region windows[kRun];
    float values[kRun];
    for (int i = 0; i < n; i++)
      windows[i] = window_of (query.windows, first + i, shape);
    compare (shape, plane, query, first, windows, n, query.models, values);
    if (!query.has_bins_after (shape))
      std::copy_n (values, n, static_cast<float *> (query.answers) + first);
  });
}

template <class PlaneAccessor>
int votes (const Shape &shape, const PlaneAccessor &plane, const Query &query)
{
  const auto compare = compare_of<PlaneAccessor> (query);
  const std::size_t n_windows = query.windows.size ();
  return in_runs (query.windows.size (), [&] (int first, int n) {
    Region windows[kRun];
    std::vector<float> votes (std::size_t (query.n_patches) * kRun), ballot (query.n_patches);
    for (int p = 0; p < query.n_patches; p++) {
      for (int i = 0; i < n; i++)
        windows[i] = patch_at (corner_of (query.windows, first + i), query.patches[p], shape);
      compare (shape, plane, query, p * n_windows + first, windows, n,
               query.models + std::size_t (p) * shape.bins, votes.data () + std::size_t (p) * kRun);
    }
    if (query.has_bins_after (shape))
      return;
    for (int i = 0; i < n; i++) {
      for (int p = 0; p < query.n_patches; p++)
        ballot[p] = votes[std::size_t (p) * kRun + i];
      const auto nth = ballot.begin () + query.rank;
      if (is_similarity (query.measure))
        std::nth_element (ballot.begin (), nth, ballot.end (), std::greater<> ());
      else
        std::nth_element (ballot.begin (), nth, ballot.end ());
      static_cast<float *> (query.answers)[first + i] = *nth;
    }
  });
}

template <class PlaneAccessor>
int quantiles (const Shape &shape, const PlaneAccessor &plane, const Query &query)
{
  return in_runs (query.windows.size (), [&] (int first, int n) {
    for (int i = first; i < first + n; i++)
      quantile (shape, plane, query, i);
  });
}

Best best_of (const Query &query)
{
  const auto *const values = static_cast<const float *> (query.answers);
  RankedWindow best = ranked (query, 0, values[0]);
  for (int i = 1; i < query.windows.size (); i++)
    best = std::min (best, ranked (query, i, values[i]));
  return { values[best.index], best.index };
}

}  // namespace

int answer (TensorView tensor, const Query &query)
{
  const Shape &shape = tensor.shape;
  const int error = tensor.with_planes ([&] (const auto &plane) {
    switch (query.question) {
      case Question::counts: return count<std::uint32_t> (shape, plane, query);
      case Question::sums: return count<std::uint64_t> (shape, plane, query);
      case Question::quantiles: return quantiles (shape, plane, query);
      case Question::likelihoods: return likelihoods (shape, plane, query);
      case Question::votes: break;
    }
    return votes (shape, plane, query);
  });
  if (error == 0 && query.best && !query.has_bins_after (shape))
    *query.best = best_of (query);
  return error;
}

}  // namespace cpu
}  // namespace inthist
