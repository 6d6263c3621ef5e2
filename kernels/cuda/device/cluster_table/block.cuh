// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A block of the kernel for small summed-area tables (cluster_table.cuh). It computes a band of
// rows in a slab of columns:
//
//   load       loads the band's pixels in the slab, and adds up its pixels left of the slab
//   sum        computes the table of the warp's rows, with all columns to the left
//   send       sends the last row of the band's table to the bands below
//   gather     adds up what the bands above have sent
//   store      adds that, and the warps above in the band, and stores the elements
#pragma once

#include <cooperative_groups.h>

#include "../../../planes.hpp"
#include "../hardware/warp.cuh"

namespace inthist::cuda {

/// A warp computes up to kRows rows.
template <int kRows>
class ClusterTableBlock {
  using Sum = std::uint32_t;          // modulo 2^32, as the table's elements
  static constexpr int kColumns = 4;  // of a lane
  static constexpr int kWarps = 32;

public:
  static constexpr int kBands = 8;  // blocks of a cluster: the most that all devices allow
  static constexpr int kThreads = kWarps * kWarp;
  static constexpr int kWidth = kWarp * kColumns;             // of a slab
  static constexpr int kMaxHeight = kBands * kWarps * kRows;  // of a table

  struct Shared {
    alignas (16) Sum warps[kWarps][kWidth];  // sums of the warps above in the band
    Sum bands[kBands - 1][kWidth];           // [band]: what this band above has sent
    alignas (16) Sum above[kWidth];          // the sum of `bands`
  };

  __device__ ClusterTableBlock (Shared &shared, const Planes<Sum> &table, const PixelPlane &pixels)
      : shared_ (shared), table_ (table), pixels_ (pixels), plane_ (blockIdx.y),
        band_ (blockIdx.x % kBands), slab_x_ (blockIdx.x / kBands * kWidth),
        x_ (slab_x_ + column ())
  {
    const int band_rows = divide_up (table.height, kBands),
              warp_rows = divide_up (band_rows, kWarps), first = warp_ * warp_rows;
    y_ = band_ * band_rows + first;
    rows_ = max (0, min (min (warp_rows, band_rows - first), table.height - y_));
  }

  __device__ void run (bool vectors)
  {
#if __CUDA_ARCH__ >= 900
    const auto cluster = cooperative_groups::this_cluster ();
    cluster.barrier_arrive ();
    load (vectors);
    sum ();
    __syncthreads ();
    cluster.barrier_wait ();  // all blocks have started, so others may write to their memory
    if (threadIdx.x < kWidth)
      send (cluster);
    cluster.sync ();
    if (threadIdx.x < kWidth)
      gather ();
    __syncthreads ();
    store ();
#endif
  }

private:
  __device__ void load (bool vectors)
  {
#pragma unroll
    for (int r = 0; r < kRows; r++) {
      own_[r] = left_[r] = 0;
      if (r >= rows_)
        continue;
      if (vectors && x_ + kColumns <= table_.width)
        own_[r] = *reinterpret_cast<const std::uint32_t *> (row (r) + x_);
      else
#pragma unroll
        for (int c = 0; c < kColumns; c++)
          if (x_ + c < table_.width)
            own_[r] |= std::uint32_t (row (r)[x_ + c]) << (8 * c);
    }
    if (vectors)
      for (int x = lane_ * int (sizeof (uint4)); x < slab_x_; x += kWarp * sizeof (uint4))
        add_left ([=, this] (int r) { return *reinterpret_cast<const uint4 *> (row (r) + x); });
    else
      for (int x = lane_; x < slab_x_; x += kWarp)
        add_left ([=, this] (int r) { return uint4{ row (r)[x], 0, 0, 0 }; });
  }

