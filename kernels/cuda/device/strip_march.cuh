// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The second kernel of strip. A block takes a strip of one bin, its warps side by side over the
// whole row; a lane keeps 16 bytes of the current row of H and walks down with them:
//
//   start        H in the row above the strip: the column counts above, scanned along the row
//   load         the pixels of eight rows
//   find         those of the bin, and their counts in the lanes before
//   left_of      their counts in the warps before
//   step_down    H grows by both, row by row, and is stored
//
// A step is eight rows, and three steps are under way at a time. run () calls them
//
//   step    being stored; its totals are known
//   next    found, its totals on their way to the other warps, as soon as it is loaded
//   then    being loaded
#pragma once

#include "../strip_policy.hpp"
#include "bytes.cuh"
#include "overlap.cuh"
#include "row_counts.cuh"
#include "split_barrier.cuh"
#include "stay_in_l2.cuh"
#include "strips.cuh"
#include "warp.cuh"

namespace inthist::cuda {

__device__ inline void load_pixels (std::uint32_t (&words)[1], const std::uint8_t *from)
{
  words[0] = load_that_stays (reinterpret_cast<const std::uint32_t *> (from));
}

__device__ inline void load_pixels (std::uint32_t (&words)[2], const std::uint8_t *from)
{
  const uint2 both = load_that_stays (reinterpret_cast<const uint2 *> (from));
  words[0] = both.x, words[1] = both.y;
}

__device__ inline uint4 packed (const std::uint32_t (&h)[4])
{
  return make_uint4 (h[0], h[1], h[2], h[3]);
}

__device__ inline uint4 packed (const std::uint32_t (&h)[8])  // modulo 65536
{
  return make_uint4 (__byte_perm (h[0], h[1], 0x5410), __byte_perm (h[2], h[3], 0x5410),
                     __byte_perm (h[4], h[5], 0x5410), __byte_perm (h[6], h[7], 0x5410));
}

/// kSeveralRanges: a row takes several ranges of blockDim.x lanes, and H rests in shared memory.
/// kRagged: some lane has fewer than kPixels columns. kAnchored: anchors are written on the way, as
/// H is known in full.
template <class T, bool kSeveralRanges, bool kRagged, bool kAnchored>
class StripMarch {
  static_assert (kStepRows == 8, "Found has a bit of a byte for each row");

public:
  static constexpr int kPixels = 16 / sizeof (T);  // of a lane: a 16-byte store
  static constexpr int kMostWarps = kRangeColumns / (kWarp * kPixels);

  /// What the warps of a block tell each other.
  struct Shared {
    // [buffer][warp][place_of_row (row)]
    alignas (8) std::uint16_t row_totals[2][kMostWarps][kStepRows];
    std::uint32_t above_totals[2][kMostWarps];
    SplitBarrier totals_written;
  };

  /// `row_above` has room for H in a row: [range][word][thread].
  __device__ StripMarch (const BinBytes &image, const Strips &strips, const Layout &layout,
                         std::uint8_t *tensor, int ranges, const Anchors &anchors, Shared &shared,
                         uint4 *row_above)
      : image_ (image), strips_ (strips), anchors_ (anchors), shared_ (shared),
        row_above_ (row_above), ranges_ (kSeveralRanges ? ranges : 1), lane_ (threadIdx.x % kWarp),
        warp_ (threadIdx.x / kWarp), warps_ (blockDim.x / kWarp),
        // all bins of a strip together, as its pixels are in L2 then
        strip_ (blockIdx.x / strips.bins), bin_ (blockIdx.x % strips.bins),
        y_end_ (min (strips.height, (strip_ + 1) * strips.rows)), stride_ (image.stride),
        pitch_ (layout.row_pitch), pattern_ (image.shift, bin_ + image.first),
        out_ (tensor + bin_ * layout.plane_pitch + threadIdx.x * 16),
        anchor_values_ (
            reinterpret_cast<std::uint32_t *> (tensor + strips.bins * layout.plane_pitch))
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
    Found found = find (0);
    shared_.totals_written.arrive ();
    if (next.y < y_end_)
      load (next);
    if (image_.ready && strip_ > 0)  // the first strip needs no counts
      wait_for_previous ();
    start ();

