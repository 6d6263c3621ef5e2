// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The formulas of correlation filters, in one source for both devices. The CPU loops over the
// channels, and a GPU uses one lane for each channel. Both do the same operations in the same
// order, and no operations are fused, so that tracks have the same bits everywhere. Two formulas
// have a second implementation, with vectors of the CPU: the channels of a cell (channels.cpp), and
// butterflies (fft.cpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../host_device.hpp"

namespace inthist::correlation {

inline constexpr int kGrid = 32;      // rows and columns of cells that a filter looks at
inline constexpr int kChannels = 32;  // channels of each cell
inline constexpr int kDirections = 18, kOrientations = kDirections / 2;
inline constexpr int kCellValues = kDirections + 1;  // and luma
inline constexpr int kFilterCells = kGrid * kGrid;
// Pictures are real, so a spectrum is stored only for x up to kGrid / 2, as [y][x][channel]. At any
// other frequency (x, y) it is the conjugate of the number at (-x, -y).
inline constexpr int kHalf = kGrid / 2 + 1, kFrequencies = kGrid * kHalf,
                     kFilterNumbers = kFrequencies * kChannels;
// Two real channels (a pair) are transformed as one complex number: the first channel plus i times
// the second.
inline constexpr int kPairs = kChannels / 2;

inline constexpr float kMaxShare = 0.2F,  // the most of a block's energy that a value counts
    kFlat = 1,              // square of gray levels: keeps noise from becoming an edge
    kNeighbour = 0.3F,      // share of a neighbour in a cell
    kBlockShare = 0.2357F;  // factor of a block's sum, 1 / sqrt (18)

// Constants of learning by ADMM (filter.hpp). mu and rho are relative to the energy of the first
// example.
inline constexpr double kPeakSigma = 0.1;  // width of the peak, as a share of the box's mean side
inline constexpr float kFirstRho = 0.1F;   // rho in the first round on the first example
inline constexpr int kFirstRounds = 4;     // rounds on the first example
inline constexpr float kLaterMu = 8;       // mu on later examples, divided by the learning rate
inline constexpr float kLaterRho = 10;     // rho in the first round on later examples
inline constexpr int kLaterRounds = 2;     // rounds on later examples
inline constexpr float kRhoGrowth = 10;    // factor of rho from one round to the next

/// The weights mu and rho of the penalties (filter.hpp) when learning from an example.
struct Penalties {
  float mu, rho;

  /// Returns the penalties of the first example, which has this energy.
  INTHIST_HOST_DEVICE static Penalties first (float energy) { return { 0, kFirstRho * energy }; }
  /// Returns the penalties of a later example, with this learning rate.
  INTHIST_HOST_DEVICE static Penalties later (float energy, double rate)
  {
    return { float (double (kLaterMu * energy) / rate), kLaterRho * energy };
  }
};

/// Returns what a frequency adds to a filter's energy. `power` is the sum of the powers of all
/// channels at this frequency. A frequency between x = 0 and x = kGrid / 2 counts twice, because
/// its conjugate is not stored.
INTHIST_HOST_DEVICE inline double energy_at (int x, double power)
{
  return power * (x == 0 || x == kGrid / 2 ? 1 : 2);
}
/// Returns a filter's energy from the sum of energy_at () over all frequencies.
INTHIST_HOST_DEVICE inline float energy_of_sum (double sum)
{
  const float mean = float (sum / kFilterCells);
  return mean > 1e-6F ? mean : 1e-6F;
}

/// The factors that turn the sums of a cell into mean gray levels of a pixel, and scale luma to the
/// range -0.5 to 0.5.
struct CellScale {
  float per_length, per_luma;
};

/// The sums of a square of kGrid x kGrid cells.
struct SquareSums {
  const int *x, *y;                      // edges (see Cells)
  const std::int64_t *gradients, *luma;  // [cell][direction] and [cell][plane]
  int luma_planes;
  CellScale scale;

  /// Returns mean number i of [cell][direction].
  INTHIST_HOST_DEVICE float direction (int i) const
  {
    return float (gradients[i]) * scale.per_length;
  }
  /// Returns a cell's mean of luma.
  INTHIST_HOST_DEVICE float luma_of (int cell) const
  {
    const int row = cell / kGrid, column = cell % kGrid;
    const std::int64_t area = std::int64_t (x[column + 1] - x[column]) * (y[row + 1] - y[row]);
    return float (luma[cell * luma_planes] - 128 * area) * scale.per_luma;
  }
};

/// The input of sample_size (): the cells of a box at one size, with their sums of gradients as
/// [cell][direction].
struct SizeJob {
  const std::int64_t *gradients;
  int columns, rows;
  float scale;    // turns the sums into mean gray levels of a pixel
  float *sample;  // [cell][orientation]

