// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The scan kernel of strip. A block computes one strip of rows of the integral histogram H, for one
// bin. Its warps are side by side over the whole row. A lane keeps 16 bytes of the current row of
// H, and goes down the strip:
//
//   start        makes H in the row above the strip from the column sums of the rows above
//   load         loads the pixels of a step's rows
//   find         finds what these pixels, and the pixels of the lanes to the left, add to the bin
//   warps_left   returns what the pixels of the warps to the left add
//   step_down    adds all of this to H, row by row, and stores the rows of H
//
// AddsToBin says what a pixel adds: 1 (ones_of_bin.cuh) or a weight (weights_of_bin.cuh). A step is
// 4 or 8 rows. Three steps are in progress at a time; run () has these names for them:
//
//   step    its totals are known, and its rows are stored
//   next    its pixels are loaded and searched, and its totals go to the other warps
//   then    its pixels are being loaded
#pragma once

#include <concepts>

#include "../hardware/overlap.cuh"
#include "../hardware/split_barrier.cuh"
#include "ones_of_bin.cuh"
#include "weights_of_bin.cuh"

namespace inthist::cuda {

/// Finds what pixels add to a bin: OnesOfBin if each pixel adds 1, WeightsOfBin if pixels have
/// weights. A lane has kPixels neighbouring columns.
///
///   load       (x, y, height) loads the lane's pixels of kStepRows rows, from column x and row y
///              on. Rows below the image, which has this height, are copies of its last row
///   find       (totals) finds what each pixel adds to the bin, and what the lanes to the left in
///              the warp add to each row. Writes the total of the warp in each row
///   total_of   (totals, row) returns the total of a warp in a row
///   add_row    (found, r, left, h) adds to H of each column what row r adds from its start up to
///              this column. `left` is the sum of the warps to the left
///   load_sums  (strips, row, x) loads column sums of the count kernel, from column x on
///   add_sums   (sums, h) adds column sums to H
// clang-format off
template <class Adds>
concept AddsToBin = requires (Adds adds, const typename Adds::Found &found, const Strips &strips,
                              typename Adds::RowTotals &totals,
                              const typename Adds::ColumnSums &sums, int n, std::uint32_t left,
                              std::uint32_t (&h)[Adds::kPixels])
{
  typename Adds::Element;
  adds.load (n, n, n);
  { adds.find (totals) } -> std::same_as<typename Adds::Found>;
  { Adds::total_of (totals, n) } -> std::same_as<std::uint32_t>;
  Adds::add_row (found, n, left, h);
  { Adds::load_sums (strips, std::size_t (n), n) } -> std::same_as<typename Adds::ColumnSums>;
  Adds::add_sums (sums, h);
};
// clang-format on

__device__ inline uint4 packed (const std::uint32_t (&h)[4])
{
  return make_uint4 (h[0], h[1], h[2], h[3]);
}

__device__ inline uint4 packed (const std::uint32_t (&h)[8])  // modulo 65536
{
  return make_uint4 (__byte_perm (h[0], h[1], 0x5410), __byte_perm (h[2], h[3], 0x5410),
                     __byte_perm (h[4], h[5], 0x5410), __byte_perm (h[6], h[7], 0x5410));
}

/// Computes one strip of one bin. kSeveralRanges: a row is wider than the lanes of a block, which
/// computes it in several ranges and keeps the current row of H in shared memory. kRagged: some
/// lane has fewer than kPixels columns.
template <AddsToBin Adds, bool kSeveralRanges, bool kRagged>
class StripScan {
  using T = typename Adds::Element;
  using Found = typename Adds::Found;
  static constexpr int kStepRows = Adds::kStepRows;
  static_assert (kUnitRows % kStepRows == 0);

public:
  static constexpr int kPixels = Adds::kPixels;
  static_assert (kPixels * sizeof (T) == 16);  // a lane stores 16 bytes at once
  static constexpr int kMaxWarps = Adds::kPolicy.columns / (kWarp * kPixels);
  static_assert (kMaxWarps <= kWarp);  // start () adds up the totals of all warps in one

  struct Shared {
    typename Adds::RowTotals row_totals[2][kMaxWarps];  // [buffer][warp]
    std::uint32_t above_totals[2][kMaxWarps];
    SplitBarrier totals_written;
  };

