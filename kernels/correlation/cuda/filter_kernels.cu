// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation filters that learn on a GPU (device_model.hpp), by ADMM as in cpu/filter.hpp.
#include "filter_block.cuh"

namespace inthist::correlation::cuda {
namespace {

/// Shifts the channels that the spectra belong to, by multiplying with phase factors.
__device__ void move (const ComplexPointers &spectra, const double *phase_factors)
{
  const double *const right = phase_factors, *const down = right + 2 * kHalf;
  for_warps (
      kFrequencies,
      [&] (int f) {
        const int y = f / kHalf, x = f % kHalf;
        const double ar = right[2 * x], ai = right[2 * x + 1], br = down[2 * y],
                     bi = down[2 * y + 1];
        return spectra.at (f * kChannels + lane ())
               * Complex{ float (ar * br - ai * bi), float (ar * bi + ai * br) };
      },
      [&] (int f, Complex number) { spectra.set (f * kChannels + lane (), number); });
  __syncthreads ();
}

__device__ Complex number_at (const ComplexPointers *spectrum, int i)
{
  return spectrum ? spectrum->at (i) : Complex{ 0, 0 };
}

/// Begins a round of ADMM (cpu/filter.hpp): sets `v` to the best weights without a box. Penalties
/// keep v near g - h and near the last weights.
__device__ void solve_frequencies (const ComplexPointers &spectra, const float *wanted, float mu,
                                   float rho, const ComplexPointers *g, const ComplexPointers *h,
                                   const ComplexPointers *last, const ComplexPointers &v)
{
  const float tau = mu + rho, share = 1 / tau;
  struct Sides {
    Complex x, b;
  };
  for_warps (
      kFrequencies,
      [&] (int f) {
        const int i = f * kChannels + lane ();
        const Complex x = spectra.at (i);
        return Sides{ x, right_side (x, wanted[f], number_at (g, i) - number_at (h, i), rho,
                                     number_at (last, i), mu) };
      },
      [&] (int f, const Sides &sides) {
        const Complex product = sides.x * sides.b;
        const float scale = 1 / (tau + sum_of (sides.x.power ()));
        const Complex s = Complex{ sum_of (product.re), sum_of (product.im) } * scale;
        v.set (f * kChannels + lane (), (sides.b - sides.x.conjugate_times (s)) * share);
      });
  __syncthreads ();
}

/// Sets the weights with the spectra `g` to 0 outside of the box, and writes their spectra to `to`.
__device__ void keep_inside (const ModelMemory &model, const Workspace &work,
                             const ComplexPointers &g, const ComplexPointers &to)
{
  const ComplexPointers pairs = work.pairs, swapped = { pairs.im, pairs.re };
  const ModelTables &tables = work.tables;
  pack (g, pairs);
  transform_lines<kPairs> (swapped, false, tables);
  // each thread transforms a row back to weights, applies the box, and transforms the row again
  const int row = int (threadIdx.x) / kPairs,
            first = row * kGrid * kPairs + int (threadIdx.x) % kPairs;
  Complex numbers[kGrid];
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

/// Lets a filter learn from its example by rounds of ADMM (cpu/filter.hpp), which compute v, g and
/// h in this order. The last g is written to `to`. `last` has the filter's weights so far, or is
/// null.
__device__ void solve (const ModelMemory &model, const Workspace &work, const Penalties &penalties,
                       int rounds, const ComplexPointers *last, const ComplexPointers &to)
{
  // A loop up to 2 kFilterNumbers computes both parts of all numbers, because the imaginary parts
  // of a FilterSpectrum lie behind the real ones.
  static_assert (std::extent_v<FilterSpectrum> == 2 * kFilterNumbers);
  const ComplexPointers spectra = spectrum (model.example), v = spectrum (work.scratch.v),
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

__device__ void measure_energy (ModelMemory &model)
{
  __shared__ double powers[kFrequencies];
  const ComplexPointers spectra = spectrum (model.example);
  for (int f = threadIdx.x; f < kFrequencies; f += kThreads) {
    double power = 0;
    for (int c = 0; c < kChannels; c++)
      power += spectra.at (f * kChannels + c).power ();
    powers[f] = energy_at (f % kHalf, power);
  }
  __syncthreads ();
  if (threadIdx.x == 0) {
    double sum = 0;
    for (const double power : powers)  // adds in the order of the CPU
      sum += power;
    model.energy = energy_of_sum (sum);
  }
  __syncthreads ();
}

__device__ void start_filter (const ExampleJob &job, const Workspace &work)
{
  ModelMemory &model = *job.model;
  for (int i = threadIdx.x; i < kFrequencies; i += kThreads)
    model.wanted[i] = job.wanted[i];
  for (int i = threadIdx.x; i < kFilterCells; i += kThreads)
    model.inside[i] = job.inside[i];
  measure_energy (model);
  const ComplexPointers weights = spectrum (model.weights), g = spectrum (work.scratch.g);
  solve (model, work, Penalties::first (model.energy), kFirstRounds, nullptr, g);
  for_numbers (
      2 * kFilterNumbers,
      [&] (int i) {
        return job.kept_share > 0 ? g.re[i] + job.kept_share * (weights.re[i] - g.re[i]) : g.re[i];
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
    const ComplexPointers example = spectrum (job.model->example);
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
    const ComplexPointers weights = spectrum (model.weights);
    solve (model, work, Penalties::later (model.energy, jobs[i].rate), kLaterRounds, &weights,
           weights);
  }
}

}  // namespace

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
