// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The models of many targets on a GPU: each has a correlation filter, a filter of sizes, and
// colours. The models of the CPU have the same bits. A launch works on n targets and gets one job
// for each target. Jobs, and all that their pointers point to, are in device memory.
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

/// Complex numbers: all real parts come first, and all imaginary parts follow, from index
/// kFilterNumbers on.
using FilterSpectrum = float[2 * kFilterNumbers];

/// The learned model of one target.
struct ModelMemory {
  FilterSpectrum weights,  // of the filter
      example;             // spectrum that the filter learns from next
  float wanted[kFrequencies];
  float inside[kFilterCells];  // share of each cell in the box, divided by kFilterCells
  float energy;                // of the first surroundings

  float numerator_re[kSizes * kMaxSizeChannels],  // of the filter of sizes, [frequency][channel]
      numerator_im[kSizes * kMaxSizeChannels];
  float denominator[kSizes], regular;
  float sample[kSizes * kMaxSizeChannels];  // the last sample, [size][channel]

  // For each bin, its share of the target's pixels and of the pixels around the target. All shares
  // are 0 at first.
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

/// A grid of cells for lay_out (), which writes the edges of the cells to `x` and `y`.
struct GridJob {
  CellGrid grid;
  bool whole_pixels;             // edges are whole pixels, each listed once
  int *x, *y;                    // room for all edges
  const ModelMemory *colours;    // their scores of bins are written to `value_weights`;
  std::uint16_t *value_weights;  // null: no scores
  std::int64_t *sums;
};
/// Computes the edges of the cells of n grids in frames of this size. `lut` maps the values of
/// pixels to bins.
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
  bool has_motion;  // whether `weights` come from a known motion
  double per_peak;
  Match *match;
};
/// Finds the best place of each job's target in the square of cells around it.
[[nodiscard]] int search (const SearchJob *jobs, int n, const ModelTables *tables,
                          const Scratch &scratch, Stream stream);

struct SpotJob {
  const CellsOnDevice *scores;
  double *score_sums, *means;  // room for a sum at each corner, and for each box
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
  const double *phase_factors;  // shift the example (filter.hpp); null: no shift
  // FilterBox::wanted and FilterBox::inside if the filter starts with this example, or null if it
  // has learned before.
  const float *wanted, *inside;
  float kept;  // share of the weights before
};
/// Computes an example for each filter from a square of cells. New filters start with their
/// example.
[[nodiscard]] int make_examples (const ExampleJob *jobs, int n, const ModelTables *tables,
                                 const Scratch &scratch, Stream stream);

struct LearnJob {
  ModelMemory *model;
  double rate;
};
/// Updates each filter with the example that make_examples () computed for it.
[[nodiscard]] int learn (const LearnJob *jobs, int n, const ModelTables *tables,
                         const Scratch &scratch, Stream stream);

struct SizesJob {
  ModelMemory *model;
  const CellsOnDevice *grids;  // kSizes grids; null: use the last sample
  int columns, rows;
  float scales[kSizes];  // turn sums into mean gray levels of a pixel
  // The response to each size is written here. If this is null, the filter of sizes learns the
  // sample.
  double *response;
  // Used when learning: the values of each size are mixed with those of a neighbouring size. This
  // is the neighbour's share; 0: no mixing.
  float mixed_share;
  bool larger;  // the neighbour is the next larger size, not the next smaller
  float rate;   // learning rate; 1 for the first sample, which replaces all that was learned before
};
[[nodiscard]] int find_or_learn_sizes (const SizesJob *jobs, int n, const ModelTables *tables,
                                       const Scratch &scratch, Stream stream);

struct ColoursJob {
  ModelMemory *model;
  const std::uint32_t *counts;  // [box][bin]: of the target's inner part, its box, and a larger box
  double rate;
};
[[nodiscard]] int learn_colours (const ColoursJob *jobs, int n, int bins, Stream stream);

}  // namespace inthist::correlation::cuda