    shared_.totals_written.wait (0);
    std::uint32_t left = left_of (0, 0);
    for (int parity = 1;; parity ^= 1) {
      // the next step's totals are in flight while this step is stored
      const bool more = next.y < y_end_;
      const Step then = step_after (next);
      Found next_found;
      if (more) {
        next_found = find (parity);
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
      if (step.y + kStepRows <= y_end_)  // a constant number of rows needs no test of each
        step_down (step.y, kStepRows, to, room, found, left);
      else
        step_down (step.y, y_end_ - step.y, to, room, found, left);
      if (kSeveralRanges)
        keep_row_above (step.range);
      if (!more)
        break;
      shared_.totals_written.wait (parity);
      left = left_of (parity, next.range);
      step = next, next = then, found = next_found;
    }
  }

private:
  static constexpr int kWords = kPixels / 4, kQuads = kStepRows / 4;  // of bin indices; of rows

  /// Eight rows of a range.
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
    const int x =
        (kSeveralRanges ? step.range * range_columns () : 0) + int (threadIdx.x) * kPixels;
    const std::uint8_t *const from =
        image_.data + std::size_t (step.y) * stride_ + min (x, image_.columns - kPixels);
    if (step.y + kStepRows <= strips_.height)
#pragma unroll
      for (int r = 0; r < kStepRows; r++)
        load_pixels (words_[r], from + std::size_t (stride_) * unsigned (r));
    else  // rows beyond the last load the last
#pragma unroll
      for (int r = 0; r < kStepRows; r++)
        load_pixels (words_[r],
                     from
                         + std::size_t (stride_) * unsigned (min (r, strips_.height - 1 - step.y)));
  }

  /// Pixels in the bin: bit r of byte j is pixel j of row r. before: their count in the lanes
  /// before, four rows to a word, each at most 31 x 8, which a byte holds.
  struct Found {
    std::uint32_t pixels[kWords], before[kQuads];
  };

  /// Also writes what the warp has in each row.
  __device__ Found find (int buffer)
  {
    Found found = {};
#pragma unroll
    for (int q = 0; q < kQuads; q++) {
      std::uint32_t own = 0;
#pragma unroll
      for (int i = 0; i < 4; i++) {
        int n = 0;
#pragma unroll
        for (int w = 0; w < kWords; w++) {
          const int ones = pattern_.equal (words_[4 * q + i][w]);
          n = __dp4a (ones, -1, n);
          found.pixels[w] |= ones & 0x01010101u << (4 * q + i);
        }
        own += std::uint32_t (n) << (8 * i);
      }
      found.before[q] = warp_scan (own) - own;
      if (lane_ == kWarp - 1)
        store_row_counts (&shared_.row_totals[buffer][warp_][4 * q], found.before[q], own);
    }
    return found;
  }

