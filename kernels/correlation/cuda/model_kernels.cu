// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The parts of the models of targets on a GPU (device_model.hpp) that are not correlation filters:
// the edges of cells (cell_grid.hpp on the CPU), filters of sizes (the tracker's size_filter.cpp)
// and colours (the tracker's colour.cpp).
#include <algorithm>

#include <cuda_runtime.h>

#include "../../cuda/device/hardware/bytes.cuh"
#include "../colours.hpp"
#include "device_model.hpp"
#include "fft.cuh"

namespace inthist::correlation::cuda {
namespace {

using inthist::cuda::LutWords;

constexpr int kGridThreads = 64;

/// Computes the edges of the cells of one grid in each block of threads (lay_out ()).
__global__ void __launch_bounds__ (kGridThreads)
lay_out_grids (const GridJob *jobs, CellsOnDevice *grids, int width, int height,
               const __grid_constant__ LutWords lut)
{
  __shared__ int columns, rows, widest;
  __shared__ LutWords shared_lut;
  const GridJob &job = jobs[blockIdx.x];
  const CellGrid grid = job.grid;
  const int thread = int (threadIdx.x);
  if (thread == 0)
    columns = grid.columns, rows = grid.rows, widest = 0;
  shared_lut.copy (lut);
  __syncthreads ();
  if (job.whole_pixels) {
    const auto write = [&] (double first, double size, int n_cells, int frame_size, int *edges) {
      const int n = write_pixel_edges (first, size, n_cells, frame_size, edges);
      for (int i = 0; i < n; i++)
        edges[i] *= kCellParts;
      return n - 1;
    };
    if (thread == 0)
      columns = write (grid.x, grid.width, grid.columns, width, job.x);
    else if (thread == 32)
      rows = write (grid.y, grid.height, grid.rows, height, job.y);
  } else {
    const bool rounded = grid.is_rounded ();
    for (int i = thread; i <= grid.columns; i += kGridThreads)
      job.x[i] = part_edge (grid.x, grid.width, i, width, rounded);
    for (int i = thread; i <= grid.rows; i += kGridThreads)
      job.y[i] = part_edge (grid.y, grid.height, i, height, rounded);
  }
  if (job.colours)
    for (int v = thread; v < 256; v += kGridThreads)
      job.value_weights[v] = job.colours->scores[shared_lut.table ()[v]];
  __syncthreads ();
  int most = 0;
  for (int i = thread; i < columns; i += kGridThreads)
    most = max (most, (job.x[i + 1] - job.x[i]) / kCellParts + 1);
  atomicMax (&widest, most);
  __syncthreads ();
  if (thread == 0)
    grids[blockIdx.x] = { job.x, job.y, columns, rows, widest, job.value_weights, job.sums };
}

constexpr int kSizeThreads = 512;
using SizesScratch = decltype (BlockScratch::sizes);

/// Computes the sample of a target's box at all sizes (sizes.hpp).
__device__ void sample_sizes (const SizeFilterJob &job, SizesScratch &scratch)
{
  const int cells = job.columns * job.rows, channels = cells * kOrientations;
  const auto value = [&] (int size, int cell, int orientation) {
    return SizeJob{ job.grids[size].sums, job.columns, job.rows, job.factors[size], nullptr }
        .value (cell, orientation);
  };
  for (int i = threadIdx.x; i < kSizes * cells; i += kSizeThreads) {
    float energy = 0;
    for (int b = 0; b < kOrientations; b++) {
      const float of_cell = value (i / cells, i % cells, b);
      energy += of_cell * of_cell;
    }
    scratch.energies[i] = energy;
  }
  __syncthreads ();
  for (int i = threadIdx.x; i < kSizes * cells; i += kSizeThreads) {
    const int size = i / cells, cell = i % cells, row = cell / job.columns,
              column = cell % job.columns;
    float around[4];
    for (int k = 0; k < 4; k++)
      around[k] = block_norm (scratch.energies + size * cells, job.columns, job.rows,
                              column + k % 2, row + k / 2);
    float *const to = job.model->sample + size * channels + cell * kOrientations;
    for (int b = 0; b < kOrientations; b++)
      to[b] = shares_of (value (size, cell, b), around);
  }
  __syncthreads ();
}

/// Mixes each size of a sample with its neighbour, fades out the smallest and the largest sizes,
/// and transforms the sample along its sizes. Each thread handles one channel.
__device__ void transform_sample (const SizeFilterJob &job, SizesScratch &scratch,
                                  const ModelTables &tables)
{
  const int channels = job.columns * job.rows * kOrientations;
  for (int c = threadIdx.x; c < channels; c += kSizeThreads) {
    float values[kSizes];
    for (int i = 0; i < kSizes; i++)
      values[i] = job.model->sample[i * channels + c];
    if (job.mixed_share > 0 && job.larger)
      for (int i = 0; i + 1 < kSizes; i++)
        values[i] = mixed (values[i], values[i + 1], job.mixed_share);
    else if (job.mixed_share > 0)
      for (int i = kSizes - 1; i > 0; i--)
        values[i] = mixed (values[i], values[i - 1], job.mixed_share);
    Complex numbers[kSizes];
    for (int i = 0; i < kSizes; i++)
      numbers[i] = { tables.sizes.fade[i] * values[i], 0 };
    transform_sizes (numbers, tables);
    for (int i = 0; i < kSizes; i++)
      scratch.re[i * channels + c] = numbers[i].re, scratch.im[i * channels + c] = numbers[i].im;
  }
  __syncthreads ();
}

/// Computes kSums sums of n terms each, in the order of the CPU: all threads compute terms with
/// `term (sum, i)`, and one thread for each sum adds them, and gets the sum as the result.
template <int kSums, class T, class Term>
__device__ T add_in_order (int n, Term &&term)
{
  constexpr int kTerms = kSizeThreads / kSums;  // terms at once
  __shared__ T terms[kSums][kTerms + 1];
  const int which = int (threadIdx.x) / kTerms, at = int (threadIdx.x) % kTerms;
  T sum = 0;
  for (int first = 0; first < n; first += kTerms) {
    if (first + at < n)
      terms[which][at] = term (which, first + at);
    __syncthreads ();
    if (threadIdx.x < kSums)
      for (int i = 0; i < min (kTerms, n - first); i++)
        sum += terms[threadIdx.x][i];
    __syncthreads ();
  }
  return sum;
}

/// Computes a filter's response to each size. Each sum is over the channels, for the real or the
/// imaginary part of one frequency.
__device__ void respond_to_sizes (const SizeFilterJob &job, const SizesScratch &sample,
                                  const ModelTables &tables)
{
  __shared__ double re[kSizes], im[kSizes];
  const ModelMemory &model = *job.model;
  const int channels = job.columns * job.rows * kOrientations;
  const double sum = add_in_order<2 * kSizes, double> (channels, [&] (int which, int i) {
    const int at = which % kSizes * channels + i;
    const double nr = model.numerator_re[at], ni = model.numerator_im[at], xr = sample.re[at],
                 xi = sample.im[at];
    return which < kSizes ? nr * xr + ni * xi : nr * xi - ni * xr;
  });
  if (threadIdx.x < 2 * kSizes) {
    const int k = int (threadIdx.x) % kSizes;
    (threadIdx.x < kSizes ? re : im)[k] = sum / (model.denominator[k] + model.regularisation);
  }
  __syncthreads ();
  if (threadIdx.x < kSizes)
    job.response[threadIdx.x] = size_response (re, im, int (threadIdx.x), tables.sizes);
  __syncthreads ();
}

__device__ void learn_sample (const SizeFilterJob &job, const SizesScratch &sample, bool is_first,
                              const SizeTables &tables)
{
  ModelMemory &model = *job.model;
  const int channels = job.columns * job.rows * kOrientations;
  for (int i = threadIdx.x; i < kSizes * channels; i += kSizeThreads) {
    const int k = i / channels;
    const Complex before =
        is_first ? Complex{ 0, 0 } : Complex{ model.numerator_re[i], model.numerator_im[i] };
    const Complex number = learned_number (before, { sample.re[i], sample.im[i] },
                                           { tables.wanted_re[k], tables.wanted_im[k] }, job.rate);
    model.numerator_re[i] = number.re, model.numerator_im[i] = number.im;
  }
  const float power = add_in_order<kSizes, float> (channels, [&] (int k, int i) {
    return Complex{ sample.re[k * channels + i], sample.im[k * channels + i] }.power ();
  });
  if (threadIdx.x < kSizes) {
    const int k = int (threadIdx.x);
    const float before = is_first ? 0 : model.denominator[k];
    model.denominator[k] = before + job.rate * (power - before);
  }
  __syncthreads ();
  if (is_first && threadIdx.x == 0) {
    float sum = 0;
    for (int k = 0; k < kSizes; k++)
      sum += model.denominator[k];
    model.regularisation = regularisation_of_sum (sum);
  }
}

__global__ void __launch_bounds__ (kSizeThreads)
find_or_learn (const SizeFilterJob *jobs, int n, const ModelTables *tables, BlockScratch *scratch)
{
  SizesScratch &sample = scratch[blockIdx.x].sizes;
  for (int i = int (blockIdx.x); i < n; i += int (gridDim.x)) {
    const SizeFilterJob &job = jobs[i];
    if (job.grids)
      sample_sizes (job, sample);
    transform_sample (job, sample, *tables);
    if (job.response)
      respond_to_sizes (job, sample, *tables);
    else
      learn_sample (job, sample, job.rate == 1, tables->sizes);
    __syncthreads ();
  }
}

constexpr int kBinThreads = kMaxColourBins;

/// Returns the exact sum of `number` over all threads of the block, to each of them.
__device__ std::int64_t sum_of_block (std::int64_t number)
{
  __shared__ unsigned long long sum;
  __syncthreads ();
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads ();
  atomicAdd (&sum, (unsigned long long) (number));
  __syncthreads ();
  return std::int64_t (sum);
}

/// Each block of threads learns the colours of one target, and each thread handles one bin.
__global__ void __launch_bounds__ (kBinThreads)
learn_bins (const ColoursJob *jobs, int bins)
{
  const ColoursJob job = jobs[blockIdx.x];
  ModelMemory &model = *job.model;
  const int b = int (threadIdx.x);
  const std::int64_t target = b < bins ? job.counts[b] : 0,
                     around = b < bins
                                  ? std::int64_t (job.counts[2 * bins + b]) - job.counts[bins + b]
                                  : 0;
  const auto n_target = sum_of_block (target), n_around = sum_of_block (around);
  if (n_target == 0)
    return;
  const double rate = model.has_colours ? job.rate * kColourRate : 1;
  const double target_share =
                   moved_share (model.target_shares[b], double (target), double (n_target), rate),
               background_share = moved_share (model.background_shares[b], double (around),
                                               double (n_around), rate);
  model.target_shares[b] = target_share;
  model.background_shares[b] = background_share;
  model.scores[b] = colour_score (target_share, background_share);
  __syncthreads ();
  if (b == 0)
    model.has_colours = 1;
}

}  // namespace

int lay_out (const GridJob *jobs, int n, CellsOnDevice *grids, int width, int height,
             const Lut &lut, Stream stream)
{
  lay_out_grids<<<unsigned (n), kGridThreads, 0, stream>>> (jobs, grids, width, height,
                                                            LutWords::of (lut));
  return cudaGetLastError ();
}

int find_or_learn_sizes (const SizeFilterJob *jobs, int n, const ModelTables *tables,
                         const Scratch &scratch, Stream stream)
{
  find_or_learn<<<unsigned (std::min (n, scratch.n)), kSizeThreads, 0, stream>>> (jobs, n, tables,
                                                                                  scratch.blocks);
  return cudaGetLastError ();
}

int learn_colours (const ColoursJob *jobs, int n, int bins, Stream stream)
{
  learn_bins<<<unsigned (n), kBinThreads, 0, stream>>> (jobs, bins);
  return cudaGetLastError ();
}

}  // namespace inthist::correlation::cuda
