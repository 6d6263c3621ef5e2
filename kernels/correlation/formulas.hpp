// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The formulas of correlation filters, in one source for both devices. The CPU loops over the
// channels, and a GPU uses one lane for each channel. Both do the same operations in the same
// order, and no operations are fused, so that tracks have the same bits everywhere. Two formulas
// have a second implementation, with vectors of the CPU: the channels of a cell and the
// butterflies (cpu/channels.cpp, cpu/fft.cpp).
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
// Channels are real, so a spectrum is stored only for x up to kGrid / 2, as [y][x][channel]. At any
// other frequency (x, y) it is the conjugate of the number at (-x, -y).
inline constexpr int kHalf = kGrid / 2 + 1, kFrequencies = kGrid * kHalf,
                     kFilterNumbers = kFrequencies * kChannels;
// Two real channels, a pair, are transformed as one complex signal: first channel + i second.
inline constexpr int kPairs = kChannels / 2;

// Constants of the channels (cpu/channels.hpp)
inline constexpr float kMaxShare = 0.2F;       // a larger share of a block's energy is clipped
inline constexpr float kFlat = 1;              // gray levels, squared: less is noise, and no edge
inline constexpr float kNeighbour = 0.3F;      // weight of a neighbouring cell in smoothing
inline constexpr float kBlockShare = 0.2357F;  // 1 / sqrt (18), a factor of the sums of blocks

// Constants of learning by ADMM (cpu/filter.hpp): weights mu and rho of penalties, relative to the
// energy of the first example, and numbers of rounds, for the first example and for later ones
inline constexpr double kPeakSigma = 0.1;  // width of the wanted peak, as a share of the box's side
inline constexpr float kFirstRho = 0.1F;   // in the first round
inline constexpr int kFirstRounds = 4;
inline constexpr float kLaterMu = 8;    // divided by the learning rate
inline constexpr float kLaterRho = 10;  // in the first round
inline constexpr int kLaterRounds = 2;
inline constexpr float kRhoGrowth = 10;  // factor of the penalty's weight rho in each round

/// The weights mu and rho of the penalties of ADMM (cpu/filter.hpp), on the first example and on
/// later ones. `energy` is that of the first example.
struct Penalties {
  float mu, rho;

  HOST_DEVICE static Penalties first (float energy) { return { 0, kFirstRho * energy }; }
  HOST_DEVICE static Penalties later (float energy, double rate)
  {
    return { float (double (kLaterMu * energy) / rate), kLaterRho * energy };
  }
};

/// Returns what a frequency, whose power is summed over all channels, adds to the energy of an
/// example. A frequency between x = 0 and x = kGrid / 2 counts twice: its conjugate is not stored.
HOST_DEVICE inline double energy_at (int x, double power)
{
  return power * (x == 0 || x == kGrid / 2 ? 1 : 2);
}
HOST_DEVICE inline float energy_of_sum (double sum)
{
  const float mean = float (sum / kFilterCells);
  return mean > 1e-6F ? mean : 1e-6F;
}

/// The factors that turn a cell's sums of gradients into mean gray levels per pixel, and its sum of
/// luma into a mean of -0.5 to 0.5.
struct CellFactors {
  float per_length, per_luma;
};

/// The sums of gradients and of luma in the cells of a square of kGrid x kGrid cells.
struct SquareSums {
  const int *x, *y;                      // edges (see Cells)
  const std::int64_t *gradients, *luma;  // [cell][direction] and [cell][plane]
  int luma_planes;
  CellFactors scale;

  HOST_DEVICE float direction (int i) const { return float (gradients[i]) * scale.per_length; }
  HOST_DEVICE float luma_of (int cell) const
  {
    const int row = cell / kGrid, column = cell % kGrid;
    const std::int64_t area = std::int64_t (x[column + 1] - x[column]) * (y[row + 1] - y[row]);
    return float (luma[cell * luma_planes] - 128 * area) * scale.per_luma;
  }
};

/// The input of sample_size (): the cells of a box at one size, with sums of gradients as
/// [cell][direction].
struct SizeJob {
  const std::int64_t *gradients;
  int columns, rows;
  float scale;    // turns sums of gradients into gray levels per pixel
  float *sample;  // [cell][orientation]

  HOST_DEVICE float value (int cell, int orientation) const
  {
    const std::int64_t *const from = gradients + cell * kDirections;
    return float (from[orientation] + from[orientation + kOrientations]) * scale;
  }
};

