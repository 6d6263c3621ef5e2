// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The models of many targets on a GPU: each has a correlation filter, a filter of sizes, and
// colours. The CPU has the same models, with the same bits. A launch is about n targets, and what
// it is to do with each is a job. Pointers of jobs are to device memory.
#pragma once

#include "../cells.hpp"
#include "../inthist.hpp"
#include "cell_grid.hpp"
#include "colours.hpp"
#include "formulas.hpp"
#include "match.hpp"
#include "sizes.hpp"

namespace inthist::correlation::cuda {

using inthist::cuda::CellsOnDevice;

/// Complex numbers with their parts apart: the imaginary ones lie kFilterNumbers behind.
using FilterSpectrum = float[2 * kFilterNumbers];

/// What is learned of a target.
struct ModelMemory {
  FilterSpectrum weights,  // of the filter
      example;             // what is learned from next
  float wanted[kFrequencies];
  float inside[kFilterCells];  // share of each cell in the box, by kFilterCells
  float energy;                // of the first surroundings

  float numerator_re[kSizes * kMaxSizeChannels],  // of the sizes, [frequency][channel]
      numerator_im[kSizes * kMaxSizeChannels];
  float denominator[kSizes], regular;
  float sample[kSizes * kMaxSizeChannels];  // that the size was found by, [size][channel]

  // Shares of the pixels, by bin; all 0 at first.
  double target_shares[kMaxColourBins], around_shares[kMaxColourBins];
  int has_colours;
  std::uint8_t scores[kMaxColourBins];
};

/// What a block of threads writes while it works for a target.
union BlockScratch {
  struct {
    FilterSpectrum v, g, h;
    float pairs[2 * kFilterCells * kPairs];
  } filter;
  struct {
    float re[kSizes * kMaxSizeChannels], im[kSizes * kMaxSizeChannels];
    float energies[kSizes * kMaxSizeCells];
  } sizes;
};

/// The scratch memory of n blocks, which work at the same time.
struct Scratch {
  BlockScratch *blocks;
  int n;
};

/// Tables in device memory that all models share.
struct ModelTables {
  static constexpr int kTwiddles = 42,  // of transforms of kGrid, of radix 4, 4 and 2,
      kSizeTwiddles = 20;               // and of kSizes, of radix 4 and 4

  float window[kGrid];
  float twiddle_re[kTwiddles], twiddle_im[kTwiddles];
  float size_twiddle_re[kSizeTwiddles], size_twiddle_im[kSizeTwiddles];
  SizeTables sizes;
  std::uint16_t values[2 * 256];  // each value, and its square: what pixels of luma count
};

/// A grid to find the edges of, in the memory of the job.
struct GridJob {
  CellGrid grid;
  bool whole_pixels;             // each edge is one, and counts once
  int *x, *y;                    // as many as there are edges
  const ModelMemory *colours;    // whose scores are what values count, and go to `value_weights`;
  std::uint16_t *value_weights;  // or null
  std::int64_t *sums;
};
/// Lays out grids in frames of this size. `lut` is from values to bins.
[[nodiscard]] int lay_out (const GridJob *jobs, int n, CellsOnDevice *grids, int width, int height,
                           const Lut &lut, Stream stream);

/// The sums of a square of kGrid x kGrid cells.
struct SquareCells {
  const CellsOnDevice *gradients, *luma;
  int luma_planes;
  CellScale scale;
};

struct SearchJob {
  const ModelMemory *model;
  SquareCells square;
  const CellsOnDevice *scores;
  double *score_sums;  // of each corner
  double x, y;         // the middle of the square
  double cell;         // the side of a cell of it
  double width, height;
  ShiftWeights weights;
  bool has_motion;  // the weights are of one
  double per_peak;
  Match *match;
};
/// Finds the best place of each square.
[[nodiscard]] int search (const SearchJob *jobs, int n, const ModelTables *tables,
                          const Scratch &scratch, Stream stream);

struct SpotJob {
  const CellsOnDevice *scores;
  double *score_sums, *means;  // of each corner; of each box
  double *x, *y;               // the boxes' middles,
  EdgeRange *columns, *rows;   // and where they begin and end
  int n_x, n_y;                // how many those are
  double first_x, first_y, step_x, step_y;
  double width, height, apart;
  Spot *spots;  // kMaxSpots of them; x is NaN if there is none
};
/// Finds the boxes with the highest scores of which none is near another.
[[nodiscard]] int find_spots (const SpotJob *jobs, int n, Stream stream);

struct ExampleJob {
  ModelMemory *model;
  SquareCells square;
  const double *phase_factors;  // by which it is moved (filter.hpp); null if it is not
  // A filter that starts with the example: the numbers of its box (FilterBox); else null.
  const float *wanted, *inside;
  float kept;  // share of the weights before
};
/// Makes examples of squares, and starts filters with them.
[[nodiscard]] int make_examples (const ExampleJob *jobs, int n, const ModelTables *tables,
                                 const Scratch &scratch, Stream stream);

struct LearnJob {
  ModelMemory *model;
  double rate;
};
/// Has filters learn from their examples.
[[nodiscard]] int learn (const LearnJob *jobs, int n, const ModelTables *tables,
                         const Scratch &scratch, Stream stream);

struct SizesJob {
  ModelMemory *model;
  const CellsOnDevice *grids;  // kSizes of them; null to go on with the last sample
  int columns, rows;
  float scales[kSizes];  // make sums mean gray levels a pixel
  // To find the size: the response to each one; else null.
  double *response;
  // To learn from the sample, of which a neighbour's share is mixed in: 0 for none.
  float mixed_share;
  bool larger;  // the neighbour is the next larger one
  float rate;   // share of the sample; 1 for the first time, which forgets what was before
};
[[nodiscard]] int find_or_learn_sizes (const SizesJob *jobs, int n, const ModelTables *tables,
                                       const Scratch &scratch, Stream stream);

struct ColoursJob {
  ModelMemory *model;
  const std::uint32_t *counts;  // [box][bin]: the inner part, the box, and what is around it
  double rate;
};
[[nodiscard]] int learn_colours (const ColoursJob *jobs, int n, int bins, Stream stream);

}  // namespace inthist::correlation::cuda
