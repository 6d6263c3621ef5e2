// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation filters on a GPU (filter_kernels.hpp). A block has a target. There are as many
// channels as lanes in a warp: a warp has a cell or a frequency, and a lane a channel. A thread
// transforms a row or a column of a pair of channels in its registers.
#include <type_traits>

#include <cuda_runtime.h>

#include "../cells.hpp"

#include "filter_kernels.hpp"

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
__device__ Complexes pairs_of (DeviceFilterMemory &filter)
{
  return { filter.pairs, filter.pairs + kFilterCells * kPairs };
}

// A transform of 32 numbers: Stockham's passes of radix 4, 4 and 2.

template <int kButterflies, int kStep>
__device__ void pass_4 (const Number (&from)[kGrid], Number (&to)[kGrid], const float *wr,
                        const float *wi)
{
#pragma unroll
  for (int p = 0; p < kButterflies; p++)
#pragma unroll
    for (int q = 0; q < kStep; q++) {
      const auto at = [&] (int k) { return from[p * kStep + q + k * kButterflies * kStep]; };
      const auto twiddle = [&] (int k) { return Number{ wr[p * 4 + k], wi[p * 4 + k] }; };
      const Number s = at (0) + at (2), t = at (0) - at (2), u = at (1) + at (3),
                   h = (at (1) - at (3)).times_minus_i ();
      Number *const out = to + p * 4 * kStep + q;
      out[0] = s + u;
      out[kStep] = (t + h) * twiddle (1);
      out[2 * kStep] = (s - u) * twiddle (2);
      out[3 * kStep] = (t - h) * twiddle (3);
    }
}

__device__ void transform (Number (&numbers)[kGrid], const FilterTables &tables)
{
  const float *const wr = tables.twiddle_re, *const wi = tables.twiddle_im;
  Number other[kGrid];
  pass_4<8, 1> (numbers, other, wr, wi);
  pass_4<2, 4> (other, numbers, wr + 32, wi + 32);
#pragma unroll
  for (int q = 0; q < 16; q++) {
    other[q] = numbers[q] + numbers[q + 16];
    other[q + 16] = (numbers[q] - numbers[q + 16]) * Number{ wr[41], wi[41] };
  }
#pragma unroll
  for (int i = 0; i < kGrid; i++)
    numbers[i] = other[i];
}

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
__device__ void transform_lines (const Complexes &pictures, bool rows, const FilterTables &tables)
{
  if (threadIdx.x < kGrid * kPictures) {
    const int line = int (threadIdx.x) / kPictures, picture = int (threadIdx.x) % kPictures,
              first = line * (rows ? kGrid : 1) * kPictures + picture,
              step = (rows ? 1 : kGrid) * kPictures;
    Number numbers[kGrid];
    load (pictures, first, step, numbers);
    transform (numbers, tables);
    store (numbers, pictures, first, step);
  }
  __syncthreads ();
}

// Two channels, a pair, are transformed as one complex number. At x = 0 and x = kGrid / 2 the CPU
// writes (x, y) and then (x, -y) to the same place. On the GPU only the frequency with the larger y
// is written there, so that both devices have the same bits.

struct Frequency {
  int at;       // its place in spectra
  int k, m;     // its place in pairs, and the place of its conjugate
  bool only;    // it is its own conjugate
  bool counts;  // it is written (see above)

  __device__ static Frequency of (int f)
  {
    const int y = f / kHalf, x = f % kHalf;
    const bool edge = x == 0 || x == kGrid / 2, middle = y == 0 || y == kGrid / 2;
    return { f * kChannels, y * kGrid + x, (kGrid - y) % kGrid * kGrid + (kGrid - x) % kGrid,
             edge && middle, !edge || middle || y > kGrid / 2 };
  }
};

__device__ void unpack (const Complexes &pairs, const Complexes &spectra)
{
  const int c = lane (), pair = c % kPairs;
  for (int f = warp (); f < kFrequencies; f += kWarps) {
    const Frequency at = Frequency::of (f);
    const Number there = pairs.at (at.k * kPairs + pair),
                 mirrored = pairs.at (at.m * kPairs + pair);
    const bool second = c >= kPairs;
    spectra.set (at.at + c, first_of_pair (second ? there.times_minus_i () : there,
                                           second ? mirrored.times_minus_i () : mirrored));
  }
  __syncthreads ();
}

