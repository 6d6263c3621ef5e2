// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Functions that the kernels of correlation filters share (device_model.hpp). A block works on one
// target after another, with scratch memory of its own. There are as many channels as lanes in a
// warp: a warp works on a cell or a frequency, and each lane on one channel. For a transform, each
// thread keeps a row or a column of a pair of channels in its registers.
#pragma once

#include <algorithm>
#include <type_traits>

#include <cuda_runtime.h>

#include "device_model.hpp"
#include "fft.cuh"

namespace inthist::correlation::cuda {

inline constexpr int kThreads = 512, kWarps = kThreads / 32;
inline constexpr unsigned kAllLanes = 0xffffffff;
static_assert (kChannels == 32 && kGrid * kPairs == kThreads);
inline constexpr int kCorners = (kGrid + 1) * (kGrid + 1);  // of cells

__device__ inline int lane ()
{
  return int (threadIdx.x) % 32;
}
__device__ inline int warp ()
{
  return int (threadIdx.x) / 32;
}

/// Calls store (i, load (i)) for each i below n that belongs to the thread. kAtOnce loads are
/// started before the first store, because a multiprocessor runs too few threads to hide the
/// latency of memory. So no store may write what a later load reads.
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
/// Calls store (i, load (i)) for n numbers, which the threads of the block share.
template <int kAtOnce = 4, class Load, class Store>
__device__ void for_numbers (int n, Load &&load, Store &&store)
{
  for_all<kAtOnce> (int (threadIdx.x), kThreads, n, load, store);
}
/// Calls store (i, load (i)) for n frequencies, which the warps share. Each lane has one channel.
template <int kAtOnce = 4, class Load, class Store>
__device__ void for_warps (int n, Load &&load, Store &&store)
{
  for_all<kAtOnce> (warp (), kWarps, n, load, store);
}

/// Complex numbers in device memory.
struct ComplexPointers {
  float *re, *im;

  __device__ Complex at (int i) const { return { re[i], im[i] }; }
  __device__ void set (int i, Complex number) const { re[i] = number.re, im[i] = number.im; }
};
__device__ inline ComplexPointers spectrum (FilterSpectrum &of)
{
  return { of, of + kFilterNumbers };
}
__device__ inline ComplexPointers spectrum (const FilterSpectrum &of)
{
  return spectrum (const_cast<FilterSpectrum &> (of));
}

/// The scratch memory of a block of threads for filters, and the tables that all models share.
struct Workspace {
  decltype (BlockScratch::filter) &scratch;
  const ModelTables &tables;
  ComplexPointers pairs;

  __device__ Workspace (BlockScratch *all, const ModelTables &tables)
      : scratch (all[blockIdx.x].filter),
        tables (tables), pairs{ scratch.pairs, scratch.pairs + kFilterCells * kPairs }
  {
  }

  /// Returns the factor that fades out a cell's channels at the border of the square.
  __device__ float fade (int cell) const
  {
    return tables.window[cell / kGrid] * tables.window[cell % kGrid];
  }
  /// Writes a channel of a cell to its pair.
  __device__ void set_channel (int cell, int c, float channel) const
  {
    (c < kPairs ? pairs.re : pairs.im)[cell * kPairs + c % kPairs] = channel;
  }
};

__device__ inline void load (const ComplexPointers &from, int first, int step,
                             Complex (&numbers)[kGrid])
{
#pragma unroll
  for (int i = 0; i < kGrid; i++)
    numbers[i] = from.at (first + i * step);
}
__device__ inline void store (const Complex (&numbers)[kGrid], const ComplexPointers &to, int first,
                              int step)
{
#pragma unroll
  for (int i = 0; i < kGrid; i++)
    to.set (first + i * step, numbers[i]);
}

/// Computes the Fourier transform of all rows, or columns, of signals stored as [y][x][signal].
template <int kSignals>
__device__ void transform_lines (const ComplexPointers &signals, bool rows,
                                 const ModelTables &tables)
{
  if (threadIdx.x < kGrid * kSignals) {
    const int line = int (threadIdx.x) / kSignals, signal = int (threadIdx.x) % kSignals,
              first = line * (rows ? kGrid : 1) * kSignals + signal,
              step = (rows ? 1 : kGrid) * kSignals;
    Complex numbers[kGrid];
    load (signals, first, step, numbers);
    transform_grid (numbers, tables);
    store (numbers, signals, first, step);
  }
  __syncthreads ();
}

/// A frequency of pairs, which are two channels transformed as one complex signal. At x = 0 and x
/// = kGrid / 2 the CPU writes (x, y) and then (x, -y) to the same place. So a GPU writes only the
/// frequency with the larger y.
struct Frequency {
  int k, m;     // of the frequency and of its conjugate
  bool only;    // the frequency is its own conjugate
  bool counts;  // the frequency is written