  /// `row_above`: shared memory for a row of the integral histogram, as [range][word][thread].
  __device__ StripScan (const BinSource &image, const Strips &strips, const Layout &layout,
                        std::uint8_t *tensor, int ranges, Shared &shared, uint4 *row_above)
      : image_ (image), strips_ (strips), shared_ (shared), row_above_ (row_above),
        ranges_ (kSeveralRanges ? ranges : 1), lane_ (threadIdx.x % kWarp),
        warp_ (threadIdx.x / kWarp), warps_ (blockDim.x / kWarp),
        // neighbouring blocks compute all bins of a strip, so they find the strip's pixels in L2
        strip_ (blockIdx.x / strips.bins), bin_ (blockIdx.x % strips.bins),
        y_end_ (min (strips.height, (strip_ + 1) * strips.rows)), pitch_ (layout.row_pitch),
        adds_ (image, strips, bin_), out_ (tensor + bin_ * layout.plane_pitch + threadIdx.x * 16)
  {
    if (threadIdx.x == 0)
      shared_.totals_written.set_up (blockDim.x);
    __syncthreads ();
  }

  __device__ void run ()
  {
    Step step = { strip_ * strips_.rows, 0 }, next = step_after (step);
    if (!image_.ready)
      wait_for_previous ();
    load (step);
    Found found = adds_.find (shared_.row_totals[0][warp_]);
    shared_.totals_written.arrive ();
    if (next.y < y_end_)
      load (next);
    if (image_.ready && strip_ > 0)  // the first strip does not need the count kernel's results
      wait_for_previous ();
    start ();

    shared_.totals_written.wait (0);
    std::uint32_t left = warps_left (0, 0);
    for (int parity = 1;; parity ^= 1) {
      // the warps' totals of the next step arrive while the rows of this step are stored
      const bool more = next.y < y_end_;
      const Step then = step_after (next);
      Found next_found;
      if (more) {
        next_found = adds_.find (shared_.row_totals[parity][warp_]);
        shared_.totals_written.arrive ();
        if (then.y < y_end_)
          load (then);
      } else {
        let_next_start ();
      }
      if (kSeveralRanges)
        fetch_row_above (step.range);
      const int room = strips_.width - (kSeveralRanges ? step.range * range_columns () : 0)
                       - int (threadIdx.x) * kPixels;
      std::uint8_t *const to = out_ + std::size_t (step.y) * pitch_
                               + (kSeveralRanges ? step.range * (blockDim.x * 16) : 0);
      if (step.y + kStepRows <= y_end_)  // a constant number of rows needs no test in each row
        step_down (kStepRows, to, room, found, left);
      else
        step_down (y_end_ - step.y, to, room, found, left);
      if (kSeveralRanges)
        keep_row_above (step.range);
      if (!more)
        break;
      shared_.totals_written.wait (parity);
      left = warps_left (parity, next.range);
      step = next, next = then, found = next_found;
    }
  }

private:
  static constexpr int kWords = kPixels / 4;  // of four elements

  /// A part of a strip that is computed at once: kStepRows rows from y on, of a range of columns.
  struct Step {
    int y, range;
  };

  __device__ Step step_after (Step step) const
  {
    return kSeveralRanges && step.range + 1 < ranges_ ? Step{ step.y, step.range + 1 }
                                                      : Step{ step.y + kStepRows, 0 };
  }

  __device__ void load (Step step)
  {
    adds_.load ((kSeveralRanges ? step.range * range_columns () : 0) + int (threadIdx.x) * kPixels,
                step.y, strips_.height);
  }

  /// Returns what all pixels to the left of the warp add to the bin, in row lane % kStepRows of a
  /// step. Each lane adds up some warps for one row.
  __device__ std::uint32_t warps_left (int buffer, int range)
  {
    constexpr int kParts = kWarp / kStepRows;
    const int row = lane_ % kStepRows, part = lane_ / kStepRows;
    std::uint32_t left = 0, all = 0;
#pragma unroll
    for (int first = 0; first < kMaxWarps; first += kParts) {
      if (first + part < (kSeveralRanges ? warps_ : warp_)) {
        const std::uint32_t n = Adds::total_of (shared_.row_totals[buffer][first + part], row);
        all += n;
        left += first + part < warp_ ? n : 0;
      }
    }
#pragma unroll
    for (int d = kStepRows; d < kWarp; d *= 2) {
      left += __shfl_xor_sync (~0u, left, d);
      if (kSeveralRanges)
        all += __shfl_xor_sync (~0u, all, d);
    }
    if (kSeveralRanges) {
      if (range == 0)
        ranges_left_ = 0;
      left += ranges_left_;
      ranges_left_ += all;
    }
    return left;
  }