__device__ void pack (const Complexes &spectra, const Complexes &pairs)
{
  const int c = lane () % kPairs;
  const bool mirrored = lane () >= kPairs;
  const float sign = mirrored ? -1 : 1;
  for (int f = warp (); f < kFrequencies; f += kWarps) {
    const Frequency at = Frequency::of (f);
    if (!at.counts || (at.only && !mirrored))
      continue;
    pairs.set ((mirrored ? at.m : at.k) * kPairs + c,
               pair_of (spectra.at (at.at + c), spectra.at (at.at + c + kPairs), sign));
  }
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

/// Makes each number the mean of the number and its neighbours along an axis.
__device__ void smooth (const float *from, float *to, bool along_x)
{
  const int step = (along_x ? 1 : kGrid) * kCellValues;
  for (int i = threadIdx.x; i < kFilterCells * kCellValues; i += kThreads) {
    const int cell = i / kCellValues, at = along_x ? cell % kGrid : cell / kGrid;
    const float before = at > 0 ? from[i - step] : 0.0F,
                after = at < kGrid - 1 ? from[i + step] : 0.0F;
    to[i] = smoothed (before, from[i], after);
  }
  __syncthreads ();
}

/// Computes the channels of all cells, and writes them as pairs.
__device__ void describe (const FilterJob &job, const FilterTables &tables)
{
  DeviceFilterMemory &filter = *job.filter;
  constexpr int kCorners = (kGrid + 1) * (kGrid + 1);
  static_assert (kFilterCells * kCellValues <= std::extent_v<
                     FilterSpectrum> && kFilterCells + kCorners <= std::extent_v<FilterSpectrum>);
  float *const cells = filter.v, *const other = filter.g, *const energies = filter.h,
               *const norms = filter.h + kFilterCells;
  for (int i = threadIdx.x; i < kFilterCells * kCellValues; i += kThreads)
    cells[i] = job.square.value (i / kCellValues, i % kCellValues);
  __syncthreads ();
  smooth (cells, other, true);
  smooth (other, cells, false);
  for (int cell = threadIdx.x; cell < kFilterCells; cell += kThreads)
    energies[cell] = energy_of (cells + cell * kCellValues);
  __syncthreads ();
  for (int i = threadIdx.x; i < kCorners; i += kThreads)
    norms[i] = block_norm (energies, kGrid, kGrid, i % (kGrid + 1), i / (kGrid + 1));
  __syncthreads ();
  const Complexes pairs = pairs_of (filter);
  const int c = lane ();
  for (int cell = warp (); cell < kFilterCells; cell += kWarps) {
    const int row = cell / kGrid, column = cell % kGrid;
    const float *const values = cells + cell * kCellValues;
    const BlockNorms around (norms, kGrid, row, column);
    const float fade = tables.window[row] * tables.window[column];
    float channel;
    if (c < kDirections + kOrientations) {
      const int b = c - kDirections;
      channel = shares_of (c < kDirections ? values[c] : values[b] + values[b + kOrientations],
                           around.at, fade);
    } else if (c < kChannels - 1) {
      const float norm = around.at[c - kDirections - kOrientations];
      float sum = 0;
      for (int v = 0; v < kDirections; v++)
        sum += clipped (values[v], norm);
      channel = kBlockShare * fade * sum;
    } else {
      channel = values[kDirections] * fade;
    }
    (c < kPairs ? pairs.re : pairs.im)[cell * kPairs + c % kPairs] = channel;
  }
  __syncthreads ();
}

__global__ void __launch_bounds__ (kThreads, 1)
describe_square (const FilterJob *jobs, const FilterTables *tables, bool examples)
{
  const FilterJob job = jobs[blockIdx.x];
  describe (job, *tables);
  const Complexes pairs = pairs_of (*job.filter);
  transform_lines<kPairs> (pairs, true, *tables);
  transform_lines<kPairs> (pairs, false, *tables);
  unpack (pairs, spectrum (examples ? job.filter->example : job.filter->searched));
}

__global__ void __launch_bounds__ (kThreads, 1)
respond_to_searched (const FilterJob *jobs, const FilterTables *tables)
{
  const FilterJob job = jobs[blockIdx.x];
  DeviceFilterMemory &filter = *job.filter;
  const Complexes w = spectrum (filter.weights), x = spectrum (filter.searched),
                  response = { filter.response, filter.response + kFilterCells };
  for (int f = warp (); f < kFrequencies; f += kWarps) {
    const Frequency at = Frequency::of (f);
    const int i = at.at + lane ();
    const Number product = w.at (i) * x.at (i), sum = { sum_of (product.re), sum_of (product.im) };
    if (lane () == 0 && at.counts) {
      if (!at.only)
        response.set (at.m, { sum.re, -sum.im });
      response.set (at.k, sum);
    }
  }
  __syncthreads ();
  // with the parts swapped, a transform is an inverse transform
  const Complexes swapped = { response.im, response.re };
  transform_lines<1> (swapped, false, *tables);
  transform_lines<1> (swapped, true, *tables);
  for (int i = threadIdx.x; i < kFilterCells; i += kThreads)
    job.response[i] = response.re[i] / kFilterCells;
}

__global__ void __launch_bounds__ (kThreads, 1)
move_spectra (const FilterJob *jobs)
{
  const FilterJob job = jobs[blockIdx.x];
  const Complexes from = spectrum (job.filter->searched), to = spectrum (job.filter->example);
  const double *const right = job.phase_factors, *const down = right + 2 * kHalf;
  for (int f = warp (); f < kFrequencies; f += kWarps) {
    const int y = f / kHalf, x = f % kHalf, i = f * kChannels + lane ();
    const double ar = right[2 * x], ai = right[2 * x + 1], br = down[2 * y], bi = down[2 * y + 1];
    to.set (i, from.at (i) * Number{ float (ar * br - ai * bi), float (ar * bi + ai * br) });
  }
}

/// The spectrum at a null is zeros.
__device__ Number number_at (const Complexes *spectrum, int i)
{
  return spectrum ? spectrum->at (i) : Number{ 0, 0 };
}

/// Makes `v` the best weights without a box, near g - h and near the last weights.
__device__ void solve_frequencies (const Complexes &spectra, const float *wanted, float mu,
                                   float rho, const Complexes *g, const Complexes *h,
                                   const Complexes *last, const Complexes &v)
{
  const float tau = mu + rho;
  for (int f = warp (); f < kFrequencies; f += kWarps) {
    const int i = f * kChannels + lane ();
    const Number x = spectra.at (i),
                 b = right_side (x, wanted[f], number_at (g, i) - number_at (h, i), rho,
                                 number_at (last, i), mu),
                 product = x * b;
    const float scale = 1 / (tau + sum_of (x.power ())), share = 1 / tau;
    const Number s = Number{ sum_of (product.re), sum_of (product.im) } * scale;
    v.set (i, (b - x.conjugate_times (s)) * share);
  }
  __syncthreads ();
}

/// Sets the weights of `g` outside of the box to 0, and writes the result to `to`.
__device__ void keep_inside (DeviceFilterMemory &filter, const Complexes &g, const Complexes &to,
                             const FilterTables &tables)
{
  const Complexes pairs = pairs_of (filter), swapped = { pairs.im, pairs.re };
  pack (g, pairs);
  transform_lines<kPairs> (swapped, false, tables);
  // the inverse transform of a row, and its transform
  const int row = int (threadIdx.x) / kPairs,
            first = row * kGrid * kPairs + int (threadIdx.x) % kPairs;
  Number numbers[kGrid];
  load (swapped, first, kPairs, numbers);
  transform (numbers, tables);
#pragma unroll
  for (int x = 0; x < kGrid; x++) {
    const float inside = filter.inside[row * kGrid + x];
    numbers[x] = { numbers[x].im * inside, numbers[x].re * inside };
  }
  transform (numbers, tables);
  store (numbers, pairs, first, kPairs);
  __syncthreads ();
  transform_lines<kPairs> (pairs, false, tables);
  unpack (pairs, to);
}

/// Learns from the example: does the rounds of ADMM (filter.hpp), each of which makes v, g and h in
/// this order. The g of the last round goes to `to`. `last` are the weights before, null for zeros.
__device__ void solve (DeviceFilterMemory &filter, const Penalties &penalties, int rounds,
                       const Complexes *last, const Complexes &to, const FilterTables &tables)
{
  // A loop over i up to 2 kFilterNumbers computes both parts of all numbers, because the imaginary
  // parts of a FilterSpectrum lie behind the real ones.
  static_assert (std::extent_v<FilterSpectrum> == 2 * kFilterNumbers);
  const Complexes spectra = spectrum (filter.example), v = spectrum (filter.v),
                  g = spectrum (filter.g), h = spectrum (filter.h);
  float rho = penalties.rho;
  for (int round = 0; round < rounds; round++, rho *= kRhoGrowth) {
    const bool is_first = round == 0, is_last = round + 1 == rounds;  // at first h is 0
    solve_frequencies (spectra, filter.wanted, penalties.mu, rho, is_first ? last : &g,
                       is_first ? nullptr : &h, last, v);
    if (!is_first) {
      for (int i = threadIdx.x; i < 2 * kFilterNumbers; i += kThreads)
        g.re[i] = v.re[i] + h.re[i];
      __syncthreads ();
    }
    keep_inside (filter, is_first ? v : g, is_last ? to : g, tables);
    if (is_last)
      break;
    for (int i = threadIdx.x; i < 2 * kFilterNumbers; i += kThreads)
      h.re[i] = ((is_first ? 0.0F : h.re[i]) + v.re[i] - g.re[i]) / kRhoGrowth;
    __syncthreads ();
  }
}

/// Returns the energy of the example.
__device__ float energy_of_example (DeviceFilterMemory &filter)
{
  __shared__ double powers[kFrequencies];
  const Complexes spectra = spectrum (filter.example);
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
    filter.energy = energy_of_sum (sum);
  }
  __syncthreads ();
  return filter.energy;
}