  INTHIST_HOST_DEVICE float value (int cell, int orientation) const
  {
    const std::int64_t *const from = gradients + cell * kDirections;
    return float (from[orientation] + from[orientation + kOrientations]) * scale;
  }
};

/// Returns the weighted mean of a value and its two neighbours along an axis.
INTHIST_HOST_DEVICE inline float smoothed (float before, float value, float after)
{
  constexpr float kScale = 1 / (1 + 2 * kNeighbour);
  return (value + kNeighbour * (before + after)) * kScale;
}

/// Returns the energy of a cell with these directions.
INTHIST_HOST_DEVICE inline float energy_of (const float *directions)
{
  float energy = 0;
  for (int b = 0; b < kOrientations; b++) {
    const float both = directions[b] + directions[b + kOrientations];
    energy += both * both;
  }
  return energy;
}

/// Returns 1 / the energy of the four cells around a corner. Cells outside of the grid repeat the
/// cells at the border of the grid.
INTHIST_HOST_DEVICE inline float block_norm (const float *energies, int columns, int rows, int x,
                                             int y)
{
  const int above = std::max (0, y - 1) * columns, below = std::min (rows - 1, y) * columns,
            left = std::max (0, x - 1), right = std::min (columns - 1, x);
  return 1
         / std::sqrt (energies[above + left] + energies[above + right] + energies[below + left]
                      + energies[below + right] + kFlat);
}

/// Finds the norms of the four blocks around a cell among the norms of all corners.
struct BlockNorms {
  float at[4];

  INTHIST_HOST_DEVICE BlockNorms (const float *norms, int columns, int row, int column)
  {
    const float *const corner = norms + row * (columns + 1) + column;
    at[0] = corner[0], at[1] = corner[1];
    at[2] = corner[columns + 1], at[3] = corner[columns + 2];
  }
};

/// Returns a value times a block's norm, clipped to kMaxShare.
INTHIST_HOST_DEVICE inline float clipped (float value, float norm)
{
#ifdef __CUDA_ARCH__
  return fminf (value * norm, kMaxShare);  // one instruction on a GPU, but a call on the CPU
#else
  return std::min (value * norm, kMaxShare);
#endif
}

/// Returns half the sum of clipped () over the four blocks around the value's cell, times `fade`.
INTHIST_HOST_DEVICE inline float shares_of (float value, const float *around, float fade = 1)
{
  return 0.5F * fade
         * (clipped (value, around[0]) + clipped (value, around[1]) + clipped (value, around[2])
            + clipped (value, around[3]));
}

/// A complex number.
struct Number {
  float re, im;

  INTHIST_HOST_DEVICE Number operator+ (Number b) const { return { re + b.re, im + b.im }; }
  INTHIST_HOST_DEVICE Number operator- (Number b) const { return { re - b.re, im - b.im }; }
  INTHIST_HOST_DEVICE Number operator* (Number b) const
  {
    return { re * b.re - im * b.im, re * b.im + im * b.re };
  }
  INTHIST_HOST_DEVICE Number operator* (float b) const { return { re * b, im * b }; }
  INTHIST_HOST_DEVICE Number times_minus_i () const { return { im, -re }; }
  /// Returns conj (this number) * b.
  INTHIST_HOST_DEVICE Number conjugate_times (Number b) const
  {
    return { re * b.re + im * b.im, re * b.im - im * b.re };
  }
  INTHIST_HOST_DEVICE float power () const { return re * re + im * im; }
};

/// Returns the first channel of a pair at a frequency. `there` is the pair at this frequency, and
/// `mirrored` is the pair at the conjugate frequency. If the caller multiplies both by -i, the
/// result is the second channel.
INTHIST_HOST_DEVICE inline Number first_of_pair (Number there, Number mirrored)
{
  return { 0.5F * (there.re + mirrored.re), 0.5F * (there.im - mirrored.im) };
}
/// Combines two channels to a pair. With a sign of 1, returns the pair at the channels' frequency,
/// and with -1 the pair at the conjugate frequency.
INTHIST_HOST_DEVICE inline Number pair_of (Number first, Number second, float sign)
{
  return { first.re - sign * second.im, second.re + sign * first.im };
}

/// Returns b of the equation (conj (x) x' + mu + rho) v = b for one channel. y is the wanted
/// response. The penalty rho keeps the weights v near `near`, and mu keeps them near `last`.
INTHIST_HOST_DEVICE inline Number right_side (Number x, float y, Number near, float rho,
                                              Number last, float mu)
{
  return { x.re * y + rho * near.re + mu * last.re, -x.im * y + rho * near.im + mu * last.im };
}

}  // namespace inthist::correlation
