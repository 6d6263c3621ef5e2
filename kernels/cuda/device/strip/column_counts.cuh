// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The count kernel of strip and byte-tiles. A block counts kCountBins bins in kCountColumns columns
// of one or more row blocks, which are the rows that are counted in one step. A lane has four
// columns, two of them in each 32-bit counter. So no two lanes of a warp access the same bank of
// shared memory, whatever the pixels are:
//
//   clear      sets the counters to 0
//   load       loads the pixels of a row block
//   to_bins    makes bins of the pixels
//   add_up     counts the bins, and stores the bins for the scan kernel if a LUT made them
//   store      stores the counts that the scan kernel reads: the counts above a strip
#pragma once

#include "../hardware/bytes.cuh"
#include "../hardware/overlap.cuh"
#include "../hardware/stay_in_l2.cuh"
#include "../hardware/warp.cuh"
#include "strips.cuh"

namespace inthist::cuda {

/// Counts the pixels of bins in columns. kLut: a LUT maps bytes to bins, which are also stored for
/// the scan kernel. kOneRowBlock: a block counts the rows of only one step.
template <bool kLut, bool kOneRowBlock>
class ColumnCounts {
public:
  struct Shared {
    // the last counter is for pixels in no bin, and for bins that other blocks count
    alignas (16) std::uint32_t counters[kCountBins + 1][2][kWarp];
    LutWords lut;
  };

  __device__ ColumnCounts (const BinSource &source, const LutWords &lut,
                           const PixelPlane &bin_plane, const Strips &strips, Shared &shared)
      : source_ (source), lut_ (lut), bin_plane_ (bin_plane), strips_ (strips), shared_ (shared),
        lane_ (threadIdx.x % kWarp), warp_ (threadIdx.x / kWarp),
        x_ (blockIdx.x * kCountColumns + lane_ * 4), first_bin_ (blockIdx.z * kCountBins),
        bins_ (min (kCountBins, strips.bins - first_bin_)),
        row_block_ (blockIdx.y * (kOneRowBlock ? 1 : strips.joined_row_blocks)),
        end_ (kOneRowBlock ? row_block_ + 1
                           : min (kLut ? strips.row_blocks () : strips.counted_row_blocks (),
                                  row_block_ + strips.joined_row_blocks))
  {
  }

  __device__ void run ()
  {
    clear ();
    wait_for_previous ();
    load ();
    let_next_start ();  // after the wait, so that scan may read the picture early
    __syncthreads ();
    for (;;) {
      to_bins ();
      add_up ();
      __syncthreads ();
      const int done = row_block_++;
      if (row_block_ < end_)
        load ();
      if (done < strips_.counted_row_blocks ()
          && (row_block_ % strips_.row_blocks_per_strip == 0 || row_block_ == end_))
        store (done);
      if (kOneRowBlock || row_block_ >= end_)
        break;
      __syncthreads ();
    }
  }

private:
  // the most rows that a warp counts in one step; it loads all of them at once
  static constexpr int kAhead = divide_up (kMaxRowBlockRows, kCountWarps);

  __device__ void clear ()
  {
    for (int i = threadIdx.x; i < bins_ * 2 * kWarp / 4; i += blockDim.x)
      reinterpret_cast<uint4 *> (shared_.counters)[i] = {};
    if (kLut)
      shared_.lut.copy (lut_);
  }

  __device__ int first_row () const { return row_block_ * strips_.row_block_rows; }
  __device__ int rows () const
  {
    return min (strips_.row_block_rows, strips_.height - first_row ());
  }

  /// Loads the pixels of one step; outside the image, the last rows and columns are loaded again.
  __device__ void load ()
  {
    const int last = rows () - 1;
    const std::uint8_t *const from =
        source_.data + first_row () * source_.stride + min (x_, source_.columns - 4);
#pragma unroll
    for (int i = 0; i < kAhead; i++) {
      const auto *const at = reinterpret_cast<const std::uint32_t *> (
          from
          + std::size_t (unsigned (source_.stride))
                * unsigned (min (warp_ + i * kCountWarps, last)));
      words_[i] = kLut ? *at : load_that_stays (at);
    }
  }

  __device__ void to_bins ()
  {
#pragma unroll
    for (int i = 0; i < kAhead; i++)
      words_[i] = kLut ? look_up (words_[i], shared_.lut.table ())
                       : words_[i] >> source_.shift & (0xffu >> source_.shift) * 0x01010101u;
  }

  __device__ void add_up ()
  {
    const int first = first_bin_ + (kLut ? 0 : source_.first), n = rows ();
#pragma unroll
    for (int i = 0; i < kAhead; i++) {
      const int y = warp_ + i * kCountWarps;
      if (y >= n)
        break;
      if (kLut && blockIdx.z == 0)
        store_to_stay (reinterpret_cast<std::uint32_t *> (
                           bin_plane_.data + (first_row () + y) * bin_plane_.stride + x_),
                       words_[i]);
#pragma unroll
      for (int j = 0; j < 4; j++)
        atomicAdd (&shared_.counters[min (byte_of (words_[i], j) - first, unsigned (kCountBins))]
                                    [j / 2][lane_],
                   1u << (16 * (j % 2)));
    }
  }

  __device__ void store (int row_block) const
  {
    if (x_ < strips_.pitch)
#pragma unroll 1  // a warp has few bins
      for (int b = warp_; b < bins_; b += kCountWarps)
        store_to_stay (reinterpret_cast<uint2 *> (static_cast<std::uint16_t *> (strips_.sums)
                                                  + strips_.row_of (row_block, first_bin_ + b)
                                                  + x_),
                       make_uint2 (shared_.counters[b][0][lane_], shared_.counters[b][1][lane_]));
  }

  const BinSource &source_;
  const LutWords &lut_;
  const PixelPlane &bin_plane_;
  const Strips &strips_;
  Shared &shared_;
  const int lane_, warp_, x_, first_bin_, bins_;
  int row_block_;
  const int end_;
  std::uint32_t words_[kAhead];  // four pixels, later their bins, of each row
};

template <bool kLut, bool kOneRowBlock>
__global__ void __launch_bounds__ (kCountWarps *kWarp)
count_columns (BinSource source, const __grid_constant__ LutWords lut, PixelPlane bin_plane,
               Strips strips)
{
  using Block = ColumnCounts<kLut, kOneRowBlock>;
  __shared__ typename Block::Shared shared;
  Block (source, lut, bin_plane, strips, shared).run ();
}

}  // namespace inthist::cuda