  /// Adds up to 16 pixels of each row, as load (row) returns them.
  template <class Load>
  __device__ void add_left (Load &&load)
  {
#pragma unroll
    for (int r = 0; r < kRows; r++)
      if (r < rows_) {
        const uint4 words = load (r);
        for (const std::uint32_t word : { words.x, words.y, words.z, words.w })
          left_[r] = __dp4a (word, plane_ == 1 ? word : 0x01010101u, left_[r]);
      }
  }

  __device__ void sum ()
  {
    Sum h[kColumns] = {};
#pragma unroll
    for (int r = 0; r < kRows; r++) {
      if (r < rows_) {
        Sum here[kColumns], all = 0;
#pragma unroll
        for (int c = 0; c < kColumns; c++) {
          const Sum pixel = own_[r] >> (8 * c) & 255;
          here[c] = all += plane_ == 1 ? pixel * pixel : pixel;
        }
        const Sum before = warp_sum (left_[r]) + warp_scan (all) - all;
#pragma unroll
        for (int c = 0; c < kColumns; c++)
          h[c] += before + here[c];
      }
#pragma unroll
      for (int c = 0; c < kColumns; c++)
        h_[r][c] = h[c];
    }
    at_column (shared_.warps[warp_]) = make_uint4 (h[0], h[1], h[2], h[3]);
  }

  /// Replaces the sums of each warp by those of the warps above, in one column, and sends the sum
  /// over all warps.
  __device__ void send (const auto &cluster)
  {
    Sum above = 0;
#pragma unroll
    for (int w = 0; w < kWarps; w++) {
      const Sum own = shared_.warps[w][threadIdx.x];
      shared_.warps[w][threadIdx.x] = above;
      above += own;
    }
    for (int band = band_ + 1; band < kBands; band++)
      *cluster.map_shared_rank (&shared_.bands[band_][threadIdx.x], band) = above;
  }

  __device__ void gather ()
  {
    Sum above = 0;
#pragma unroll
    for (int band = 0; band < kBands - 1; band++)
      if (band < band_)
        above += shared_.bands[band][threadIdx.x];
    shared_.above[threadIdx.x] = above;
  }

  __device__ void store ()
  {
    const uint4 bands = at_column (shared_.above), warps = at_column (shared_.warps[warp_]);
    const Sum above[] = { bands.x + warps.x, bands.y + warps.y, bands.z + warps.z,
                          bands.w + warps.w };
#pragma unroll
    for (int r = 0; r < kRows; r++) {
      if (r >= rows_)
        break;
      Sum *const to = table_.line (plane_, y_ + r) + x_;
      if (x_ + kColumns <= table_.width)
        __stcs (reinterpret_cast<uint4 *> (to),
                make_uint4 (above[0] + h_[r][0], above[1] + h_[r][1], above[2] + h_[r][2],
                            above[3] + h_[r][3]));
      else
#pragma unroll
        for (int c = 0; c < kColumns; c++)
          if (x_ + c < table_.width)
            to[c] = above[c] + h_[r][c];
    }
  }

  __device__ const std::uint8_t *row (int r) const
  {
    return pixels_.data + std::size_t (y_ + r) * pixels_.stride;
  }
  __device__ int column () const
  {
    return lane_ * kColumns;
  }
  __device__ uint4 &at_column (Sum (&sums)[kWidth]) const
  {
    return *reinterpret_cast<uint4 *> (&sums[column ()]);
  }

  Shared &shared_;
  const Planes<Sum> &table_;
  const PixelPlane &pixels_;
  const int lane_ = threadIdx.x % kWarp, warp_ = threadIdx.x / kWarp;
  const int plane_, band_, slab_x_, x_;  // x_: first column of the lane
  int y_, rows_;                         // of the warp
  std::uint32_t own_[kRows];             // four pixels of each row
  Sum left_[kRows];         // sums over some pixels left of the slab; the lanes have all of them
  Sum h_[kRows][kColumns];  // the table of the warp's rows, with all columns to the left
};

}  // namespace inthist::cuda
