// SPDX-License-Identifier: LGPL-2.1-or-later
//
// strip: counts columns, then marches down strips of rows and writes the tensor once. Two launches:
//
//   count   counts, in every strip, the pixels of each bin in each column
//   march   a block takes a strip of one bin, its warps side by side over the whole row; a lane
//           keeps 16 bytes of the current row of H and walks down with them
//
// A block waits for no other. It starts from H in the row above its strip: the column counts of all
// strips above, added up and scanned along the row. A step takes eight rows. Each lane finds its
// pixels of the bin; a scan over the lanes and the warps before gives what lies left of it; H grows
// by both. The next eight rows are found while these are stored. The carries are those of Nehab et
// al. 2011 and Dang, Yan and Wu 2014 (reduce, scan what was reduced, scan), with bins counted on
// the fly.
// Where a byte's high bits are its bin, as with 32 bins of 8-bit pixels, or with some of these 32,
// march reads the picture itself, and its first strip does not wait for count. Else count makes the
// bins on its way, if a pixel is a byte, or bin_image before it.
//
// Traffic, as a share of the tensor: 1, and for the column counts 1 / (2 x rows of a strip) with
// u32, 1 / rows with u16. The picture comes from L2, once for every bin. What the constants were
// tuned on, and what was not kept, is in docs/measurements/2026-11-21-strip.md.
#include <algorithm>
#include <optional>

#include "device/bytes.cuh"
#include "device/overlap.cuh"
#include "device/planes.cuh"
#include "device/split_barrier.cuh"
#include "device/stay_in_l2.cuh"
#include "device/warp.cuh"

namespace inthist {
namespace cuda {
namespace {

constexpr int kRows = 8;         // of a step down
constexpr int kMostCell = 136;   // rows that a block of count takes at once
constexpr int kSegment = 128;    // columns of a block of count
constexpr int kCountWarps = 16;  // warps of a block of count
constexpr int kCountBins = 64;   // bins of a block of count: 16 KiB of counters
constexpr int kLeastStrip = 24;  // rows
constexpr int kUsualStrip = 56;  // rows, where there are blocks enough
constexpr int kMostRounds = 64;  // of blocks
// the blocks of taller strips drift apart, and rows that the last still wants have left L2
constexpr int kMostStrip = 272;            // rows
constexpr int kMostStripPixels = 1750000;  // 120 rows of the widest frame
// a row of several ranges takes 4 bytes a column of shared memory: 64 KiB on the smallest device
constexpr int kMostWidth = 14336;     // columns
constexpr int kMostCells = 65535;     // of a grid
constexpr int kMostPartRows = 65535;  // what a counter holds
constexpr int kAtOnce = 2048;         // columns of a range, at most

__host__ __device__ constexpr int whole_steps (int rows)
{
  return divide_up (rows, kRows) * kRows;
}

template <class T>
struct Lane {
  static constexpr int kPixels = 16 / sizeof (T);  // a 16-byte store
  static constexpr int kWords = kPixels / 4;       // of bin indices
  static constexpr int kMostWarps = kAtOnce / (kWarp * kPixels);
};

/// A frame cut into strips, these into cells for count, and the column counts. Consecutive cells
/// make a part, within which counts go on from cell to cell.
struct Strips {
  int width, height, bins, cells_a_strip, cell_rows, rows, count, cells_a_part = 1;
  std::size_t pitch;      // columns
  std::uint16_t *counts;  // [cell][bin][x], each from its part's first cell up to this one

  __host__ __device__ std::size_t row_of (int cell, int bin) const
  {
    return (std::size_t (cell) * bins + bin) * pitch;
  }
  /// Returns how many cells are counted; the last strip is above nothing.
  __host__ __device__ int counted () const { return (count - 1) * cells_a_strip; }

  Strips (const Shape &shape, int rows_a_strip, void *workspace)
      : width (shape.width), height (shape.height), bins (shape.bins),
        cells_a_strip (divide_up (rows_a_strip, kMostCell)),
        cell_rows (whole_steps (divide_up (rows_a_strip, cells_a_strip))),
        rows (cell_rows * cells_a_strip), count (divide_up (height, rows)),
        pitch (std::size_t (divide_up (width, kSegment)) * kSegment),
        counts (static_cast<std::uint16_t *> (workspace))
  {
  }