/// Returns the weighted mean of a cell's value and those of the two neighbouring cells on an axis.
HOST_DEVICE inline float smoothed (float before, float value, float after)
{
  constexpr float kScale = 1 / (1 + 2 * kNeighbour);
  return (value + kNeighbour * (before + after)) * kScale;
}

/// Returns the energy of a cell's gradients: the sum of the squares of its 9 orientations.
HOST_DEVICE inline float energy_of (const float *directions)
{
  float energy = 0;
  for (int b = 0; b < kOrientations; b++) {
    const float both = directions[b] + directions[b + kOrientations];
    energy += both * both;
  }
  return energy;
}

/// Returns the norm of a block, the four cells around a corner: 1 / the root of their energies'
/// sum. Beyond the border of the grid, cells at the border are repeated.
HOST_DEVICE inline float block_norm (const float *energies, int columns, int rows, int x, int y)
{
  const int above = std::max (0, y - 1) * columns, below = std::min (rows - 1, y) * columns,
            left = std::max (0, x - 1), right = std::min (columns - 1, x);
  return 1
         / std::sqrt (energies[above + left] + energies[above + right] + energies[below + left]
                      + energies[below + right] + kFlat);
}

/// The norms of the four blocks of 2x2 cells around a cell, taken from the norms at all corners.
struct BlockNorms {
  float at[4];

  HOST_DEVICE BlockNorms (const float *norms, int columns, int row, int column)
  {
    const float *const corner = norms + row * (columns + 1) + column;
    at[0] = corner[0], at[1] = corner[1];
    at[2] = corner[columns + 1], at[3] = corner[columns + 2];
  }
};

HOST_DEVICE inline float clipped (float value, float norm)
{
#ifdef __CUDA_ARCH__
  return fminf (value * norm, kMaxShare);  // one instruction on a GPU, but a call on the CPU
#else
  return std::min (value * norm, kMaxShare);
#endif
}

/// Returns a channel of a cell, times `fade`: half the sum of a value's clipped shares of the four
/// blocks around the cell.
HOST_DEVICE inline float shares_of (float value, const float *around, float fade = 1)
{
  return 0.5F * fade
         * (clipped (value, around[0]) + clipped (value, around[1]) + clipped (value, around[2])
            + clipped (value, around[3]));
}

/// A complex number.
struct Complex {
  float re, im;

  HOST_DEVICE Complex operator+ (Complex b) const { return { re + b.re, im + b.im }; }
  HOST_DEVICE Complex operator- (Complex b) const { return { re - b.re, im - b.im }; }
  HOST_DEVICE Complex operator* (Complex b) const
  {
    return { re * b.re - im * b.im, re * b.im + im * b.re };
  }
  HOST_DEVICE Complex operator* (float b) const { return { re * b, im * b }; }
  HOST_DEVICE Complex times_minus_i () const { return { im, -re }; }
  HOST_DEVICE Complex conjugate_times (Complex b) const
  {
    return { re * b.re + im * b.im, re * b.im - im * b.re };
  }
  HOST_DEVICE float power () const { return re * re + im * im; }
};

/// Splits the spectrum of a pair of channels: returns the first channel at a frequency, from the
/// pair `there` and the pair at the conjugate frequency (`mirrored`). If the caller multiplies both
/// by -i, the result is the second channel.
HOST_DEVICE inline Complex first_of_pair (Complex there, Complex mirrored)
{
  return { 0.5F * (there.re + mirrored.re), 0.5F * (there.im - mirrored.im) };
}
/// Combines two channels at a frequency to their pair at this frequency if `sign` is 1, or at the
/// conjugate frequency if `sign` is -1.
HOST_DEVICE inline Complex pair_of (Complex first, Complex second, float sign)
{
  return { first.re - sign * second.im, second.re + sign * first.im };
}

/// Returns b of the equation (conj (x) x' + mu + rho) v = b of a round of ADMM, for one channel. y
/// is the wanted response. rho keeps the weights v near `near`, and mu keeps them near `last`.
HOST_DEVICE inline Complex right_side (Complex x, float y, Complex near, float rho, Complex last,
                                       float mu)
{
  return { x.re * y + rho * near.re + mu * last.re, -x.im * y + rho * near.im + mu * last.im };
}

}  // namespace inthist::correlation
