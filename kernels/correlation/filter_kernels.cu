// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation filters on a GPU (filter_kernels.hpp). A block has a target. There are as many
// channels as lanes in a warp: a warp has a cell or a frequency, and a lane a channel. A thread
// transforms a row or a column of a pair of channels in its registers.
#include <cuda_runtime.h>

#include "../cells.hpp"

#include "filter_kernels.hpp"

namespace inthist::correlation::cuda {

namespace {

constexpr int kPairs = kChannels / 2, kCells = kFilterCells, kFrequencies = kFilterFrequencies,
              kNumbers = kFilterNumbers;
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
};
__device__ Complexes spectrum (FilterSpectrum &of)
{
  return { of, of + kNumbers };
}
__device__ Complexes pairs_of (DeviceFilterMemory &filter)
{
  return { filter.pairs, filter.pairs + kCells * kPairs };
}

// A transform of 32 numbers: Stockham's passes of radix 4, 4 and 2.

struct Number {
  float re, im;
  __device__ Number operator+ (const Number &b) const { return { re + b.re, im + b.im }; }
  __device__ Number operator- (const Number &b) const { return { re - b.re, im - b.im }; }
  __device__ Number times (float r, float i) const { return { re * r - im * i, re * i + im * r }; }
  __device__ Number turned () const { return { im, -re }; }
};

template <int kButterflies, int kStep>
__device__ void pass_4 (const Number (&from)[kGrid], Number (&to)[kGrid], const float *wr,
                        const float *wi)
{
#pragma unroll
  for (int p = 0; p < kButterflies; p++)
#pragma unroll
    for (int q = 0; q < kStep; q++) {
      const auto at = [&] (int k) { return from[p * kStep + q + k * kButterflies * kStep]; };
      const Number s = at (0) + at (2), t = at (0) - at (2), u = at (1) + at (3),
                   h = (at (1) - at (3)).turned ();
      Number *const out = to + p * 4 * kStep + q;
      out[0] = s + u;
      out[kStep] = (t + h).times (wr[p * 4 + 1], wi[p * 4 + 1]);
      out[2 * kStep] = (s - u).times (wr[p * 4 + 2], wi[p * 4 + 2]);
      out[3 * kStep] = (t - h).times (wr[p * 4 + 3], wi[p * 4 + 3]);
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
    other[q + 16] = (numbers[q] - numbers[q + 16]).times (wr[41], wi[41]);
  }
#pragma unroll
  for (int i = 0; i < kGrid; i++)
    numbers[i] = other[i];
}

__device__ void load (const Complexes &from, int first, int step, Number (&numbers)[kGrid])
{
#pragma unroll
  for (int i = 0; i < kGrid; i++)
    numbers[i] = { from.re[first + i * step], from.im[first + i * step] };
}
__device__ void store (const Number (&numbers)[kGrid], const Complexes &to, int first, int step)
{
#pragma unroll
  for (int i = 0; i < kGrid; i++)
    to.re[first + i * step] = numbers[i].re, to.im[first + i * step] = numbers[i].im;
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

// Pairs of channels are transformed as one complex number each. What the CPU writes twice, the last
// time counts: of the frequencies (x, y) and (x, -y) with x of 0 or half that with the larger y.

struct Frequency {
  int at;     // in spectra
  int k, m;   // where it is, and its conjugate, in pairs
  bool only;  // it is its own conjugate
  bool counts;

  __device__ static Frequency of (int f)
  {
    const int y = f / (kGrid / 2 + 1), x = f % (kGrid / 2 + 1);
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
    const float ar = pairs.re[at.k * kPairs + pair], ai = pairs.im[at.k * kPairs + pair],
                br = pairs.re[at.m * kPairs + pair], bi = pairs.im[at.m * kPairs + pair];
    spectra.re[at.at + c] = c < kPairs ? 0.5F * (ar + br) : 0.5F * (ai + bi);
    spectra.im[at.at + c] = c < kPairs ? 0.5F * (ai - bi) : 0.5F * (br - ar);
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
    const int to = (mirrored ? at.m : at.k) * kPairs + c;
    const float *const re = spectra.re + at.at, *const im = spectra.im + at.at;
    pairs.re[to] = re[c] - sign * im[c + kPairs];
    pairs.im[to] = re[c + kPairs] + sign * im[c];
  }
  __syncthreads ();
}

/// Returns the sum over all lanes, of both halves added to each other, and so on.
__device__ float sum_of (float value)
{
#pragma unroll
  for (int half = kChannels / 2; half > 0; half /= 2)
    value += __shfl_down_sync (kAllLanes, value, half);
  return __shfl_sync (kAllLanes, value, 0);
}

/// Returns 1 / the energy of the four cells around a corner (block_norms of the CPU).
__device__ float block_norm (const float *energies, int columns, int rows, int x, int y)
{
  const int above = max (0, y - 1) * columns, below = min (rows - 1, y) * columns,
            left = max (0, x - 1), right = min (columns - 1, x);
  return 1
         / sqrtf (energies[above + left] + energies[above + right] + energies[below + left]
                  + energies[below + right] + kFlat);
}

/// Makes each number a mean of it and its neighbours along one way.
__device__ void smooth (const float *from, float *to, bool along_x)
{
  constexpr int kValues = kDirections + 1;
  constexpr float kScale = 1 / (1 + 2 * kNeighbour);
  const int step = (along_x ? 1 : kGrid) * kValues;
  for (int i = threadIdx.x; i < kCells * kValues; i += kThreads) {
    const int cell = i / kValues, at = along_x ? cell % kGrid : cell / kGrid;
    const float before = at > 0 ? from[i - step] : 0.0F,
                after = at < kGrid - 1 ? from[i + step] : 0.0F;
    to[i] = (from[i] + kNeighbour * (before + after)) * kScale;
  }
  __syncthreads ();
}

/// Writes the channels of all cells as pairs.
__device__ void describe (const FilterJob &job, const FilterTables &tables)
{
  constexpr int kValues = kDirections + 1;
  DeviceFilterMemory &filter = *job.filter;
  float *const cells = filter.v, *const other = filter.g, *const energies = filter.h,
               *const norms = filter.h + kCells;
  for (int i = threadIdx.x; i < kCells * kValues; i += kThreads) {
    const int cell = i / kValues, v = i % kValues, row = cell / kGrid, column = cell % kGrid;
    if (v < kDirections) {
      cells[i] = float (job.gradients[cell * kDirections + v]) * job.per_length;
    } else {
      const std::int64_t area =
          std::int64_t (job.x[column + 1] - job.x[column]) * (job.y[row + 1] - job.y[row]);
      cells[i] = float (job.luma[cell * job.luma_planes] - 128 * area) * job.per_luma;
    }
  }
  __syncthreads ();
  smooth (cells, other, true);
  smooth (other, cells, false);
  for (int cell = threadIdx.x; cell < kCells; cell += kThreads) {
    float energy = 0;
    for (int b = 0; b < kOrientations; b++) {
      const float both = cells[cell * kValues + b] + cells[cell * kValues + b + kOrientations];
      energy += both * both;
    }
    energies[cell] = energy;
  }
  __syncthreads ();
  for (int i = threadIdx.x; i < (kGrid + 1) * (kGrid + 1); i += kThreads)
    norms[i] = block_norm (energies, kGrid, kGrid, i % (kGrid + 1), i / (kGrid + 1));
  __syncthreads ();
  const Complexes pairs = pairs_of (filter);
  const int c = lane ();
  for (int cell = warp (); cell < kCells; cell += kWarps) {
    const int row = cell / kGrid, column = cell % kGrid;
    const float *const values = cells + cell * kValues, *const corner =
                                                            norms + row * (kGrid + 1) + column;
    const float around[4] = { corner[0], corner[1], corner[kGrid + 1], corner[kGrid + 2] };
    const float fade = tables.window[row] * tables.window[column];
    float channel;
    if (c < kDirections + kOrientations) {
      const int b = c - kDirections;
      const float value = c < kDirections ? values[c] : values[b] + values[b + kOrientations];
      const auto share = [&] (int k) { return fminf (value * around[k], kMostShare); };
      channel = 0.5F * fade * (share (0) + share (1) + share (2) + share (3));
    } else if (c < kChannels - 1) {
      const float norm = around[c - kDirections - kOrientations];
      float sum = 0;
      for (int v = 0; v < kDirections; v++)
        sum += fminf (values[v] * norm, kMostShare);
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
                  response = { filter.response, filter.response + kCells };
  for (int f = warp (); f < kFrequencies; f += kWarps) {
    const Frequency at = Frequency::of (f);
    const int i = at.at + lane ();
    const float re = sum_of (w.re[i] * x.re[i] - w.im[i] * x.im[i]),
                im = sum_of (w.re[i] * x.im[i] + w.im[i] * x.re[i]);
    if (lane () == 0 && at.counts) {
      if (!at.only)
        response.re[at.m] = re, response.im[at.m] = -im;
      response.re[at.k] = re, response.im[at.k] = im;
    }
  }
  __syncthreads ();
  const Complexes swapped = { response.im, response.re };  // which makes it the way back
  transform_lines<1> (swapped, false, *tables);
  transform_lines<1> (swapped, true, *tables);
  for (int i = threadIdx.x; i < kCells; i += kThreads)
    job.response[i] = response.re[i] / kCells;
}

__global__ void __launch_bounds__ (kThreads, 1)
move_spectra (const FilterJob *jobs)
{
  const FilterJob job = jobs[blockIdx.x];
  const Complexes from = spectrum (job.filter->searched), to = spectrum (job.filter->example);
  const double *const right = job.turns, *const down = job.turns + 2 * (kGrid / 2 + 1);
  for (int f = warp (); f < kFrequencies; f += kWarps) {
    const int y = f / (kGrid / 2 + 1), x = f % (kGrid / 2 + 1), i = f * kChannels + lane ();
    const double ar = right[2 * x], ai = right[2 * x + 1], br = down[2 * y], bi = down[2 * y + 1];
    const float wr = float (ar * br - ai * bi), wi = float (ar * bi + ai * br);
    const float re = from.re[i], im = from.im[i];
    to.re[i] = re * wr - im * wi;
    to.im[i] = re * wi + im * wr;
  }
}

/// Makes `v` the best weights without a box, near to g - h and to the last ones.
__device__ void solve_frequencies (const Complexes &spectra, const float *wanted, float mu,
                                   float rho, const Complexes &g, const Complexes *h,
                                   const Complexes &last, const Complexes &v)
{
  const float tau = mu + rho;
  for (int f = warp (); f < kFrequencies; f += kWarps) {
    const int i = f * kChannels + lane ();
    const float xr = spectra.re[i], xi = spectra.im[i], y = wanted[f];
    const float near_re = h ? g.re[i] - h->re[i] : g.re[i],
                near_im = h ? g.im[i] - h->im[i] : g.im[i];
    const float br = xr * y + rho * near_re + mu * last.re[i],
                bi = -xi * y + rho * near_im + mu * last.im[i];
    const float power = sum_of (xr * xr + xi * xi), scale = 1 / (tau + power), share = 1 / tau;
    const float sr = sum_of (xr * br - xi * bi) * scale, si = sum_of (xr * bi + xi * br) * scale;
    v.re[i] = (br - (xr * sr + xi * si)) * share;
    v.im[i] = (bi - (xr * si - xi * sr)) * share;
  }
  __syncthreads ();
}

/// Takes the weights of `g` outside of the box away; the result may be elsewhere.
__device__ void keep_inside (DeviceFilterMemory &filter, const Complexes &g, const Complexes &to,
                             const FilterTables &tables)
{
  const Complexes pairs = pairs_of (filter), swapped = { pairs.im, pairs.re };
  pack (g, pairs);
  transform_lines<kPairs> (swapped, false, tables);
  // a row the way back, and there again
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

__global__ void __launch_bounds__ (kThreads, 1)
learn_example (const FilterJob *jobs, const FilterTables *tables)
{
  const FilterJob job = jobs[blockIdx.x];
  if (!(job.rho > 0))
    return;
  DeviceFilterMemory &filter = *job.filter;
  const Complexes spectra = spectrum (filter.example), last = spectrum (filter.weights),
                  v = spectrum (filter.v), g = spectrum (filter.g), h = spectrum (filter.h);
  // g is the last filter at first, and h nothing
  solve_frequencies (spectra, filter.wanted, job.mu, job.rho, last, nullptr, last, v);
  keep_inside (filter, v, g, *tables);
  for (int i = threadIdx.x; i < 2 * kNumbers; i += kThreads)
    h.re[i] = (v.re[i] - g.re[i]) / kFasterRounds;
  __syncthreads ();
  solve_frequencies (spectra, filter.wanted, job.mu, job.rho * kFasterRounds, g, &h, last, v);
  for (int i = threadIdx.x; i < 2 * kNumbers; i += kThreads)
    g.re[i] = v.re[i] + h.re[i];
  __syncthreads ();
  keep_inside (filter, g, last, *tables);
}

constexpr int kSizeThreads = 128;

/// A block has a box at one size.
__global__ void __launch_bounds__ (kSizeThreads)
sample_size (const SizeJob *jobs)
{
  __shared__ float values[kMostSizeCells * kOrientations], energies[kMostSizeCells];
  const SizeJob job = jobs[blockIdx.x];
  const int n = job.columns * job.rows;
  for (int i = threadIdx.x; i < n * kOrientations; i += kSizeThreads) {
    const std::int64_t *const from = job.gradients + i / kOrientations * kDirections;
    const int b = i % kOrientations;
    values[i] = float (from[b] + from[b + kOrientations]) * job.scale;
  }
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
    float shares[4];
    for (int k = 0; k < 4; k++)
      shares[k] = fminf (
          values[i] * block_norm (energies, job.columns, job.rows, column + k % 2, row + k / 2),
          kMostShare);
    job.sample[i] = 0.5F * (shares[0] + shares[1] + shares[2] + shares[3]);
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

int learn (const FilterJob *jobs, int n, const FilterTables *tables, Stream stream)
{
  learn_example<<<n, kThreads, 0, stream>>> (jobs, tables);
  return cudaGetLastError ();
}

}  // namespace inthist::correlation::cuda