  __device__ static Frequency of (int f)
  {
    const int y = f / kHalf, x = f % kHalf;
    const bool edge = x == 0 || x == kGrid / 2, middle = y == 0 || y == kGrid / 2;
    return { y * kGrid + x, (kGrid - y) % kGrid * kGrid + (kGrid - x) % kGrid, edge && middle,
             !edge || middle || y > kGrid / 2 };
  }
};

__device__ inline void unpack (const ComplexPointers &pairs, const ComplexPointers &spectra)
{
  const int c = lane (), pair = c % kPairs;
  const bool second = c >= kPairs;
  for_warps (
      kFrequencies,
      [&] (int f) {
        const Frequency at = Frequency::of (f);
        const Complex there = pairs.at (at.k * kPairs + pair),
                      mirrored = pairs.at (at.m * kPairs + pair);
        return first_of_pair (second ? there.times_minus_i () : there,
                              second ? mirrored.times_minus_i () : mirrored);
      },
      [&] (int f, Complex number) { spectra.set (f * kChannels + c, number); });
  __syncthreads ();
}

__device__ inline void pack (const ComplexPointers &spectra, const ComplexPointers &pairs)
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
      [&] (int f, Complex number) {
        const Frequency at = Frequency::of (f);
        if (at.counts && (!at.only || mirrored))
          pairs.set ((mirrored ? at.m : at.k) * kPairs + c, number);
      });
  __syncthreads ();
}

/// Returns the sum over all lanes of a warp. Repeatedly adds the upper half to the lower.
__device__ inline float sum_of (float value)
{
#pragma unroll
  for (int half = kChannels / 2; half > 0; half /= 2)
    value += __shfl_down_sync (kAllLanes, value, half);
  return __shfl_sync (kAllLanes, value, 0);
}

/// Smooths the values of cells along an axis: writes the weighted mean of each cell and its two
/// neighbours to `to`.
__device__ inline void smooth (const float *from, float *to, bool along_x)
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

/// Computes the smoothed directions and luma of cells, [cell][value]. `other` has room for them.
__device__ inline void sum_up_cells (const SquareCells &square, float *cells, float *other)
{
  const CellsOnDevice gradients = *square.gradients;
  const SquareSums sums = { gradients.x,       gradients.y,        gradients.sums,
                            square.luma->sums, square.luma_planes, square.scale };
  for_numbers<6> (
      kFilterCells * kDirections, [&] (int i) { return sums.direction (i); },
      [&] (int i, float value) { cells[i / kDirections * kCellValues + i % kDirections] = value; });
  for (int cell = threadIdx.x; cell < kFilterCells; cell += kThreads)
    cells[cell * kCellValues + kDirections] = sums.luma_of (cell);
  __syncthreads ();
  smooth (cells, other, true);
  smooth (other, cells, false);
}

/// Computes the channels of a square of cells (cpu/channels.hpp), and writes them as pairs of
/// channels.
__device__ inline void describe (const SquareCells &square, const Workspace &work)
{
  auto &filter = work.scratch;
  float *const cells = filter.v, *const energies = filter.h, *const norms = energies + kFilterCells;
  static_assert (kFilterCells * kCellValues <= std::extent_v<FilterSpectrum>);
  static_assert (kFilterCells + kCorners <= std::extent_v<FilterSpectrum>);
  sum_up_cells (square, cells, filter.g);
  for (int cell = threadIdx.x; cell < kFilterCells; cell += kThreads)
    energies[cell] = energy_of (cells + cell * kCellValues);
  __syncthreads ();
  for (int i = threadIdx.x; i < kCorners; i += kThreads)
    norms[i] = block_norm (energies, kGrid, kGrid, i % (kGrid + 1), i / (kGrid + 1));
  __syncthreads ();
  constexpr int kValues = kDirections + kOrientations, kBlocks = 4;
  for_numbers (
      kFilterCells * kValues,
      [&] (int i) {
        const int cell = i / kValues, c = i % kValues;
        const bool is_direction = c < kDirections;
        const float *const at = cells + cell * kCellValues + (is_direction ? c : c - kDirections);
        const float value = at[0], opposite = at[is_direction ? 0 : kOrientations];
        const BlockNorms around (norms, kGrid, cell / kGrid, cell % kGrid);
        return shares_of (is_direction ? value : value + opposite, around.at, work.fade (cell));
      },
      [&] (int i, float channel) { work.set_channel (i / kValues, i % kValues, channel); });
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
        return kBlockShare * work.fade (cell) * sum;
      },
      [&] (int i, float channel) {
        work.set_channel (i / kBlocks, kValues + i % kBlocks, channel);
      });
  for (int cell = threadIdx.x; cell < kFilterCells; cell += kThreads)
    work.set_channel (cell, kChannels - 1,
                      cells[cell * kCellValues + kDirections] * work.fade (cell));
  __syncthreads ();
}

__device__ inline void describe_spectra (const SquareCells &square, const Workspace &work,
                                         const ComplexPointers &to)
{
  describe (square, work);
  transform_lines<kPairs> (work.pairs, true, work.tables);
  transform_lines<kPairs> (work.pairs, false, work.tables);
  unpack (work.pairs, to);
}

/// Launches a kernel that works on n targets, each with its own job.
template <class Job>
int launch (void (*kernel) (const Job *, int, const ModelTables *, BlockScratch *), const Job *jobs,
            int n, const ModelTables *tables, const Scratch &scratch, Stream stream)
{
  kernel<<<unsigned (std::min (n, scratch.n)), kThreads, 0, stream>>> (jobs, n, tables,
                                                                       scratch.blocks);
  return cudaGetLastError ();
}

}  // namespace inthist::correlation::cuda
