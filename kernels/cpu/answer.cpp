// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Answers queries of a tensor on all CPU cores. Counts, sums and quantiles are computed window by
// window. For likelihoods and votes, windows are divided into batches, which compare-inl.hpp
// compares with the models. A likelihood is the vote of one patch that covers the whole window.
// Each batch finds its own best window.
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include <tbb/task_arena.h>

#include "compare.hpp"
#include "parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/compare-inl.hpp"
#include <hwy/foreach_target.h>

#include "compare-inl.hpp"

namespace inthist {
namespace cpu {
namespace {

HWY_EXPORT (compare);

constexpr int kRun = 64;            // windows (or totals) that a CPU task computes one by one
constexpr int kMaxVotes = 1 << 16;  // most votes (windows x patches) of a batch of > kRun windows

/// Calls body (first, n) for runs of n consecutive windows, at most kRun, in parallel.
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
    Region windows[kRun];
    for (int i = 0; i < n; i++)
      windows[i] = window_of (query.windows, first + i, shape);
    for (int b = 0; b < shape.bins; b++)  // neighbouring windows share the cache lines of a bin
      for (int i = 0; i < n; i++)
        sums[std::size_t (first + i) * shape.bins + b] =
            sum_region<Sum> (plane (b), windows[i], exact_pixels (shape, b));
  });
}

