// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation filters of many targets on a GPU: the kernels, and what both devices compute by. The
// CPU has the same filters, and says what they are (filter.hpp): the same operations in the same
// order, and the same bits.
#pragma once

#include <cstdint>

#include "../inthist.hpp"

namespace inthist::correlation {

inline constexpr int kGrid = 32;      // cells of the filter, each way
inline constexpr int kChannels = 32;  // of a cell of the filter
inline constexpr int kDirections = 18, kOrientations = kDirections / 2;

inline constexpr float kMostShare = 0.2F,  // of a block
    kFlat = 1,                             // square of gray levels: noise is not made an edge
    kNeighbour = 0.3F,                     // what a cell has of those beside it
    kBlockShare = 0.2357F,                 // of what a block adds up to, 1 / sqrt (18)
    kFasterRounds = 10;                    // times rho, each round of learning

namespace cuda {

inline constexpr int kFilterCells = kGrid * kGrid, kFilterFrequencies = kGrid * (kGrid / 2 + 1),
                     kFilterNumbers = kFilterFrequencies * kChannels;  // of a spectrum

/// Complex numbers with their parts apart: the imaginary ones lie kFilterNumbers behind.
using FilterSpectrum = float[2 * kFilterNumbers];

/// A target's filter in device memory.
struct DeviceFilterMemory {
  FilterSpectrum weights,  // of the filter
      searched,            // of the last search,
      example;             // and what is learned from next
  float wanted[kFilterFrequencies];
  float inside[kFilterCells];  // share of each cell in the box, by kFilterCells
  // what is used meanwhile
  FilterSpectrum v, g, h;
  float pairs[2 * kFilterCells * kChannels / 2];
  float response[2 * kFilterCells];
};

/// What all filters have in common, in device memory.
struct FilterTables {
  static constexpr int kTwiddles = 42;  // of passes of radix 4, 4 and 2

  float window[kGrid];
  float twiddle_re[kTwiddles], twiddle_im[kTwiddles];
};

/// What is done to a filter, in device memory.
struct FilterJob {
  DeviceFilterMemory *filter;
  // What the cells of a square have: their edges, as in Cells, and sums of gradients [cell][bin]
  // and of luma [cell][plane], and what makes these mean gray levels a pixel.
  const int *x, *y;
  const std::int64_t *gradients, *luma;
  int luma_planes;
  float per_length, per_luma;
  // The response, [y][x].
  float *response;
  // What to learn by (CorrelationFilter::solve), or a rho of 0 for nothing.
  float mu, rho;
  // Turns of frequencies, x up to half and all y: a complex number each, by which to move.
  const double *turns;
};

/// A box's cells at one size, in device memory: their sums of gradients, [cell][direction], and
/// what makes these mean gray levels a pixel.
struct SizeJob {
  const std::int64_t *gradients;
  int columns, rows;
  float scale;
  float *sample;  // [cell][orientation]
};
inline constexpr int kMostSizeCells = 256;

/// Computes what n boxes at a size look like, as ScaleFilter::sample.
[[nodiscard]] int sample_sizes (const SizeJob *jobs, int n, Stream stream);

/// Computes the spectra of n squares, those that were searched, or examples to learn from.
[[nodiscard]] int describe_squares (const FilterJob *jobs, int n, const FilterTables *tables,
                                    bool examples, Stream stream);
/// Computes the responses to what was searched.
[[nodiscard]] int respond (const FilterJob *jobs, int n, const FilterTables *tables, Stream stream);
/// Moves what was searched, to be an example.
[[nodiscard]] int move_searched (const FilterJob *jobs, int n, Stream stream);
/// Learns from examples.
[[nodiscard]] int learn (const FilterJob *jobs, int n, const FilterTables *tables, Stream stream);

}  // namespace cuda
}  // namespace inthist::correlation
