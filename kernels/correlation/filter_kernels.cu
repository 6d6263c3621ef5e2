// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation filters on a GPU (device_model.hpp). A block works on one target after another, in
// scratch memory of its own. There are as many channels as lanes in a warp: a warp takes a cell or
// a frequency, and a lane takes a channel. A thread transforms a row or a column of a pair of
// channels in its registers.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include <cuda_runtime.h>

#include "device_model.hpp"
#include "fft.cuh"

namespace inthist::correlation::cuda {

namespace {

constexpr int kThreads = 512, kWarps = kThreads / 32;
constexpr unsigned kAllLanes = 0xffffffff;
static_assert (kChannels == 32 && kGrid * kPairs == kThreads);

__device__ int lane ()
{
  return int (threadIdx.x) % 32;
}
__device__ int warp ()
{
  return int (threadIdx.x) / 32;
}

// A processor runs only one block, so few threads hide the latency of memory. For that reason each
// thread has several loads under way at once.

/// Calls store (i, load (i)) for each i of a thread, up to n. Several loads are under way at once:
/// no store may write what a later load reads.
template <int kAtOnce = 4, class Load, class Store>
__device__ void for_all (int first, int step, int n, Load &&load, Store &&store)
{
  decltype (load (0)) values[kAtOnce];
  int i = first;
  for (; i + (kAtOnce - 1) * step < n; i += kAtOnce * step) {
#pragma unroll
    for (int k = 0; k < kAtOnce; k++)
      values[k] = load (i + k * step);
#pragma unroll
    for (int k = 0; k < kAtOnce; k++)
      store (i + k * step, values[k]);
  }
#pragma unroll
  for (int k = 0; k < kAtOnce; k++)
    if (i + k * step < n)
      values[k] = load (i + k * step);
#pragma unroll
  for (int k = 0; k < kAtOnce; k++)
    if (i + k * step < n)
      store (i + k * step, values[k]);
}
/// Calls store (i, load (i)) for n numbers, shared among the threads of the block.
template <int kAtOnce = 4, class Load, class Store>
__device__ void for_numbers (int n, Load &&load, Store &&store)
{
  for_all<kAtOnce> (int (threadIdx.x), kThreads, n, load, store);
}
/// Calls store (i, load (i)) for n frequencies, shared among the warps of the block; each lane has
/// a channel.
template <int kAtOnce = 4, class Load, class Store>
__device__ void for_warps (int n, Load &&load, Store &&store)
{
  for_all<kAtOnce> (warp (), kWarps, n, load, store);
}

/// Complex numbers in device memory.
struct Complexes {
  float *re, *im;

  __device__ Number at (int i) const { return { re[i], im[i] }; }
  __device__ void set (int i, Number number) const { re[i] = number.re, im[i] = number.im; }
};
__device__ Complexes spectrum (FilterSpectrum &of)
{
  return { of, of + kFilterNumbers };
}
/// A spectrum that is only read.
__device__ Complexes spectrum (const FilterSpectrum &of)
{
  return spectrum (const_cast<FilterSpectrum &> (of));
}

/// The scratch memory of a block, and the tables of all models.
struct Workspace {
  decltype (BlockScratch::filter) &scratch;
  const ModelTables &tables;
  Complexes pairs;

  __device__ Workspace (BlockScratch *all, const ModelTables &tables)
      : scratch (all[blockIdx.x].filter),
        tables (tables), pairs{ scratch.pairs, scratch.pairs + kFilterCells * kPairs }
  {
  }
};

__device__ void load (const Complexes &from, int first, int step, Number (&numbers)[kGrid])
{
#pragma unroll
  for (int i = 0; i < kGrid; i++)
    numbers[i] = from.at (first + i * step);
}
__device__ void store (const Number (&numbers)[kGrid], const Complexes &to, int first, int step)
{
#pragma unroll
  for (int i = 0; i < kGrid; i++)
    to.set (first + i * step, numbers[i]);
}

/// Transforms rows, or columns, of pictures side by side: [y][x][picture].
template <int kPictures>
__device__ void transform_lines (const Complexes &pictures, bool rows, const ModelTables &tables)
{
  if (threadIdx.x < kGrid * kPictures) {
    const int line = int (threadIdx.x) / kPictures, picture = int (threadIdx.x) % kPictures,
              first = line * (rows ? kGrid : 1) * kPictures + picture,
              step = (rows ? 1 : kGrid) * kPictures;
    Number numbers[kGrid];
    load (pictures, first, step, numbers);
    transform_grid (numbers, tables);
    store (numbers, pictures, first, step);
  }
  __syncthreads ();
}

// Two channels, a pair, are transformed as one complex number. At x = 0 and x = kGrid / 2 the CPU
// writes (x, y) and then (x, -y) to the same place. On the GPU only the frequency with the larger y
// is written, so that both devices have the same bits.

struct Frequency {
  int k, m;     // the frequency's place in pairs, and the place of the conjugate
  bool only;    // the frequency is its own conjugate
  bool counts;  // the frequency is written (see above)

