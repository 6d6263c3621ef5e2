// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation filters of many targets on a GPU. The CPU has the same filters, with the same bits
// (filter.hpp).
#pragma once

#include "../inthist.hpp"
#include "formulas.hpp"

namespace inthist::correlation::cuda {

/// Complex numbers with their parts apart: the imaginary ones lie kFilterNumbers behind.
using FilterSpectrum = float[2 * kFilterNumbers];

/// A target's filter in device memory.
struct DeviceFilterMemory {
  FilterSpectrum weights,  // of the filter
      searched,            // of the last search,
      example;             // and what is learned from next
  float wanted[kFrequencies];
  float inside[kFilterCells];  // share of each cell in the box, by kFilterCells
  float energy;                // of the first surroundings
  // scratch memory of a step
  FilterSpectrum v, g, h;
  float pairs[2 * kFilterCells * kPairs];
  float response[2 * kFilterCells];
};

/// Tables in device memory that all filters share.
struct FilterTables {
  static constexpr int kTwiddles = 42;  // of passes of radix 4, 4 and 2

  float window[kGrid];
  float twiddle_re[kTwiddles], twiddle_im[kTwiddles];
};

/// A step of a filter. Its pointers are to device memory.
struct FilterJob {
  DeviceFilterMemory *filter;
  SquareSums square;
  // The response, [y][x].
  float *response;
  double rate;  // of learning; with 0 nothing is learned
  // The numbers of the first box (FilterBox); null if the filter does not start.
  const float *wanted, *inside;
  float kept;  // share of the weights before
  // To move what was searched: phase factors (filter.hpp), a complex number each.
  const double *phase_factors;
};

inline constexpr int kMaxSizeCells = 256;

/// Computes the samples of n boxes, each at one size (channels.hpp).
[[nodiscard]] int sample_sizes (const SizeJob *jobs, int n, Stream stream);

/// Computes the spectra of n squares, those that were searched, or examples to learn from.
[[nodiscard]] int describe_squares (const FilterJob *jobs, int n, const FilterTables *tables,
                                    bool examples, Stream stream);
/// Computes the responses to what was searched.
[[nodiscard]] int respond (const FilterJob *jobs, int n, const FilterTables *tables, Stream stream);
/// Moves what was searched, to be an example.
[[nodiscard]] int move_searched (const FilterJob *jobs, int n, Stream stream);
/// Starts filters with examples.
[[nodiscard]] int start (const FilterJob *jobs, int n, const FilterTables *tables, Stream stream);
/// Learns from examples.
[[nodiscard]] int learn (const FilterJob *jobs, int n, const FilterTables *tables, Stream stream);

}  // namespace inthist::correlation::cuda