  /// Returns what warps and ranges before have in row lane % kStepRows; a lane adds up one row over
  /// some warps.
  __device__ std::uint32_t left_of (int buffer, int range)
  {
    constexpr int kParts = kWarp / kStepRows;
    const int row = lane_ % kStepRows, part = lane_ / kStepRows, place = place_of_row (row);
    std::uint32_t left = 0, all = 0;
#pragma unroll
    for (int first = 0; first < kMostWarps; first += kParts) {
      if (first + part < (kSeveralRanges ? warps_ : warp_)) {
        const std::uint32_t n = shared_.row_totals[buffer][first + part][place];
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

  /// Makes H in the row above the strip.
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

  /// Adds the column counts above the strip, one for each set of joined cells.
  __device__ void add_columns (int x)
  {
    const std::uint16_t *const counts = strips_.counts + strips_.row_of (0, bin_) + x;
    const std::size_t counts_per_cell = strips_.bins * strips_.pitch;
    const int above = strip_ * strips_.cells_per_strip;
    constexpr int kInFlight = 32 / kPixels;  // counts
    const int joined = strips_.joined_cells;
    for (int cell = 0; cell < above; cell += kInFlight * joined) {
      uint2 got[kInFlight][kPixels / 4] = {};
#pragma unroll
      for (int i = 0; i < kInFlight; i++)
        if (cell + i * joined < above)
#pragma unroll
          for (int w = 0; w < kPixels / 4; w++)
            got[i][w] = load_that_stays (reinterpret_cast<const uint2 *> (
                counts + (min (cell + (i + 1) * joined, above) - 1) * counts_per_cell + 4 * w));
#pragma unroll
      for (int i = 0; i < kInFlight; i++)
#pragma unroll
        for (int j = 0; j < kPixels; j++)  // a word has two counts: the low one by 1, or the high
          h_[j] =
              __dp2a_lo (j % 4 < 2 ? got[i][j / 4].x : got[i][j / 4].y, j % 2 ? 0x100u : 1u, h_[j]);
    }
  }

  __device__ void step_down (int y, int rows, std::uint8_t *first, int room, const Found &found,
                             std::uint32_t left)
  {
#pragma unroll
    for (int r = 0; r < kStepRows; r++) {
      std::uint32_t add =
          __dp4a (found.before[r / 4], 1u << (8 * (r % 4)), __shfl_sync (~0u, left, r));
#pragma unroll
      for (int w = 0; w < kWords; w++) {
        const std::uint32_t ones = found.pixels[w] >> r & 0x01010101u;
#pragma unroll
        for (int j = 0; j < 4; j++)  // and the word's pixels up to j
          h_[4 * w + j] = __dp4a (ones, 0x01010101u >> (24 - 8 * j), h_[4 * w + j] + add);
        if (w + 1 < kWords)
          add = __dp4a (ones, 0x01010101u, add);
      }
      if (r < rows)
        store (reinterpret_cast<T *> (first + std::size_t (pitch_) * unsigned (r)), y + r, room);
    }
  }

  __device__ void store (T *to, int y, int room) const
  {
    if (room >= kPixels)
      __stcs (reinterpret_cast<uint4 *> (to), packed (h_));
    if constexpr (kRagged)
#pragma unroll
      for (int j = 0; j < kPixels - 1; j++)
        if (room < kPixels && j < room)
          to[j] = T (h_[j]);
    if (kAnchored && y % (1u << anchors_.row_shift) == 0)
      store_anchors (y, strips_.width - room, room);
  }

  __device__ void store_anchors (int y, int x, int room) const
  {
    std::uint32_t *const row = anchor_values_ + anchors_.index (bin_, y, 0);
#pragma unroll
    for (int j = 0; j < kPixels; j++)
      if ((x + j) % (1u << anchors_.column_shift) == 0 && j < room)
        row[(x + j) >> anchors_.column_shift] = h_[j];
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

  const BinBytes &image_;
  const Strips &strips_;
  const Anchors &anchors_;
  Shared &shared_;
  uint4 *const row_above_;
  const int ranges_, lane_, warp_, warps_, strip_, bin_, y_end_;
  const unsigned stride_, pitch_;
  const BinPattern pattern_;
  std::uint8_t *const out_;
  std::uint32_t *const anchor_values_;
  std::uint32_t words_[kStepRows][kWords];  // pixels
  std::uint32_t h_[kPixels];
  std::uint32_t ranges_left_ = 0;
};

template <class T, bool kSeveralRanges, bool kRagged, bool kAnchored>
__global__ void
__launch_bounds__ (StripMarch<T, kSeveralRanges, kRagged, kAnchored>::kMostWarps *kWarp,
                   kMarchBlocks)
march_rows (BinBytes image, Strips strips, Layout layout, std::uint8_t *tensor, int ranges,
            Anchors anchors)
{
  using Block = StripMarch<T, kSeveralRanges, kRagged, kAnchored>;
  extern __shared__ uint4 row_above[];
  __shared__ typename Block::Shared shared;
  Block (image, strips, layout, tensor, ranges, anchors, shared, row_above).run ();
}

}  // namespace inthist::cuda