  __device__ static Frequency of (int f)
  {
    const int y = f / kHalf, x = f % kHalf;
    const bool edge = x == 0 || x == kGrid / 2, middle = y == 0 || y == kGrid / 2;
    return { y * kGrid + x, (kGrid - y) % kGrid * kGrid + (kGrid - x) % kGrid, edge && middle,
             !edge || middle || y > kGrid / 2 };
  }
};

__device__ void unpack (const Complexes &pairs, const Complexes &spectra)
{
  const int c = lane (), pair = c % kPairs;
  const bool second = c >= kPairs;
  for_warps (
      kFrequencies,
      [&] (int f) {
        const Frequency at = Frequency::of (f);
        const Number there = pairs.at (at.k * kPairs + pair),
                     mirrored = pairs.at (at.m * kPairs + pair);
        return first_of_pair (second ? there.times_minus_i () : there,
                              second ? mirrored.times_minus_i () : mirrored);
      },
      [&] (int f, Number number) { spectra.set (f * kChannels + c, number); });
  __syncthreads ();
}

__device__ void pack (const Complexes &spectra, const Complexes &pairs)
{
  const int c = lane () % kPairs;
  const bool mirrored = lane () >= kPairs;
  const float sign = mirrored ? -1 : 1;
  for_warps (
      kFrequencies,
      [&] (int f) {
        const int at = f * kChannels + c;
        return pair_of (spectra.at (at), spectra.at (at + kPairs), sign);
      },
      [&] (int f, Number number) {
        const Frequency at = Frequency::of (f);
        if (at.counts && (!at.only || mirrored))
          pairs.set ((mirrored ? at.m : at.k) * kPairs + c, number);
      });
  __syncthreads ();
}

/// Returns the sum over all lanes: adds the upper half of the lanes to the lower half, and so on.
__device__ float sum_of (float value)
{
#pragma unroll
  for (int half = kChannels / 2; half > 0; half /= 2)
    value += __shfl_down_sync (kAllLanes, value, half);
  return __shfl_sync (kAllLanes, value, 0);
}

/// Replaces each number by the mean of the number and its neighbours along an axis.
__device__ void smooth (const float *from, float *to, bool along_x)
{
  const int step = (along_x ? 1 : kGrid) * kCellValues;
  for_numbers<8> (
      kFilterCells * kCellValues,
      [&] (int i) {
        const int cell = i / kCellValues, at = along_x ? cell % kGrid : cell / kGrid;
        const bool has_before = at > 0, has_after = at < kGrid - 1;
        const float before = from[has_before ? i - step : i],
                    after = from[has_after ? i + step : i];
        return smoothed (has_before ? before : 0.0F, from[i], has_after ? after : 0.0F);
      },
      [&] (int i, float number) { to[i] = number; });
  __syncthreads ();
}

/// Computes the channels of all cells, and writes them as pairs.
__device__ void describe (const SquareCells &square, const Workspace &work)
{
  auto &filter = work.scratch;
  const CellsOnDevice gradients = *square.gradients;
  const SquareSums sums = { gradients.x,       gradients.y,        gradients.sums,
                            square.luma->sums, square.luma_planes, square.scale };
  constexpr int kCorners = (kGrid + 1) * (kGrid + 1);
  static_assert (kFilterCells * kCellValues <= std::extent_v<
                     FilterSpectrum> && kFilterCells + kCorners <= std::extent_v<FilterSpectrum>);
  float *const cells = filter.v, *const other = filter.g, *const energies = filter.h,
               *const norms = filter.h + kFilterCells;
  for_numbers<6> (
      kFilterCells * kDirections, [&] (int i) { return sums.direction (i); },
      [&] (int i, float value) { cells[i / kDirections * kCellValues + i % kDirections] = value; });
  for (int cell = threadIdx.x; cell < kFilterCells; cell += kThreads)
    cells[cell * kCellValues + kDirections] = sums.luma_of (cell);
  __syncthreads ();
  smooth (cells, other, true);
  smooth (other, cells, false);
  for (int cell = threadIdx.x; cell < kFilterCells; cell += kThreads)
    energies[cell] = energy_of (cells + cell * kCellValues);
  __syncthreads ();
  for (int i = threadIdx.x; i < kCorners; i += kThreads)
    norms[i] = block_norm (energies, kGrid, kGrid, i % (kGrid + 1), i / (kGrid + 1));
  __syncthreads ();
  const auto fade_of = [&] (int cell) {
    return work.tables.window[cell / kGrid] * work.tables.window[cell % kGrid];
  };
  const auto write = [&] (int cell, int c, float channel) {
    (c < kPairs ? work.pairs.re : work.pairs.im)[cell * kPairs + c % kPairs] = channel;
  };
  constexpr int kValues = kDirections + kOrientations, kBlocks = 4;
  for_numbers (
      kFilterCells * kValues,
      [&] (int i) {
        const int cell = i / kValues, c = i % kValues;
        const bool is_direction = c < kDirections;
        const float *const at = cells + cell * kCellValues + (is_direction ? c : c - kDirections);
        const float value = at[0], opposite = at[is_direction ? 0 : kOrientations];
        const BlockNorms around (norms, kGrid, cell / kGrid, cell % kGrid);
        return shares_of (is_direction ? value : value + opposite, around.at, fade_of (cell));
      },
      [&] (int i, float channel) { write (i / kValues, i % kValues, channel); });
  for_numbers<2> (
      kFilterCells * kBlocks,
      [&] (int i) {
        const int cell = i / kBlocks, block = i % kBlocks;
        const float *const values = cells + cell * kCellValues;
        const float norm =
            norms[(cell / kGrid + block / 2) * (kGrid + 1) + cell % kGrid + block % 2];
        float sum = 0;
        for (int v = 0; v < kDirections; v++)
          sum += clipped (values[v], norm);
        return kBlockShare * fade_of (cell) * sum;
      },
      [&] (int i, float channel) { write (i / kBlocks, kValues + i % kBlocks, channel); });
  for (int cell = threadIdx.x; cell < kFilterCells; cell += kThreads)
    write (cell, kChannels - 1, cells[cell * kCellValues + kDirections] * fade_of (cell));
  __syncthreads ();
}

/// Computes the spectra of a square.
__device__ void describe_spectra (const SquareCells &square, const Workspace &work,
                                  const Complexes &to)
{
  describe (square, work);
  transform_lines<kPairs> (work.pairs, true, work.tables);
  transform_lines<kPairs> (work.pairs, false, work.tables);
  unpack (work.pairs, to);
}

/// Writes the filter's response to a square to `response`, in shared memory.
__device__ void respond (const ModelMemory &model, const Complexes &x, const Workspace &work,
                         float *response)
{
  const Complexes w = spectrum (model.weights), sums = work.pairs;  // few of these are used
  for_warps<8> (
      kFrequencies,
      [&] (int f) {
        const int i = f * kChannels + lane ();
        return w.at (i) * x.at (i);
      },
      [&] (int f, Number product) {
        const Frequency at = Frequency::of (f);
        const Number sum = { sum_of (product.re), sum_of (product.im) };
        if (lane () == 0 && at.counts) {
          if (!at.only)
            sums.set (at.m, { sum.re, -sum.im });
          sums.set (at.k, sum);
        }
      });
  __syncthreads ();
  // with the parts swapped, a transform is an inverse transform
  const Complexes swapped = { sums.im, sums.re };
  transform_lines<1> (swapped, false, work.tables);
  transform_lines<1> (swapped, true, work.tables);
  for (int i = threadIdx.x; i < kFilterCells; i += kThreads)
    response[i] = sums.re[i] / kFilterCells;
  __syncthreads ();
}

constexpr int kMaxNearEdges = 256;

/// Writes the prefix sums of a list: of the first number, the first two, and so on.
template <class Load, class Store>
__device__ void add_up (int n, Load &&load, Store &&store)
{
  double sum = 0;
  for_all<8> (0, 1, n, load, [&] (int i, double number) { store (i, sum = number + sum); });
}

/// Copies edges to shared memory, if there is room. Returns where they are.
__device__ const int *near_edges (const int *edges, int n, int (&room)[kMaxNearEdges])
{
  if (n > kMaxNearEdges)
    return edges;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    room[i] = edges[i];
  return room;
}

/// Writes the integral image of the scores of cells, and returns it.
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

/// A value of a list, and its place.
struct Ranked {
  double value;
  int at;

