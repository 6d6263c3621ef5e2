// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches for targets on a GPU (device_model.hpp). search () finds the best place of a target in a
// square, by the responses of the filter and the colours (match.hpp). search_frame () finds the
// places in the whole frame that have a target's colours. On the CPU these are cpu/filter.cpp, and
// the tracker's host_model.cpp and colour.cpp.
#include <cmath>

#include "filter_block.cuh"

namespace inthist::correlation::cuda {
namespace {

/// Computes the filter's response to a square of cells with the spectra x, in shared memory.
__device__ void respond (const ModelMemory &model, const ComplexPointers &x, const Workspace &work,
                         float *response)
{
  const ComplexPointers w = spectrum (model.weights), sums = work.pairs;  // few of these are used
  for_warps<8> (
      kFrequencies,
      [&] (int f) {
        const int i = f * kChannels + lane ();
        return w.at (i) * x.at (i);
      },
      [&] (int f, Complex product) {
        const Frequency at = Frequency::of (f);
        const Complex sum = { sum_of (product.re), sum_of (product.im) };
        if (lane () == 0 && at.counts) {
          if (!at.only)
            sums.set (at.m, { sum.re, -sum.im });
          sums.set (at.k, sum);
        }
      });
  __syncthreads ();
  // with real and imaginary parts swapped, a forward transform computes the inverse
  const ComplexPointers swapped = { sums.im, sums.re };
  transform_lines<1> (swapped, false, work.tables);
  transform_lines<1> (swapped, true, work.tables);
  for (int i = threadIdx.x; i < kFilterCells; i += kThreads)
    response[i] = sums.re[i] / kFilterCells;
  __syncthreads ();
}

constexpr int kMaxNearEdges = 256;

/// Computes prefix sums of n numbers that `load` returns: `store` gets the sum of items 0 to i.
template <class Load, class Store>
__device__ void add_up (int n, Load &&load, Store &&store)
{
  double sum = 0;
  for_all<8> (0, 1, n, load, [&] (int i, double number) { store (i, sum = number + sum); });
}

/// Copies the edges of cells to shared memory. Returns the copy, or `edges` if they are too many.
__device__ const int *near_edges (const int *edges, int n, int (&room)[kMaxNearEdges])
{
  if (n > kMaxNearEdges)
    return edges;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    room[i] = edges[i];
  return room;
}

/// Computes the integral image of the scores of cells, and writes it to `at_edges`.
__device__ ScoreSums add_up_scores (const CellsOnDevice &cells, double *at_edges)
{
  __shared__ int columns[kMaxNearEdges], rows[kMaxNearEdges];
  const int n_x = cells.columns + 1, n_y = cells.rows + 1;
  const int *const edges_x = near_edges (cells.x, n_x, columns), *const edges_y = near_edges (
                                                                     cells.y, n_y, rows);
  for (int x = threadIdx.x; x < n_x; x += blockDim.x)
    at_edges[x] = 0;
  for (int y = 1 + int (threadIdx.x); y < n_y; y += blockDim.x) {
    const std::int64_t *const from = cells.sums + (y - 1) * cells.columns;
    double *const to = at_edges + y * n_x;
    to[0] = 0;
    add_up (
        cells.columns, [&] (int x) { return double (from[x]) / kCellUnit; },
        [&] (int x, double sum) { to[x + 1] = sum; });
  }
  __syncthreads ();
  for (int x = 1 + int (threadIdx.x); x < n_x; x += blockDim.x)
    add_up (
        cells.rows, [&] (int y) { return at_edges[(y + 1) * n_x + x]; },
        [&] (int y, double sum) { at_edges[(y + 1) * n_x + x] = sum; });
  __syncthreads ();
  return { edges_x, edges_y, kCellParts, n_x, n_y, at_edges };
}

struct Ranked {
  double value;
  int at;