template <class PlaneAccessor>
int totals (const Shape &shape, const PlaneAccessor &plane, const Query &query)
{
  auto *const answers = static_cast<std::uint64_t *> (query.answers);
  const std::size_t n = query.n_totals ();
  return for_each (int (divide_up (n, std::size_t (kRun))), 1, nullptr, [&] (int run) {
    for (std::size_t i = std::size_t (run) * kRun; i < std::min (n, (std::size_t (run) + 1) * kRun);
         i++)
      answers[i] = total_in (shape, plane, region_of_total (query, i, shape));
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

/// Divides a query's windows into batches, at least two for each thread. If possible, the rows of a
/// likelihood map are ordered such that each window begins where the window in the row before it
/// ends, because both windows then read the same elements there.
class Batches {
public:
  explicit Batches (const Query &query)
      : rows_ (query.windows.list ? 1 : query.windows.grid.rows),
        columns_ (query.windows.list ? query.windows.n : query.windows.grid.columns)
  {
    const Grid &grid = query.windows.grid;
    const int most = std::clamp (kMaxVotes / query.n_models (), kRun, WindowBatch::kWindows),
              most_columns = query.windows.list ? kRun : std::min (most, WindowBatch::kColumns);
    column_batches_ = divide_up (columns_, most_columns);
    columns_per_batch_ = divide_up (columns_, column_batches_);
    const int wanted = 2 * tbb::this_task_arena::max_concurrency (),
              enough = int (divide_up (std::int64_t (rows_) * column_batches_, wanted));
    rows_per_batch_ = std::clamp (std::min (most / round_up (columns_per_batch_, 16), enough), 1,
                                  WindowBatch::kRows);
    if (query.kind == QueryKind::likelihoods && !query.windows.list
        && grid.window_height % grid.step_y == 0)
      apart_ = std::min (rows_, grid.window_height / grid.step_y);
  }

  int size () const { return divide_up (rows_, rows_per_batch_) * column_batches_; }

  WindowBatch operator[] (int i) const
  {
    WindowBatch batch;
    const int first = i / column_batches_ * rows_per_batch_;
    batch.n_rows = std::min (rows_per_batch_, rows_ - first);
    for (int r = 0; r < batch.n_rows; r++)
      batch.rows[r] = row_at (first + r);
    batch.first_column = i % column_batches_ * columns_per_batch_;
    batch.columns = std::min (columns_per_batch_, columns_ - batch.first_column);
    return batch;
  }

private:
  /// Returns the grid row at place i of the order 0, apart_, 2 apart_, ..., 1, 1 + apart_, ..., in
  /// which a window begins where the window in the row before it ends.
  int row_at (int i) const
  {
    const int chain = rows_ / apart_, longer = rows_ % apart_, in_longer = longer * (chain + 1);
    if (i < in_longer)
      return i % (chain + 1) * apart_ + i / (chain + 1);
    i -= in_longer;
    return i % chain * apart_ + i / chain + longer;
  }

  int rows_, columns_, rows_per_batch_, columns_per_batch_, column_batches_, apart_ = 1;
};

/// Sets the answer of each of n windows to the vote that has the query's rank. The votes for a
/// window, one for each patch, are `pitch` numbers apart.
void rank_votes (const Query &query, const float *votes, std::size_t pitch, int n, float *answers)
{
  std::vector<float> ballot (query.n_models ());
  for (int i = 0; i < n; i++) {
    for (int m = 0; m < query.n_models (); m++)
      ballot[m] = votes[m * pitch + i];
    const auto nth = ballot.begin () + query.rank;
    if (is_similarity (query.measure))
      std::nth_element (ballot.begin (), nth, ballot.end (), std::greater<> ());
    else
      std::nth_element (ballot.begin (), nth, ballot.end ());
    answers[i] = *nth;
  }
}

/// Returns the best of `best` and the n windows from number `first` on. In most rows no window is
/// better than `best`, so a plain loop looks for one first.
RankedWindow better (const Query &query, RankedWindow best, std::size_t first, const float *values,
                     int n)
{
  const float sign = is_similarity (query.measure) ? -1 : 1;
  int any = 0;
  for (int i = 0; i < n; i++)
    any |= sign * values[i] <= best.cost;
  for (int i = 0; any && i < n; i++)
    if (sign * values[i] <= best.cost)
      best = std::min (best, ranked (query, int (first) + i, values[i]));
  return best;
}

int compare_all (const TensorView &tensor, const Query &query)
{
  const Batches batches (query);
  const auto compare = HWY_DYNAMIC_DISPATCH (compare);
  const bool complete = !query.has_bins_after (tensor.shape), finds_best = complete && query.best;
  auto *const answers = static_cast<float *> (query.answers);
  std::vector<RankedWindow> bests (finds_best ? batches.size () : 0);
  const int error = for_each (batches.size (), 1, nullptr, [&] (int b) {
    const WindowBatch batch = batches[b];
    const int n = batch.n_rows * batch.stride ();
    const auto values =
        std::make_unique_for_overwrite<float[]> (std::size_t (n) * query.n_models ());
    compare (tensor, query, batch, values.get ());
    for (int r = 0; complete && r < batch.n_rows; r++) {
      const float *const row = values.get () + r * batch.stride ();
      const std::size_t first = batch.index (query.windows, r);
      if (query.kind == QueryKind::votes)
        rank_votes (query, row, n, batch.columns, answers + first);
      else
        std::copy_n (row, batch.columns, answers + first);
      if (finds_best) {
        if (r == 0)
          bests[b] = ranked (query, int (first), answers[first]);
        bests[b] = better (query, bests[b], first, answers + first, batch.columns);
      }
    }
  });
  if (error == 0 && finds_best) {
    const int index = std::ranges::min_element (bests, std::less<> ())->index;
    *query.best = { answers[index], index };
  }
  return error;
}

}  // namespace

int answer (TensorView tensor, const Query &query)
{
  if (query.n_models () > 0)
    return guarded ([&] { return compare_all (tensor, query); });
  const Shape &shape = tensor.shape;
  return tensor.with_planes ([&] (const auto &plane) {
    switch (query.kind) {
      case QueryKind::counts: return count<std::uint32_t> (shape, plane, query);
      case QueryKind::sums: return count<std::uint64_t> (shape, plane, query);
      case QueryKind::totals: return totals (shape, plane, query);
      case QueryKind::quantiles: return quantiles (shape, plane, query);
      case QueryKind::likelihoods:
      case QueryKind::votes: break;  // these have models
    }
    return 0;
  });
}

}  // namespace cpu
}  // namespace inthist
