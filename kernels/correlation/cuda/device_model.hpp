// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The models of many targets on a GPU: each has a correlation filter, a filter of sizes, and
// colours, with the same bits as a model on the CPU. A launch of a kernel works on n targets and
// gets one job for each target. Jobs, and all that their pointers point to, are in device memory.
#pragma once

#include "../../cells.hpp"
#include "../../inthist.hpp"
#include "../cell_grid.hpp"
#include "../colours.hpp"
#include "../formulas.hpp"
#include "../match.hpp"
#include "../sizes.hpp"

namespace inthist::correlation::cuda {

using inthist::cuda::CellsOnDevice;

/// Complex numbers: first all real parts, and from index kFilterNumbers on all imaginary parts.
using FilterSpectrum = float[2 * kFilterNumbers];

struct ModelMemory {
  FilterSpectrum weights,  // of the filter
      example;             // its next example
  float wanted[kFrequencies];
  float inside[kFilterCells];  // share of each cell in the box, divided by kFilterCells
  float energy;                // of the first surroundings

  float numerator_re[kSizes * kMaxSizeChannels],  // sizes, [frequency][channel]
      numerator_im[kSizes * kMaxSizeChannels];
  float denominator[kSizes], regularisation;
  float sample[kSizes * kMaxSizeChannels];  // the last sample, [size][channel]

  // Each bin's share of the target's pixels and of the pixels around the target; 0 at first.
  double target_shares[kMaxColourBins], background_shares[kMaxColourBins];
  int has_colours;
  std::uint8_t scores[kMaxColourBins];
};

/// The scratch memory of a block of threads, for a target's correlation filter or filter of sizes.
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

/// The scratch memory of all n blocks of threads that work at the same time.
struct Scratch {
  BlockScratch *blocks;
  int n;
};

struct ModelTables {
  static constexpr int kTwiddles = 42,  // twiddle factors of kGrid numbers (radix 4, 4, 2)
      kSizeTwiddles = 20;               // twiddle factors of kSizes numbers (radix 4, 4)

  float window[kGrid];
  float twiddle_re[kTwiddles], twiddle_im[kTwiddles];
  float size_twiddle_re[kSizeTwiddles], size_twiddle_im[kSizeTwiddles];
  SizeTables sizes;
  std::uint16_t values[2 * 256];  // weights of luma values: each value, and its square
};

/// A grid of cells for lay_out (), which writes the cells' edges to `x` and `y`, and the scores of
/// pixel values in the model `colours`, if it is not null, to `value_weights`.
struct GridJob {
  CellGrid grid;
  bool whole_pixels;  // the cells' edges are whole pixels, each written once
  int *x, *y;
  const ModelMemory *colours;
  std::uint16_t *value_weights;
  std::int64_t *sums;
};
/// Computes the edges of n grids of cells in a frame. `lut` maps the values of pixels to bins.
[[nodiscard]] int lay_out (const GridJob *jobs, int n, CellsOnDevice *grids, int width, int height,
                           const Lut &lut, Stream stream);

/// The sums of gradients and luma in the cells of a square of kGrid x kGrid cells.
struct SquareCells {
  const CellsOnDevice *gradients, *luma;
  int luma_planes;
  CellFactors scale;
};

struct SearchJob {
  const ModelMemory *model;
  SquareCells square;
  const CellsOnDevice *scores;
  double *score_sums;  // of each corner
  double x, y;         // the middle of the square
  double cell;         // of a cell, in pixels
  double width, height;
  ShiftWeights weights;
  bool has_motion;  // whether the weights of shifts come from a known motion
  double per_peak;
  Match *match;
};
/// Finds the best place of each job's target in the square of cells around the target.
[[nodiscard]] int search (const SearchJob *jobs, int n, const ModelTables *tables,
                          const Scratch &scratch, Stream stream);

struct FrameSearchJob {
  const CellsOnDevice *scores;
  double *score_sums, *means;  // room for sums of scores at corners, mean scores of boxes
  double *x, *y;               // middles of boxes
  EdgeRange *columns, *rows;   // where boxes begin and end
  int n_x, n_y;                // columns and rows of boxes
  double first_x, first_y, step_x, step_y;
  double width, height, min_distance;
  Centre *candidates;  // room for kMaxCandidates places; unused ones have an x of NaN
};
/// Finds the boxes in a frame with the highest scores of colours, of which none is near another.
[[nodiscard]] int search_frame (const FrameSearchJob *jobs, int n, Stream stream);

struct ExampleJob {
  ModelMemory *model;
  SquareCells square;
  const double *phase_factors;  // shift the example by phase factors (cpu/filter.hpp); or null
  // FilterBox::wanted and FilterBox::inside if a filter starts with this example; otherwise null
  const float *wanted, *inside;
  float kept_share;  // share of the weights before
};
/// Computes the next example of each job's filter: the spectra of a square of cells. A new filter
/// starts with this example.
[[nodiscard]] int make_examples (const ExampleJob *jobs, int n, const ModelTables *tables,
                                 const Scratch &scratch, Stream stream);

struct LearnJob {
  ModelMemory *model;
  double rate;
};
[[nodiscard]] int learn (const LearnJob *jobs, int n, const ModelTables *tables,
                         const Scratch &scratch, Stream stream);

struct SizeFilterJob {
  ModelMemory *model;
  const CellsOnDevice *grids;  // grids of the box at kSizes sizes; null: use the last sample
  int columns, rows;
  float factors[kSizes];  // turn sums of gradients into gray levels per pixel
  // Room for the response to each size of the box. If null, the filter of sizes learns the sample.
  double *response;
  // Before learning, each size of a sample is mixed with a neighbouring size, which has this share.
  float mixed_share;
  bool larger;  // the next larger size is mixed in, not the next smaller
  float rate;   // learning rate; 1 replaces all that was learned before
};
[[nodiscard]] int find_or_learn_sizes (const SizeFilterJob *jobs, int n, const ModelTables *tables,
                                       const Scratch &scratch, Stream stream);

struct ColoursJob {
  ModelMemory *model;
  const std::uint32_t *counts;  // counts [box][bin] of a target's inner part, its box, a larger box
  double rate;
};
[[nodiscard]] int learn_colours (const ColoursJob *jobs, int n, int bins, Stream stream);

}  // namespace inthist::correlation::cuda