  /// Returns whether a value ranks before another one: it is larger, or equal and earlier in the
  /// list.
  __device__ bool is_before (const Ranked &other) const
  {
    return value > other.value || (value == other.value && at < other.at);
  }
};

/// Returns to all threads the largest of n values with its index; of equal ones the first. Counts
/// only values for which `counts (index)` is true; without any, the index is n.
template <class Value, class Counts>
__device__ Ranked largest_of (int n, Value &&value, Counts &&counts)
{
  __shared__ Ranked of_warps[32];
  Ranked best = { -INFINITY, n };
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (counts (i))
      if (const Ranked other = { value (i), i }; other.is_before (best))
        best = other;
  for (int half = 16; half > 0; half /= 2) {
    const Ranked other = { __shfl_down_sync (kAllLanes, best.value, half),
                           __shfl_down_sync (kAllLanes, best.at, half) };
    if (other.is_before (best))
      best = other;
  }
  __syncthreads ();
  if (lane () == 0)
    of_warps[warp ()] = best;
  __syncthreads ();
  best = of_warps[0];
  for (int w = 1; w < int (blockDim.x) / 32; w++)
    if (of_warps[w].is_before (best))
      best = of_warps[w];
  return best;
}

/// Computes, for each shift, the weighted sum of the filter's and the colours' response. `columns`
/// and `rows` have room for the places of the box's edges at each shift.
__device__ void combine_responses (const SearchJob &job, const ScoreSums &scores,
                                   const float *response, EdgeRange *columns, EdgeRange *rows,
                                   double *combined)
{
  if (const int i = int (threadIdx.x); i < 2 * kSearchedShifts) {
    const int shift = i % kSearchedShifts - kSearchRadius;
    if (i < kSearchedShifts)
      columns[i] = scores.columns_of (job.x + shift * job.cell, job.width);
    else
      rows[i - kSearchedShifts] = scores.rows_of (job.y + shift * job.cell, job.height);
  }
  __syncthreads ();
  for (int i = threadIdx.x; i < kFilterCells; i += kThreads) {
    double value = 0;
    if (is_searched (i)) {
      const double score =
          scores.mean (columns[shift_of (i % kGrid) + kSearchRadius],
                       rows[shift_of (i / kGrid) + kSearchRadius], job.width, job.height);
      value = job.weights.of (i) * combined_response (response[i], job.per_peak, score);
    }
    combined[i] = value;
  }
  __syncthreads ();
}

/// Returns the sidelobes of a response to a warp, whose lanes share the rows.
__device__ Sidelobes sidelobes_of (const float *response, int row, int column)
{
  const Sidelobes of_row = Sidelobes::of_row (response, lane (), row, column);
  Sidelobes all = {};
  for (int y = 0; y < kGrid; y++)
    all.add ({ __shfl_sync (kAllLanes, of_row.sum, y), __shfl_sync (kAllLanes, of_row.squares, y),
               __shfl_sync (kAllLanes, of_row.n, y) });
  return all;
}

/// Finds the shift with the highest weighted sum of the filter's and the colours' response.
__device__ void find_match (const SearchJob &job, const ScoreSums &scores, const float *response)
{
  __shared__ double combined[kFilterCells];
  __shared__ EdgeRange columns[kSearchedShifts], rows[kSearchedShifts];
  combine_responses (job, scores, response, columns, rows, combined);
  const Ranked best = largest_of (
      kFilterCells, [&] (int i) { return combined[i]; }, [] (int) { return true; });
  const int at = best.at % kFilterCells, row = at / kGrid, column = at % kGrid;
  Match &match = *job.match;
  if (threadIdx.x == 0) {
    // If a detector runs, the filter has recently learned the exact place. Then only the filter's
    // response refines the shift within a cell: uneven colours would pull the box aside.
    const CellShift shift =
        job.has_motion ? peak_near (
            row, column,
            [&] (int i) { return is_searched (i) ? job.weights.of (i) * response[i] : 0.0; })
                       : peak_near (row, column, [&] (int i) { return combined[i]; });
    match.x = job.x + job.cell * shift.right;
    match.y = job.y + job.cell * shift.down;
    match.peak = response[at];
    match.score = scores.mean (match.x, match.y, job.width, job.height);
  } else if (warp () == 1) {
    const Sidelobes all = sidelobes_of (response, row, column);
    if (lane () == 0)
      match.sharpness = all.sharpness (response[at]);
  }
  __syncthreads ();
}

__global__ void __launch_bounds__ (kThreads, 1)
search_squares (const SearchJob *jobs, int n, const ModelTables *tables, BlockScratch *scratch)
{
  __shared__ float response[kFilterCells];
  const Workspace work (scratch, *tables);
  for (int i = int (blockIdx.x); i < n; i += int (gridDim.x)) {
    const SearchJob &job = jobs[i];
    const ComplexPointers spectra = spectrum (work.scratch.g);
    describe_spectra (job.square, work, spectra);
    respond (*job.model, spectra, work, response);
    find_match (job, add_up_scores (*job.scores, job.score_sums), response);
  }
}

constexpr int kFrameSearchThreads = 1024;

/// Finds the boxes in the frame that have a target's colours. Each block works on one target.
__global__ void __launch_bounds__ (kFrameSearchThreads)
search_frame_kernel (const FrameSearchJob *jobs)
{
  const FrameSearchJob &job = jobs[blockIdx.x];
  const ScoreSums scores = add_up_scores (*job.scores, job.score_sums);
  // one thread for each axis computes the boxes' middles step after step, to round as the CPU does
  if (threadIdx.x % 32 == 0 && threadIdx.x < 64) {
    const bool along_x = threadIdx.x == 0;
    double at = along_x ? job.first_x : job.first_y, *const to = along_x ? job.x : job.y;
    for (int i = 0; i < (along_x ? job.n_x : job.n_y); i++, at += along_x ? job.step_x : job.step_y)
      to[i] = at;
  }
  __syncthreads ();
  for (int i = threadIdx.x; i < job.n_x; i += kFrameSearchThreads)
    job.columns[i] = scores.columns_of (job.x[i], job.width);
  for (int i = threadIdx.x; i < job.n_y; i += kFrameSearchThreads)
    job.rows[i] = scores.rows_of (job.y[i], job.height);
  __syncthreads ();
  const int n = job.n_x * job.n_y;
  for (int i = threadIdx.x; i < n; i += kFrameSearchThreads)
    job.means[i] =
        scores.mean (job.columns[i % job.n_x], job.rows[i / job.n_x], job.width, job.height);
  __syncthreads ();
  Centre chosen[kMaxCandidates];
  int n_chosen = 0;
  for (int s = 0; s < int (kMaxCandidates); s++) {
    const auto counts = [&] (int i) {
      for (int c = 0; c < n_chosen; c++)
        if (fabs (chosen[c].x - job.x[i % job.n_x]) < job.min_distance
            && fabs (chosen[c].y - job.y[i / job.n_x]) < job.min_distance)
          return false;
      return true;
    };
    const Ranked best = largest_of (
        n, [&] (int i) { return job.means[i]; }, counts);
    if (best.at < n)
      chosen[n_chosen++] = { job.x[best.at % job.n_x], job.y[best.at / job.n_x] };
    if (threadIdx.x == 0)
      job.candidates[s] = best.at < n ? chosen[n_chosen - 1] : Centre{ NAN, NAN };
  }
}

}  // namespace

int search (const SearchJob *jobs, int n, const ModelTables *tables, const Scratch &scratch,
            Stream stream)
{
  return launch (search_squares, jobs, n, tables, scratch, stream);
}

int search_frame (const FrameSearchJob *jobs, int n, Stream stream)
{
  search_frame_kernel<<<unsigned (n), kFrameSearchThreads, 0, stream>>> (jobs);
  return cudaGetLastError ();
}

}  // namespace inthist::correlation::cuda