__global__ void __launch_bounds__ (kThreads, 1)
start_filter (const FilterJob *jobs, const FilterTables *tables)
{
  const FilterJob job = jobs[blockIdx.x];
  if (!job.wanted)
    return;
  DeviceFilterMemory &filter = *job.filter;
  for (int i = threadIdx.x; i < kFrequencies; i += kThreads)
    filter.wanted[i] = job.wanted[i];
  for (int i = threadIdx.x; i < kFilterCells; i += kThreads)
    filter.inside[i] = job.inside[i];
  const Complexes weights = spectrum (filter.weights), g = spectrum (filter.g);
  const float energy = energy_of_example (filter);
  solve (filter, Penalties::first (energy), kFirstRounds, nullptr, g, *tables);
  for (int i = threadIdx.x; i < 2 * kFilterNumbers; i += kThreads)
    weights.re[i] = job.kept > 0 ? g.re[i] + job.kept * (weights.re[i] - g.re[i]) : g.re[i];
}

__global__ void __launch_bounds__ (kThreads, 1)
learn_example (const FilterJob *jobs, const FilterTables *tables)
{
  const FilterJob job = jobs[blockIdx.x];
  if (!(job.rate > 0))
    return;
  DeviceFilterMemory &filter = *job.filter;
  const Complexes weights = spectrum (filter.weights);
  solve (filter, Penalties::later (filter.energy, job.rate), kLaterRounds, &weights, weights,
         *tables);
}

