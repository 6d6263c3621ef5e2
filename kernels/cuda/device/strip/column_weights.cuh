// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The first kernel of strip if pixels have weights; if each pixel counts 1, it is count_columns ()
// (column_counts.cuh). A block adds up the weights of kCountBins bins in kCountColumns columns of
// some rows. A lane has four columns, so no two lanes access the same bank of shared memory.
#pragma once

#include "../hardware/overlap.cuh"
#include "../hardware/stay_in_l2.cuh"
#include "../hardware/warp.cuh"
#include "strips.cuh"

namespace inthist::cuda {

class ColumnWeights {
public:
  struct Shared {
    alignas (16) std::uint32_t sums[kCountBins][4][kWarp];
  };

  __device__ ColumnWeights (const BinSource &pixels, const Strips &strips, Shared &shared)
      : strips_ (strips), shared_ (shared), lane_ (threadIdx.x % kWarp),
        warp_ (threadIdx.x / kWarp), x_ (blockIdx.x * kCountColumns + lane_ * 4),
        first_bin_ (blockIdx.z * kCountBins), bins_ (min (kCountBins, strips.bins - first_bin_)),
        from_ (pixels.data + x_ * sizeof (WeightedPixel)), stride_ (pixels.stride)
  {
  }

  __device__ void run ()
  {
    for (int i = threadIdx.x; i < bins_ * kWarp; i += blockDim.x)
      reinterpret_cast<uint4 *> (shared_.sums)[i] = {};
    // lets scan start before this kernel's own wait, unlike ColumnCounts: scan waits itself before
    // it reads pixels with weights, which are never ready (BinSource::ready)
    let_next_start ();
    wait_for_previous ();
    __syncthreads ();
    const int first = blockIdx.y * strips_.joined_row_blocks,
              end = min (strips_.counted_row_blocks (), first + strips_.joined_row_blocks);
    for (int row_block = first; row_block < end; row_block++) {
      add_up (row_block * strips_.row_block_rows);
      __syncthreads ();
      // the scan kernel reads the sums only where a strip, or the rows of this CUDA block, end
      if ((row_block + 1) % strips_.row_blocks_per_strip == 0 || row_block + 1 == end) {
        store (row_block);
        __syncthreads ();
      }
    }
  }

private:
  // the most rows that a warp adds up in one step; it loads all of them at once
  static constexpr int kAhead = divide_up (kMaxRowBlockRows, kCountWarps);

  /// Adds up the weights of one step, whose rows begin at row y and are all in the frame.
  __device__ void add_up (int y)
  {
    uint4 words[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; i++)
      words[i] = load_that_stays (reinterpret_cast<const uint4 *> (
          from_
          + std::size_t (y + min (warp_ + i * kCountWarps, strips_.row_block_rows - 1)) * stride_));
#pragma unroll
    for (int i = 0; i < kAhead; i++) {
      if (warp_ + i * kCountWarps >= strips_.row_block_rows)
        break;
      const std::uint32_t four[] = { words[i].x, words[i].y, words[i].z, words[i].w };
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const WeightedPixel pixel = { four[j] };
        add (pixel.bin (), j, pixel.to_bin ());
        add (pixel.bin () + 1 == strips_.bins ? 0 : pixel.bin () + 1, j, pixel.to_next ());
      }
    }
  }

  __device__ void add (int bin, int column, int weight)
  {
    if (weight > 0 && unsigned (bin - first_bin_) < unsigned (bins_))
      atomicAdd (&shared_.sums[bin - first_bin_][column][lane_], std::uint32_t (weight));
  }

  __device__ void store (int row_block) const
  {
#pragma unroll 1  // a warp has few bins
    for (int b = warp_; b < bins_; b += kCountWarps) {
      const auto &sums = shared_.sums[b];
      store_to_stay (reinterpret_cast<uint4 *> (static_cast<std::uint32_t *> (strips_.sums)
                                                + strips_.row_of (row_block, first_bin_ + b) + x_),
                     make_uint4 (sums[0][lane_], sums[1][lane_], sums[2][lane_], sums[3][lane_]));
    }
  }

  const Strips &strips_;
  Shared &shared_;
  const int lane_, warp_, x_, first_bin_, bins_;
  const std::uint8_t *const from_;
  const std::size_t stride_;
};

__global__ void __launch_bounds__ (kCountWarps *kWarp)
add_up_columns (BinSource pixels, Strips strips)
{
  __shared__ ColumnWeights::Shared shared;
  ColumnWeights (pixels, strips, shared).run ();
}

}  // namespace inthist::cuda
