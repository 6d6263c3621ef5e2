// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The models of many targets on a GPU: each has a correlation filter, a filter of sizes, and
// colours. The CPU has the same models, with the same bits. A launch works on n targets, and has a
// job for each target. The pointers in jobs are to device memory.
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

/// Complex numbers: all real parts, and then all imaginary parts, from kFilterNumbers on.
using FilterSpectrum = float[2 * kFilterNumbers];

/// The learned model of one target.
struct ModelMemory {
  FilterSpectrum weights,  // of the filter
      example;             // the filter learns from this next
  float wanted[kFrequencies];
  float inside[kFilterCells];  // share of each cell in the box, divided by kFilterCells
  float energy;                // of the first surroundings

  float numerator_re[kSizes * kMaxSizeChannels],  // of the sizes, [frequency][channel]
      numerator_im[kSizes * kMaxSizeChannels];
  float denominator[kSizes], regular;
  float sample[kSizes * kMaxSizeChannels];  // the last sample, [size][channel]

  // Shares of the pixels, by bin; all 0 at first.
  double target_shares[kMaxColourBins], around_shares[kMaxColourBins];
  int has_colours;
  std::uint8_t scores[kMaxColourBins];
};

/// The memory that a block of threads writes to while it works on a target.
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
  static constexpr int kTwiddles = 42,  // of transforms of kGrid numbers (radix 4, 4, 2)
      kSizeTwiddles = 20;               // of transforms of kSizes numbers (radix 4, 4)

  float window[kGrid];
  float twiddle_re[kTwiddles], twiddle_im[kTwiddles];
  float size_twiddle_re[kSizeTwiddles], size_twiddle_im[kSizeTwiddles];
  SizeTables sizes;
  std::uint16_t values[2 * 256];  // value_weights for luma: each value, and its square
};

/// A grid of cells. The edges of the cells go to `x` and `y`.
struct GridJob {
  CellGrid grid;
  bool whole_pixels;             // edges are whole pixels, each listed once
  int *x, *y;                    // room for all edges
  const ModelMemory *colours;    // the scores of their bins become `value_weights`;
  std::uint16_t *value_weights;  // null: no scores
  std::int64_t *sums;
};
/// Lays out grids in frames of this size. `lut` maps values to bins.
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
  double cell;         // the side of a cell of the square
  double width, height;
  ShiftWeights weights;
  bool has_motion;  // `weights` are of a known motion
  double per_peak;
  Match *match;
};
/// Finds the best place of each square.
[[nodiscard]] int search (const SearchJob *jobs, int n, const ModelTables *tables,
                          const Scratch &scratch, Stream stream);

struct SpotJob {
  const CellsOnDevice *scores;
  double *score_sums, *means;  // of each corner; of each box
  double *x, *y;               // the middles of the boxes,
  EdgeRange *columns, *rows;   // and where boxes begin and end
  int n_x, n_y;                // columns and rows of boxes
  double first_x, first_y, step_x, step_y;
  double width, height, apart;
  Spot *spots;  // room for kMaxSpots; a place that is not used has an x of NaN
};
/// Finds the boxes with the highest scores that are not near each other.
[[nodiscard]] int find_spots (const SpotJob *jobs, int n, Stream stream);

struct ExampleJob {
  ModelMemory *model;
  SquareCells square;
  const double *phase_factors;  // move the example (filter.hpp); null: it stays
  // If the filter starts with the example: the numbers of the target's box (FilterBox). If not:
  // null.
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
/// Makes filters learn from their examples.
[[nodiscard]] int learn (const LearnJob *jobs, int n, const ModelTables *tables,
                         const Scratch &scratch, Stream stream);

struct SizesJob {
  ModelMemory *model;
  const CellsOnDevice *grids;  // kSizes grids; null: use the last sample
  int columns, rows;
  float scales[kSizes];  // turn sums into mean gray levels of a pixel
  // To find the size: the response to each size. If not: null.
  double *response;
  // To learn from the sample: the share of a neighbouring size that is mixed in, 0 for none.
  float mixed_share;
  bool larger;  // the neighbour is the next larger one
  float rate;   // share of the sample; 1 the first time, which forgets all before
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