  /// Returns whether this value is larger, or equal and earlier in the list.
  __device__ bool is_before (const Ranked &other) const
  {
    return value > other.value || (value == other.value && at < other.at);
  }
};

/// Returns to all threads the largest of n values, the first of equals. A value takes part if
/// `counts (i)`. If none does, `at` is n.
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

/// Finds the shift with the best sum of both responses.
__device__ void find_match (const SearchJob &job, const ScoreSums &scores, const float *response)
{
  __shared__ double combined[kFilterCells];
  __shared__ EdgeRange columns[kSearchedShifts], rows[kSearchedShifts];
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
  const Ranked best = largest_of (
      kFilterCells, [&] (int i) { return combined[i]; }, [] (int) { return true; });
  const int at = best.at % kFilterCells, row = at / kGrid, column = at % kGrid;
  Match &match = *job.match;
  if (threadIdx.x == 0) {
    // With a detector the filter has learned the place lately. Then only the filter says the part
    // of a cell, because uneven colours would pull the box.
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
    const Sidelobes of_row = Sidelobes::of_row (response, lane (), row, column);
    Sidelobes all = {};
    for (int y = 0; y < kGrid; y++)
      all.add ({ __shfl_sync (kAllLanes, of_row.sum, y), __shfl_sync (kAllLanes, of_row.squares, y),
                 __shfl_sync (kAllLanes, of_row.n, y) });
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
    const Complexes spectra = spectrum (work.scratch.g);
    describe_spectra (job.square, work, spectra);
    respond (*job.model, spectra, work, response);
    find_match (job, add_up_scores (*job.scores, job.score_sums), response);
  }
}

constexpr int kSpotThreads = 1024;

/// Finds the boxes of the frame that have a target's colours: a block for each target.
__global__ void __launch_bounds__ (kSpotThreads)
find_best_spots (const SpotJob *jobs)
{
  const SpotJob &job = jobs[blockIdx.x];
  const ScoreSums scores = add_up_scores (*job.scores, job.score_sums);
  // one after another, as the CPU does
  if (threadIdx.x % 32 == 0 && threadIdx.x < 64) {
    const bool along_x = threadIdx.x == 0;
    double at = along_x ? job.first_x : job.first_y, *const to = along_x ? job.x : job.y;
    for (int i = 0; i < (along_x ? job.n_x : job.n_y); i++, at += along_x ? job.step_x : job.step_y)
      to[i] = at;
  }
  __syncthreads ();
  for (int i = threadIdx.x; i < job.n_x; i += kSpotThreads)
    job.columns[i] = scores.columns_of (job.x[i], job.width);
  for (int i = threadIdx.x; i < job.n_y; i += kSpotThreads)
    job.rows[i] = scores.rows_of (job.y[i], job.height);
  __syncthreads ();
  const int n = job.n_x * job.n_y;
  for (int i = threadIdx.x; i < n; i += kSpotThreads)
    job.means[i] =
        scores.mean (job.columns[i % job.n_x], job.rows[i / job.n_x], job.width, job.height);
  __syncthreads ();
  Spot chosen[kMaxSpots];
  int n_chosen = 0;
  for (int s = 0; s < int (kMaxSpots); s++) {
    const auto counts = [&] (int i) {
      for (int c = 0; c < n_chosen; c++)
        if (fabs (chosen[c].x - job.x[i % job.n_x]) < job.apart
            && fabs (chosen[c].y - job.y[i / job.n_x]) < job.apart)
          return false;
      return true;
    };
    const Ranked best = largest_of (
        n, [&] (int i) { return job.means[i]; }, counts);
    if (best.at < n)
      chosen[n_chosen++] = { job.x[best.at % job.n_x], job.y[best.at / job.n_x] };
    if (threadIdx.x == 0)
      job.spots[s] = best.at < n ? chosen[n_chosen - 1] : Spot{ NAN, NAN };
  }
}

/// Shifts the pictures of the spectra, by phase factors.
__device__ void move (const Complexes &spectra, const double *phase_factors)
{
  const double *const right = phase_factors, *const down = right + 2 * kHalf;
  for_warps (
      kFrequencies,
      [&] (int f) {
        const int y = f / kHalf, x = f % kHalf;
        const double ar = right[2 * x], ai = right[2 * x + 1], br = down[2 * y],
                     bi = down[2 * y + 1];
        return spectra.at (f * kChannels + lane ())
               * Number{ float (ar * br - ai * bi), float (ar * bi + ai * br) };
      },
      [&] (int f, Number number) { spectra.set (f * kChannels + lane (), number); });
  __syncthreads ();
}

/// Returns the i-th number of a spectrum. A null spectrum stands for zeros.
__device__ Number number_at (const Complexes *spectrum, int i)
{
  return spectrum ? spectrum->at (i) : Number{ 0, 0 };
}

/// Makes `v` the best weights without a box, near g - h and near the last weights.
__device__ void solve_frequencies (const Complexes &spectra, const float *wanted, float mu,
                                   float rho, const Complexes *g, const Complexes *h,
                                   const Complexes *last, const Complexes &v)
{
  const float tau = mu + rho, share = 1 / tau;
  struct Sides {
    Number x, b;
  };
  for_warps (
      kFrequencies,
      [&] (int f) {
        const int i = f * kChannels + lane ();
        const Number x = spectra.at (i);
        return Sides{ x, right_side (x, wanted[f], number_at (g, i) - number_at (h, i), rho,
                                     number_at (last, i), mu) };
      },
      [&] (int f, const Sides &of) {
        const Number product = of.x * of.b;
        const float scale = 1 / (tau + sum_of (of.x.power ()));
        const Number s = Number{ sum_of (product.re), sum_of (product.im) } * scale;
        v.set (f * kChannels + lane (), (of.b - of.x.conjugate_times (s)) * share);
      });
  __syncthreads ();
}

/// Sets the weights of `g` outside of the box to 0, and writes the result to `to`.
__device__ void keep_inside (const ModelMemory &model, const Workspace &work, const Complexes &g,
                             const Complexes &to)
{
  const Complexes pairs = work.pairs, swapped = { pairs.im, pairs.re };
  const ModelTables &tables = work.tables;
  pack (g, pairs);
  transform_lines<kPairs> (swapped, false, tables);
  // the inverse transform of a row, and its transform
  const int row = int (threadIdx.x) / kPairs,
            first = row * kGrid * kPairs + int (threadIdx.x) % kPairs;
  Number numbers[kGrid];
  load (swapped, first, kPairs, numbers);
  transform_grid (numbers, tables);
#pragma unroll
  for (int x = 0; x < kGrid; x++) {
    const float inside = model.inside[row * kGrid + x];
    numbers[x] = { numbers[x].im * inside, numbers[x].re * inside };
  }
  transform_grid (numbers, tables);
  store (numbers, pairs, first, kPairs);
  __syncthreads ();
  transform_lines<kPairs> (pairs, false, tables);
  unpack (pairs, to);
}

/// Learns from the example: does the rounds of ADMM (filter.hpp), each of which makes v, g and h in
/// this order. The g of the last round goes to `to`. `last` are the weights before, null for zeros.
__device__ void solve (const ModelMemory &model, const Workspace &work, const Penalties &penalties,
                       int rounds, const Complexes *last, const Complexes &to)
{
  // A loop over i up to 2 kFilterNumbers computes both parts of all numbers, because the imaginary
  // parts of a FilterSpectrum lie behind the real ones.
  static_assert (std::extent_v<FilterSpectrum> == 2 * kFilterNumbers);
  const Complexes spectra = spectrum (model.example), v = spectrum (work.scratch.v),
                  g = spectrum (work.scratch.g), h = spectrum (work.scratch.h);
  float rho = penalties.rho;
  for (int round = 0; round < rounds; round++, rho *= kRhoGrowth) {
    const bool is_first = round == 0, is_last = round + 1 == rounds;  // at first h is 0
    solve_frequencies (spectra, model.wanted, penalties.mu, rho, is_first ? last : &g,
                       is_first ? nullptr : &h, last, v);
    if (!is_first) {
      for_numbers<8> (
          2 * kFilterNumbers, [&] (int i) { return v.re[i] + h.re[i]; },
          [&] (int i, float number) { g.re[i] = number; });
      __syncthreads ();
    }
    keep_inside (model, work, is_first ? v : g, is_last ? to : g);
    if (is_last)
      break;
    for_numbers<8> (
        2 * kFilterNumbers,
        [&] (int i) { return ((is_first ? 0.0F : h.re[i]) + v.re[i] - g.re[i]) / kRhoGrowth; },
        [&] (int i, float number) { h.re[i] = number; });
    __syncthreads ();
  }
}

/// Computes the energy of the example.
__device__ void measure_energy (ModelMemory &model)
{
  __shared__ double powers[kFrequencies];
  const Complexes spectra = spectrum (model.example);
  for (int f = threadIdx.x; f < kFrequencies; f += kThreads) {
    double power = 0;
    for (int c = 0; c < kChannels; c++)
      power += spectra.at (f * kChannels + c).power ();
    powers[f] = energy_at (f % kHalf, power);
  }
  __syncthreads ();
  if (threadIdx.x == 0) {
    double sum = 0;
    for (const double power : powers)  // in the order of the CPU
      sum += power;
    model.energy = energy_of_sum (sum);
  }
  __syncthreads ();
}

/// Starts the filter with the example.
__device__ void start_filter (const ExampleJob &job, const Workspace &work)
{
  ModelMemory &model = *job.model;
  for (int i = threadIdx.x; i < kFrequencies; i += kThreads)
    model.wanted[i] = job.wanted[i];
  for (int i = threadIdx.x; i < kFilterCells; i += kThreads)
    model.inside[i] = job.inside[i];
  measure_energy (model);
  const Complexes weights = spectrum (model.weights), g = spectrum (work.scratch.g);
  solve (model, work, Penalties::first (model.energy), kFirstRounds, nullptr, g);
  for_numbers (
      2 * kFilterNumbers,
      [&] (int i) {
        return job.kept > 0 ? g.re[i] + job.kept * (weights.re[i] - g.re[i]) : g.re[i];
      },
      [&] (int i, float number) { weights.re[i] = number; });
  __syncthreads ();
}

__global__ void __launch_bounds__ (kThreads, 1)
make_examples_of (const ExampleJob *jobs, int n, const ModelTables *tables, BlockScratch *scratch)
{
  const Workspace work (scratch, *tables);
  for (int i = int (blockIdx.x); i < n; i += int (gridDim.x)) {
    const ExampleJob job = jobs[i];
    const Complexes example = spectrum (job.model->example);
    describe_spectra (job.square, work, example);
    if (job.phase_factors)
      move (example, job.phase_factors);
    if (job.wanted)
      start_filter (job, work);
  }
}

__global__ void __launch_bounds__ (kThreads, 1)
learn_examples (const LearnJob *jobs, int n, const ModelTables *tables, BlockScratch *scratch)
{
  const Workspace work (scratch, *tables);
  for (int i = int (blockIdx.x); i < n; i += int (gridDim.x)) {
    ModelMemory &model = *jobs[i].model;
    const Complexes weights = spectrum (model.weights);
    solve (model, work, Penalties::later (model.energy, jobs[i].rate), kLaterRounds, &weights,
           weights);
  }
}

/// Launches a kernel for n targets.
template <class Job>
int launch (void (*kernel) (const Job *, int, const ModelTables *, BlockScratch *), const Job *jobs,
            int n, const ModelTables *tables, const Scratch &scratch, Stream stream)
{
  kernel<<<unsigned (std::min (n, scratch.n)), kThreads, 0, stream>>> (jobs, n, tables,
                                                                       scratch.blocks);
  return cudaGetLastError ();
}

}  // namespace

int search (const SearchJob *jobs, int n, const ModelTables *tables, const Scratch &scratch,
            Stream stream)
{
  return launch (search_squares, jobs, n, tables, scratch, stream);
}

int find_spots (const SpotJob *jobs, int n, Stream stream)
{
  find_best_spots<<<unsigned (n), kSpotThreads, 0, stream>>> (jobs);
  return cudaGetLastError ();
}

int make_examples (const ExampleJob *jobs, int n, const ModelTables *tables, const Scratch &scratch,
                   Stream stream)
{
  return launch (make_examples_of, jobs, n, tables, scratch, stream);
}

int learn (const LearnJob *jobs, int n, const ModelTables *tables, const Scratch &scratch,
           Stream stream)
{
  return launch (learn_examples, jobs, n, tables, scratch, stream);
}

}  // namespace inthist::correlation::cuda