  /// Computes the integral histogram H above the strip from the count kernel's column sums.
  __device__ void start ()
  {
    std::uint32_t corner = 0;
    for (int range = 0; range < ranges_; range++) {
      const int x = range * range_columns () + threadIdx.x * kPixels;
#pragma unroll
      for (int j = 0; j < kPixels; j++)
        h_[j] = 0;
      if (x < strips_.width)
        add_columns (x);
#pragma unroll
      for (int j = 1; j < kPixels; j++)
        h_[j] += h_[j - 1];
      const std::uint32_t upto = warp_scan (h_[kPixels - 1]);
      if (lane_ == kWarp - 1)
        shared_.above_totals[range % 2][warp_] = upto;
      __syncthreads ();
      const std::uint32_t total = lane_ < warps_ ? shared_.above_totals[range % 2][lane_] : 0;
      const std::uint32_t left =
          corner + warp_sum (lane_ < warp_ ? total : 0) + upto - h_[kPixels - 1];
      if (kSeveralRanges)
        corner += warp_sum (total);
#pragma unroll
      for (int j = 0; j < kPixels; j++)
        h_[j] += left;
      if (kSeveralRanges)
        keep_row_above (range);
    }
  }

  /// Adds the column sums of all rows above the strip to H, from column x on. The count kernel has
  /// stored one sum for each set of row blocks that it joined.
  __device__ void add_columns (int x)
  {
    const int above = strip_ * strips_.row_blocks_per_strip, joined = strips_.joined_row_blocks;
    constexpr int kInFlight = Adds::kSumsInFlight;
    for (int row_block = 0; row_block < above; row_block += kInFlight * joined) {
      typename Adds::ColumnSums got[kInFlight] = {};
#pragma unroll
      for (int i = 0; i < kInFlight; i++)
        if (row_block + i * joined < above)
          got[i] = Adds::load_sums (
              strips_, strips_.row_of (min (row_block + (i + 1) * joined, above) - 1, bin_), x);
#pragma unroll
      for (int i = 0; i < kInFlight; i++)
        Adds::add_sums (got[i], h_);
    }
  }

  __device__ void step_down (int rows, std::uint8_t *first, int room, const Found &found,
                             std::uint32_t left)
  {
#pragma unroll
    for (int r = 0; r < kStepRows; r++) {
      Adds::add_row (found, r, __shfl_sync (~0u, left, r), h_);
      if (r < rows)
        store (reinterpret_cast<T *> (first + std::size_t (pitch_) * unsigned (r)), room);
    }
  }

  __device__ void store (T *to, int room) const
  {
    if (room >= kPixels)
      __stcs (reinterpret_cast<uint4 *> (to), packed (h_));
    if constexpr (kRagged)
#pragma unroll
      for (int j = 0; j < kPixels - 1; j++)
        if (room < kPixels && j < room)
          to[j] = T (h_[j]);
  }

  __device__ void keep_row_above (int range)
  {
#pragma unroll
    for (int w = 0; w < kWords; w++)
      row_above_[(range * kWords + w) * blockDim.x + threadIdx.x] =
          make_uint4 (h_[4 * w], h_[4 * w + 1], h_[4 * w + 2], h_[4 * w + 3]);
  }

  __device__ void fetch_row_above (int range)
  {
#pragma unroll
    for (int w = 0; w < kWords; w++) {
      const uint4 four = row_above_[(range * kWords + w) * blockDim.x + threadIdx.x];
      h_[4 * w] = four.x, h_[4 * w + 1] = four.y, h_[4 * w + 2] = four.z, h_[4 * w + 3] = four.w;
    }
  }

  __device__ static int range_columns ()
  {
    return blockDim.x * kPixels;
  }

  const BinSource &image_;
  const Strips &strips_;
  Shared &shared_;
  uint4 *const row_above_;
  const int ranges_, lane_, warp_, warps_, strip_, bin_, y_end_;
  const unsigned pitch_;
  Adds adds_;
  std::uint8_t *const out_;
  std::uint32_t h_[kPixels];
  std::uint32_t ranges_left_ = 0;
};

template <class Adds, bool kSeveralRanges, bool kRagged>
__global__ void __launch_bounds__ (StripScan<Adds, kSeveralRanges, kRagged>::kMaxWarps *kWarp,
                                   Adds::kPolicy.blocks)
scan_strip_kernel (BinSource image, Strips strips, Layout layout, std::uint8_t *tensor, int ranges)
{
  using Block = StripScan<Adds, kSeveralRanges, kRagged>;
  extern __shared__ uint4 row_above[];
  __shared__ typename Block::Shared shared;
  Block (image, strips, layout, tensor, ranges, shared, row_above).run ();
}

}  // namespace inthist::cuda