  /// Makes parts, so that march adds up fewer counts; leaves four blocks of count a processor.
  void join_cells (int processors)
  {
    const long blocks = long (pitch / kSegment) * divide_up (bins, kCountBins) * counted ();
    cells_a_part =
        int (std::clamp (blocks / (4L * processors), 1L, long (kMostPartRows / cell_rows)));
  }
};

/// Bytes whose high bits are the bin: bin b has those with byte >> shift == first + b.
struct Pixels {
  const std::uint8_t *data;
  std::size_t stride;
  int columns;  // that may be read
  int shift, first;
  bool ready;  // before count, which lets march start only when all before count is done
};

struct Table {
  std::uint32_t words[sizeof (Lut) / 4];
};

/// Counts kCountBins bins of a segment of a part, in each block. A lane has four columns, two a
/// counter, so that no two lanes of a warp meet in a bank, whatever the pixels are. kLut: bytes
/// become bins on the way, for march too. kOneCell: parts are cells.
template <bool kLut, bool kOneCell>
__global__ void __launch_bounds__ (kCountWarps *kWarp)
count (Pixels source, const __grid_constant__ Table lut, PixelPlane bin_plane, Strips strips)
{
  constexpr int kAhead = divide_up (kMostCell, kCountWarps);  // rows of a warp, all in flight
  // the last counter is for bins that other blocks count, or none
  __shared__ alignas (16) std::uint32_t counters[kCountBins + 1][2][kWarp];
  __shared__ std::uint32_t table[sizeof (Lut) / 4];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int x = blockIdx.x * kSegment + lane * 4, first_bin = blockIdx.z * kCountBins,
            bins = min (kCountBins, strips.bins - first_bin);
  const int first = first_bin + (kLut ? 0 : source.first);
  const int cells = kLut ? divide_up (strips.height, strips.cell_rows) : strips.counted ();
  int cell = blockIdx.y * (kOneCell ? 1 : strips.cells_a_part);
  const int end = kOneCell ? cell + 1 : min (cells, cell + strips.cells_a_part);

  std::uint32_t words[kAhead];
  const auto load = [&] {  // clamps to the last row and the last columns
    const int y0 = cell * strips.cell_rows, last = min (strips.cell_rows, strips.height - y0) - 1;
    const std::uint8_t *const from = source.data + y0 * source.stride + min (x, source.columns - 4);
#pragma unroll
    for (int i = 0; i < kAhead; i++) {
      const auto *const at = reinterpret_cast<const std::uint32_t *> (
          from
          + std::size_t (unsigned (source.stride)) * unsigned (min (warp + i * kCountWarps, last)));
      words[i] = kLut ? *at : load_that_stays (at);
    }
  };
  for (int i = threadIdx.x; i < bins * 2 * kWarp / 4; i += blockDim.x)
    reinterpret_cast<uint4 *> (counters)[i] = {};
  if (kLut && threadIdx.x < sizeof (Lut) / 4)
    table[threadIdx.x] = lut.words[threadIdx.x];
  wait_for_previous ();
  load ();
  let_next_start ();  // not before the wait, as march's first strip does not wait at all
  __syncthreads ();

  for (;;) {
#pragma unroll
    for (int i = 0; i < kAhead; i++)
      words[i] = kLut ? look_up (words[i], reinterpret_cast<const std::uint8_t *> (table))
                      : words[i] >> source.shift & (0xffu >> source.shift) * 0x01010101u;
    const int y0 = cell * strips.cell_rows, rows = min (strips.cell_rows, strips.height - y0);
#pragma unroll
    for (int i = 0; i < kAhead; i++) {
      const int y = warp + i * kCountWarps;
      if (y >= rows)
        break;
      if (kLut && blockIdx.z == 0)
        store_to_stay (
            reinterpret_cast<std::uint32_t *> (bin_plane.data + (y0 + y) * bin_plane.stride + x),
            words[i]);
#pragma unroll
      for (int j = 0; j < 4; j++)
        atomicAdd (
            &counters[min (byte_of (words[i], j) - first, unsigned (kCountBins))][j / 2][lane],
            1u << (16 * (j % 2)));
    }
    __syncthreads ();
    const int counted = cell++;
    if (cell < end)
      load ();
    if (counted < strips.counted () && x < strips.pitch
        && (cell % strips.cells_a_strip == 0 || cell == end))  // march reads no other
      for (int b = warp; b < bins; b += kCountWarps)
        store_to_stay (
            reinterpret_cast<uint2 *> (strips.counts + strips.row_of (counted, first_bin + b) + x),
            make_uint2 (counters[b][0][lane], counters[b][1][lane]));
    if (kOneCell || cell >= end)
      break;
    __syncthreads ();
  }
}

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

template <int kPixels>
__device__ inline void store_anchors (std::uint32_t *values, const Anchors &anchors, int bin, int y,
                                      int x, int room, const std::uint32_t (&h)[kPixels])
{
#pragma unroll
  for (int j = 0; j < kPixels; j++)
    if ((x + j) % (1u << anchors.column_shift) == 0 && j < room)
      values[anchors.index (bin, y, x + j)] = h[j];
}

/// Adds the column counts above the strip: those of whole parts, and those in the strip's own part.
template <class T>
__device__ inline void add_columns (std::uint32_t (&h)[Lane<T>::kPixels], const Strips &strips,
                                    int strip, int bin, int x)
{
  constexpr int kPixels = Lane<T>::kPixels;
  const std::uint16_t *const counts = strips.counts + strips.row_of (0, bin) + x;
  const std::size_t a_cell = strips.bins * strips.pitch;
  const int above = strip * strips.cells_a_strip;
  constexpr int kBatch = 32 / kPixels;  // counts in flight
  const int joined = strips.cells_a_part;
  for (int cell = 0; cell < above; cell += kBatch * joined) {
    uint2 got[kBatch][kPixels / 4] = {};
#pragma unroll
    for (int i = 0; i < kBatch; i++)
      if (cell + i * joined < above)
#pragma unroll
        for (int w = 0; w < kPixels / 4; w++)
          got[i][w] = load_that_stays (reinterpret_cast<const uint2 *> (
              counts + (min (cell + (i + 1) * joined, above) - 1) * a_cell + 4 * w));
#pragma unroll
    for (int i = 0; i < kBatch; i++)
#pragma unroll
      for (int j = 0; j < kPixels; j++)
        h[j] = __dp2a_lo (j % 4 < 2 ? got[i][j / 4].x : got[i][j / 4].y, j % 2 ? 0x100u : 1u, h[j]);
  }
}

/// Eight rows of a range.
struct Unit {
  int y, range;
};

/// Computes a strip of one bin in each block. kWide: a row takes several ranges of blockDim.x
/// lanes, and H rests in shared memory. kRagged: some lane has fewer than kPixels columns.
/// kAnchored: anchors are written on the way, as H is known in full.
template <class T, bool kWide, bool kRagged, bool kAnchored>
__global__ void __launch_bounds__ (Lane<T>::kMostWarps *kWarp, 2)
march (Pixels image, Strips strips, Layout layout, std::uint8_t *tensor, int ranges,
       Anchors anchors)
{
  constexpr int kPixels = Lane<T>::kPixels, kWords = Lane<T>::kWords,
                kMostWarps = Lane<T>::kMostWarps, kQuads = kRows / 4;
  extern __shared__ uint4 resting[];  // [range][word][thread]: H of the row above
  // [buffer][warp][row]; rows of a quad in the order 0, 2, 1, 3
  __shared__ alignas (8) std::uint16_t row_totals[2][kMostWarps][kRows];
  __shared__ std::uint32_t above_totals[2][kMostWarps];
  __shared__ SplitBarrier totals_are_there;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp,
            range_columns = blockDim.x * kPixels;
  // all bins of a strip together, as its pixels are in L2 then
  const int strip = blockIdx.x / strips.bins, bin = blockIdx.x % strips.bins;
  const int y0 = strip * strips.rows, y_end = min (strips.height, y0 + strips.rows);
  const unsigned stride = image.stride, pitch = layout.row_pitch;
  const std::uint32_t mask = (0xffu << image.shift & 0xff) * 0x01010101u,
                      pattern = (unsigned (bin + image.first) << image.shift & 0xff) * 0x01010101u;
  if (!kWide)
    ranges = 1;
  if (threadIdx.x == 0)
    totals_are_there.set_up (blockDim.x);
  __syncthreads ();
  const auto behind = [&] (Unit unit) {
    return kWide && unit.range + 1 < ranges ? Unit{ unit.y, unit.range + 1 }
                                            : Unit{ unit.y + kRows, 0 };
  };

  std::uint32_t words[kRows][kWords];
  const auto load = [&] (Unit unit) {
    const int x = (kWide ? unit.range * range_columns : 0) + int (threadIdx.x) * kPixels;
    const std::uint8_t *const from =
        image.data + std::size_t (unit.y) * stride + min (x, image.columns - kPixels);
    if (unit.y + kRows <= strips.height)
#pragma unroll
      for (int r = 0; r < kRows; r++)
        load_pixels (words[r], from + std::size_t (stride) * unsigned (r));
    else  // rows beyond the last load the last
#pragma unroll
      for (int r = 0; r < kRows; r++)
        load_pixels (words[r],
                     from + std::size_t (stride) * unsigned (min (r, strips.height - 1 - unit.y)));
  };
  // pixels in the bin: bit r of byte j is pixel j of row r. before: their count in the lanes
  // before, four rows to a word, each at most 31 x 8, which a byte holds
  struct Found {
    std::uint32_t pixels[kWords], before[kQuads];
  };
  const auto find = [&] (int buffer) {
    Found found = {};
#pragma unroll
    for (int q = 0; q < kQuads; q++) {
      std::uint32_t own = 0;
#pragma unroll
      for (int i = 0; i < 4; i++) {
        int n = 0;
#pragma unroll
        for (int w = 0; w < kWords; w++) {
          const int ones = equal_bytes (words[4 * q + i][w], pattern, mask);
          n = __dp4a (ones, -1, n);
          found.pixels[w] |= ones & 0x01010101u << (4 * q + i);
        }
        own += std::uint32_t (n) << (8 * i);
      }
      found.before[q] = warp_scan (own) - own;
      if (lane == kWarp - 1)
        *reinterpret_cast<uint2 *> (&row_totals[buffer][warp][4 * q]) =
            make_uint2 ((found.before[q] & 0xff00ffu) + (own & 0xff00ffu),
                        (found.before[q] >> 8 & 0xff00ffu) + (own >> 8 & 0xff00ffu));
    }
    return found;
  };
  // what warps and ranges before have in the lane's row; a lane adds up one row over some warps
  constexpr int kParts = kWarp / kRows;
  const int row = lane % kRows, part = lane / kRows,
            place = (row & ~3) | (row & 1) << 1 | (row >> 1 & 1);
  std::uint32_t ranges_left = 0;
  const auto left_of = [&] (int buffer, int range) {
    std::uint32_t left = 0, all = 0;
#pragma unroll
    for (int first = 0; first < kMostWarps; first += kParts) {
      if (first + part < (kWide ? warps : warp)) {
        const std::uint32_t n = row_totals[buffer][first + part][place];
        all += n;
        left += first + part < warp ? n : 0;
      }
    }
#pragma unroll
    for (int d = kRows; d < kWarp; d *= 2) {
      left += __shfl_xor_sync (~0u, left, d);
      if (kWide)
        all += __shfl_xor_sync (~0u, all, d);
    }
    if (kWide) {
      if (range == 0)
        ranges_left = 0;
      left += ranges_left;
      ranges_left += all;
    }
    return left;
  };

  Unit unit = { y0, 0 }, next = behind (unit);
  if (!image.ready)
    wait_for_previous ();
  load (unit);
  Found found = find (0);
  totals_are_there.arrive ();
  if (next.y < y_end)
    load (next);
  if (image.ready && strip > 0)  // the first strip needs no counts
    wait_for_previous ();

  // H in the row above the strip
  std::uint32_t h[kPixels], corner = 0;
  for (int range = 0; range < ranges; range++) {
    const int x = range * range_columns + threadIdx.x * kPixels;
#pragma unroll
    for (int j = 0; j < kPixels; j++)
      h[j] = 0;
    if (x < strips.width)
      add_columns<T> (h, strips, strip, bin, x);
#pragma unroll
    for (int j = 1; j < kPixels; j++)
      h[j] += h[j - 1];
    const std::uint32_t upto = warp_scan (h[kPixels - 1]);
    if (lane == kWarp - 1)
      above_totals[range % 2][warp] = upto;
    __syncthreads ();
    const std::uint32_t total = lane < warps ? above_totals[range % 2][lane] : 0;
    const std::uint32_t left = corner + warp_sum (lane < warp ? total : 0) + upto - h[kPixels - 1];
    if (kWide)
      corner += warp_sum (total);
#pragma unroll
    for (int j = 0; j < kPixels; j++)
      h[j] += left;
    if (kWide)
#pragma unroll
      for (int w = 0; w < kWords; w++)
        resting[(range * kWords + w) * blockDim.x + threadIdx.x] =
            make_uint4 (h[4 * w], h[4 * w + 1], h[4 * w + 2], h[4 * w + 3]);
  }

  std::uint8_t *const out = tensor + bin * layout.plane_pitch + threadIdx.x * 16;
  auto *const anchor_values =
      reinterpret_cast<std::uint32_t *> (tensor + strips.bins * layout.plane_pitch);
  totals_are_there.wait (0);
  std::uint32_t left = left_of (0, 0);
  for (int parity = 1;; parity ^= 1) {
    // the next unit's totals are in flight while this unit is stored
    const bool more = next.y < y_end;
    const Unit then = behind (next);
    Found next_found;
    if (more) {
      next_found = find (parity);
      totals_are_there.arrive ();
      if (then.y < y_end)
        load (then);
    } else {
      let_next_start ();
    }

    if (kWide)
#pragma unroll
      for (int w = 0; w < kWords; w++) {
        const uint4 four = resting[(unit.range * kWords + w) * blockDim.x + threadIdx.x];
        h[4 * w] = four.x, h[4 * w + 1] = four.y, h[4 * w + 2] = four.z, h[4 * w + 3] = four.w;
      }
    const int room =
        strips.width - (kWide ? unit.range * range_columns : 0) - int (threadIdx.x) * kPixels;
    std::uint8_t *const first =
        out + std::size_t (unit.y) * pitch + (kWide ? unit.range * (blockDim.x * 16) : 0);
    const auto step_down = [&] (int rows) {
#pragma unroll
      for (int r = 0; r < kRows; r++) {
        std::uint32_t add =
            __dp4a (found.before[r / 4], 1u << (8 * (r % 4)), __shfl_sync (~0u, left, r));
#pragma unroll
        for (int w = 0; w < kWords; w++) {
          const std::uint32_t ones = found.pixels[w] >> r & 0x01010101u;
#pragma unroll
          for (int j = 0; j < 4; j++)  // and the word's pixels up to j
            h[4 * w + j] = __dp4a (ones, 0x01010101u >> (24 - 8 * j), h[4 * w + j] + add);
          if (w + 1 < kWords)
            add = __dp4a (ones, 0x01010101u, add);
        }
        if (r < rows) {
          T *const to = reinterpret_cast<T *> (first + std::size_t (pitch) * unsigned (r));
          if (room >= kPixels)
            __stcs (reinterpret_cast<uint4 *> (to), packed (h));
          if constexpr (kRagged)
#pragma unroll
            for (int j = 0; j < kPixels - 1; j++)
              if (room < kPixels && j < room)
                to[j] = T (h[j]);
          if (kAnchored && (unit.y + r) % (1u << anchors.row_shift) == 0)
            store_anchors (anchor_values, anchors, bin, unit.y + r, strips.width - room, room, h);
        }
      }
    };
    if (unit.y + kRows <= y_end)
      step_down (kRows);
    else
      step_down (y_end - unit.y);
    if (kWide)
#pragma unroll
      for (int w = 0; w < kWords; w++)
        resting[(unit.range * kWords + w) * blockDim.x + threadIdx.x] =
            make_uint4 (h[4 * w], h[4 * w + 1], h[4 * w + 2], h[4 * w + 3]);
    if (!more)
      break;
    totals_are_there.wait (parity);
    left = left_of (parity, next.range);
    unit = next, next = then, found = next_found;
  }
}

/// Returns the rows of a strip. All blocks run at once, or in the fewest rounds that keep nine of
/// ten places busy with strips that are not too tall. Strips are short only where blocks are few.
int strip_rows (const Shape &shape, int processors, int blocks_a_processor)
{
  const int places = processors * blocks_a_processor,
            fewest =
                divide_up (shape.height, std::min (kMostStrip, kMostStripPixels / shape.width));
  int strips = 1;
  for (int rounds = 1; rounds <= kMostRounds; rounds++) {
    strips = std::max (1, rounds * places / shape.bins);
    if (strips >= fewest && 10 * strips * shape.bins >= 9 * rounds * places)
      break;
  }
  strips = std::max (strips, fewest);
  const int least =
      std::min (kUsualStrip,
                whole_steps (divide_up (shape.height, std::max (1, 2 * processors / shape.bins))));
  return std::max ({ whole_steps (divide_up (shape.height, strips)), least, kLeastStrip });
}

struct HighBits {
  int shift, first;
};

/// Finds the high bits that are the bin, as in Pixels; the LUT has all other bytes in no bin. Finds
/// none where high bits do not suffice, or where a bin has no byte.
std::optional<HighBits> high_bits_of (const Lut &lut, int bins)
{
  constexpr int kValues = sizeof lut;
  const int start = int (std::ranges::find (lut, 0) - lut.begin ());
  for (int shift = 0; shift <= 8; shift++) {
    const int first = start >> shift;
    if ((first + bins - 1) << shift >= kValues)
      continue;
    int value = 0;
    while (value < kValues
           && std::min<int> (lut[value], bins)
                  == int (std::min<unsigned> ((value >> shift) - first, bins)))
      value++;
    if (value == kValues)
      return HighBits{ shift, first };
  }
  return {};
}

/// Gives `pixels` that march can read, `alignment` at a time: the image if its high bits are the
/// bins, else bins. count makes these if a pixel is a byte and four pixels are a word.
int launch_count (const Job &job, const Strips &strips, int alignment, Pixels &pixels)
{
  const auto launch = [&] (auto kernel, const Pixels &source, const Lut &lut, std::size_t columns,
                           int cells) {
    job.stage ("count");
    Table table;
    static_assert (sizeof table == sizeof lut);
    __builtin_memcpy (table.words, lut.data (), sizeof table);
    const dim3 grid (unsigned (columns / kSegment), divide_up (cells, strips.cells_a_part),
                     strips.counted () ? divide_up (strips.bins, kCountBins) : 1);
    return launch_overlapped (kernel, grid, kCountWarps * kWarp, 0, job.stream, source, table,
                              job.pixels, strips);
  };
  pixels = { job.pixels.data, job.pixels.stride, int (job.pixels.stride), 0, 0, false };
  if (job.binning) {
    const auto &[image, lut] = *job.binning;
    const auto high_bits = high_bits_of (lut, strips.bins);
    const auto [shift, first] = high_bits.value_or (HighBits{});
    const Pixels bytes = { static_cast<const std::uint8_t *> (image.data),
                           std::size_t (image.stride),
                           strips.width,
                           shift,
                           first,
                           strips.counted () > 0 };
    const bool in_words =
        image.format.bytes == 1 && image.stride <= UINT32_MAX
        && (reinterpret_cast<std::size_t> (image.data) | image.stride | strips.width) % 4 == 0;
    if (in_words && high_bits
        && (reinterpret_cast<std::size_t> (image.data) | image.stride | strips.width) % alignment
               == 0) {
      pixels = bytes;
    } else if (in_words) {
      return launch (strips.cells_a_part > 1 ? count<true, false> : count<true, true>, bytes, lut,
                     job.pixels.stride, divide_up (strips.height, strips.cell_rows));
    } else {
      job.stage ("bins");
      if (const int error =
              bin_image (image, lut, strips.width, strips.height, job.pixels, job.stream);
          error != 0)
        return error;
    }
  }
  if (strips.counted () == 0)
    return 0;
  return launch (strips.cells_a_part > 1 ? count<false, false> : count<false, true>, pixels, {},
                 strips.pitch, strips.counted ());
}

template <class T, bool kAnchored>
int launch (const Job &job)
{
  constexpr int kPixels = Lane<T>::kPixels;
  const int segments = divide_up (job.shape.width, kWarp * kPixels),
            ranges = divide_up (segments, Lane<T>::kMostWarps);
  const unsigned threads = divide_up (segments, ranges) * kWarp;
  const bool ragged = job.shape.width % kPixels != 0;
  const auto kernel =
      ranges > 1 ? ragged ? march<T, true, true, kAnchored> : march<T, true, false, kAnchored>
      : ragged ? march<T, false, true, kAnchored>
                 : march<T, false, false, kAnchored>;
  const std::size_t resting = ranges > 1 ? sizeof (std::uint32_t) * ranges * threads * kPixels : 0;
  if (resting > 0)  // always the same value, as other threads may be launching the kernel
    if (const int error = cudaFuncSetAttribute (kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                kMostWidth * int (sizeof (std::uint32_t)));
        error != 0)
      return error;
  int blocks = 0;
  if (const int error =
          cudaOccupancyMaxActiveBlocksPerMultiprocessor (&blocks, kernel, int (threads), resting);
      error != 0)
    return error;

  const int processors = device_attribute (cudaDevAttrMultiProcessorCount);
  Strips strips (job.shape, strip_rows (job.shape, processors, std::max (1, blocks)),
                 job.workspace);
  strips.join_cells (processors);
  Pixels pixels;
  if (const int error = launch_count (job, strips, kPixels, pixels); error != 0)
    return error;
  job.stage ("march");
  return launch_overlapped (kernel, unsigned (strips.count) * unsigned (strips.bins), threads,
                            resting, job.stream, pixels, strips, job.layout,
                            static_cast<std::uint8_t *> (job.tensor), ranges,
                            kAnchored ? anchors_of (job.shape) : Anchors{});
}

std::size_t workspace_bytes (const Shape &shape, const Tuning &)
{
  const Strips strips (shape, kLeastStrip, nullptr);  // the most cells on any device
  return strips.row_of (strips.counted (), 0) * sizeof (std::uint16_t);
}

bool supports (const Shape &shape, const Tuning &)
{
  return shape.content == Content::bins && shape.width <= kMostWidth
         && divide_up (shape.height, kLeastStrip) <= kMostCells;
}

int run (const Job &job)
{
  switch (job.shape.counter) {
    case Type::u32: return launch<std::uint32_t, false> (job);
    case Type::u16: return launch<std::uint16_t, false> (job);
    default: return launch<std::uint16_t, true> (job);
  }
}

}  // namespace
}  // namespace cuda

extern const Strategy kStrip;
const Strategy kStrip = { .name = "strip",
                          .description =
                              "CUDA: column counts first, then strips that write the tensor once",
                          .device = Device::cuda,
                          .workspace_bytes = cuda::workspace_bytes,
                          .run = cuda::run,
                          .bins_itself = true,
                          .anchors_itself = true,
                          .supports = cuda::supports,
                          .limit = "integral histograms, up to 14336 columns and 1572840 rows" };

}  // namespace inthist