constexpr int kSizeThreads = 128;

/// Computes the sample of a box at one size in each block.
__global__ void __launch_bounds__ (kSizeThreads)
sample_size (const SizeJob *jobs)
{
  __shared__ float values[kMaxSizeCells * kOrientations], energies[kMaxSizeCells];
  const SizeJob job = jobs[blockIdx.x];
  const int n = job.columns * job.rows;
  for (int i = threadIdx.x; i < n * kOrientations; i += kSizeThreads)
    values[i] = job.value (i / kOrientations, i % kOrientations);
  __syncthreads ();
  for (int cell = threadIdx.x; cell < n; cell += kSizeThreads) {
    float energy = 0;
    for (int b = 0; b < kOrientations; b++)
      energy += values[cell * kOrientations + b] * values[cell * kOrientations + b];
    energies[cell] = energy;
  }
  __syncthreads ();
  for (int i = threadIdx.x; i < n * kOrientations; i += kSizeThreads) {
    const int cell = i / kOrientations, row = cell / job.columns, column = cell % job.columns;
    float around[4];
    for (int k = 0; k < 4; k++)
      around[k] = block_norm (energies, job.columns, job.rows, column + k % 2, row + k / 2);
    job.sample[i] = shares_of (values[i], around);
  }
}

}  // namespace

int sample_sizes (const SizeJob *jobs, int n, Stream stream)
{
  sample_size<<<n, kSizeThreads, 0, stream>>> (jobs);
  return cudaGetLastError ();
}

int describe_squares (const FilterJob *jobs, int n, const FilterTables *tables, bool examples,
                      Stream stream)
{
  describe_square<<<n, kThreads, 0, stream>>> (jobs, tables, examples);
  return cudaGetLastError ();
}

int respond (const FilterJob *jobs, int n, const FilterTables *tables, Stream stream)
{
  respond_to_searched<<<n, kThreads, 0, stream>>> (jobs, tables);
  return cudaGetLastError ();
}

int move_searched (const FilterJob *jobs, int n, Stream stream)
{
  move_spectra<<<n, kThreads, 0, stream>>> (jobs);
  return cudaGetLastError ();
}

int start (const FilterJob *jobs, int n, const FilterTables *tables, Stream stream)
{
  start_filter<<<n, kThreads, 0, stream>>> (jobs, tables);
  return cudaGetLastError ();
}

int learn (const FilterJob *jobs, int n, const FilterTables *tables, Stream stream)
{
  learn_example<<<n, kThreads, 0, stream>>> (jobs, tables);
  return cudaGetLastError ();
}

}  // namespace inthist::correlation::cuda
