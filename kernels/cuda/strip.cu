// SPDX-License-Identifier: LGPL-2.1-or-later
//
// strip: carries first, then strips that write the tensor once, with no waiting between blocks.
//
// The image is cut into tiles: strips of kRows rows, segments of 32 x kPixels columns. The tensor over a tile is known from three things:
// the pixels of the tile, the column counts of all rows above it, and the row counts of all columns left of it. So:
//
//   count_tiles  reads the image and counts, in every tile and bin, each column and each row
//   scan_carries adds up: columns down the strips, rows along the segments (exclusive, so a tile finds what lies above and left)
//   march        one warp a tile and kBins bins: each lane holds 16 bytes of the current row of H and walks down
//
// Traffic, as a share of the tensor: 1 written by march; 1/kRows for the column carries, written once and read once; 1/128 for the row carries;
// and the image once, and once from L2 for every kBins bins. The carry structure is that of Nehab et al. 2011 and Dang, Yan and Wu 2014 (reduce, scan the
// auxiliary matrix, scan), with the bins counted on the fly; nothing looks back, so no block waits for another.
//
// Inside a row the march needs, at each lane, how many pixels of the bin the lanes before it hold. Those counts are small, so several bins share the
// bytes or halves of one word, and one five-step shuffle scan serves them all. All sums are modulo the counter, so carries have its type.
#include "device/planes.cuh"
#include "device/warp.cuh"

namespace inthist {
namespace cuda {
namespace {

constexpr int kRows = 64;       // rows a strip; at most 64, for the 8-bit prefix sums of half a strip
constexpr int kWarps = 8;       // warps a block
constexpr int kCountBins = 32;  // bins that one block of count_tiles counts in shared memory

template <class T>
struct Tile {
  static constexpr int kPixels = 16 / sizeof (T);         // pixels a lane: a 16-byte store
  static constexpr int kColumns = 32 * kPixels;           // columns a segment
  static constexpr int kWords = kPixels / 4;              // words of bin indices a lane
  static constexpr int kBins = 4;                         // bins a warp
  static constexpr int kField = kColumns < 256 ? 8 : 16;  // bits that hold a count over a segment's row
};

/// The frame cut into tiles, and where the carries lie.
template <class T>
struct Carries {
  int width, height, bins, strips, segments;
  std::uint8_t *columns;  // [bin][strip][x]           pixels of the bin in column x of the strip
  T *above;               // [bin][strip][x]           the same in all strips above
  T *above_segment;       // [bin][strip][segment]     and over all columns of the segment
  T *left;                // [bin][strip][segment][row]  in that row of the segment; after the scan in all segments before it

  __host__ __device__ std::size_t columns_padded () const { return std::size_t (segments) * Tile<T>::kColumns; }
  __host__ __device__ std::size_t strip_of (int bin, int strip) const { return std::size_t (bin) * strips + strip; }

  explicit Carries (const Shape &shape, void *workspace)
      : width (shape.width), height (shape.height), bins (shape.bins), strips (divide_up (shape.height, kRows)),
        segments (divide_up (shape.width, Tile<T>::kColumns))
  {
    const std::size_t tiles = std::size_t (bins) * strips * segments;
    above = static_cast<T *> (workspace);
    left = above + tiles * Tile<T>::kColumns;
    above_segment = left + tiles * kRows;
    columns = reinterpret_cast<std::uint8_t *> (above_segment + (tiles + 31) / 32 * 32);
  }

  std::size_t bytes () const
  {
    return (columns + std::size_t (bins) * strips * columns_padded ()) - reinterpret_cast<std::uint8_t *> (above);
  }
};

/// One byte 1 for each byte of `word` that equals the byte repeated in `pattern`, else 0.
__device__ inline std::uint32_t
equal_bytes (std::uint32_t word, std::uint32_t pattern)
{
  const std::uint32_t difference = word ^ pattern;
  const std::uint32_t any = ((difference & 0x7f7f7f7fu) + 0x7f7f7f7fu) | difference;  // bit 7 of a byte: it differs
  return ~any >> 7 & 0x01010101u;
}

/// Block: one tile, kCountBins bins. Shared counters, each touched by the lanes of a warp in different banks whatever the pixels are.
template <class T>
__global__ void __launch_bounds__ (32 * kWarps)
count_tiles (PixelPlane image, Carries<T> carries)
{
  using Tile = Tile<T>;
  constexpr int kRowWords = Tile::kColumns / 4;
  __shared__ std::uint32_t pixels[kRows][kRowWords + 1];
  __shared__ std::uint32_t column_counts[kCountBins][kRowWords];  // four columns a word
  __shared__ std::uint32_t row_counts[kCountBins][kRows];

  const int segment = blockIdx.x % carries.segments, strip = blockIdx.x / carries.segments, first_bin = blockIdx.y * kCountBins;
  const int rows = min (kRows, carries.height - strip * kRows), bins = min (kCountBins, carries.bins - first_bin);
  for (int i = threadIdx.x; i < kCountBins * kRowWords; i += blockDim.x)
    (&column_counts[0][0])[i] = 0;
  for (int i = threadIdx.x; i < kCountBins * kRows; i += blockDim.x)
    (&row_counts[0][0])[i] = 0;
  __syncthreads ();

  // along rows: a thread has four columns, each with a byte of its own
  const std::uint8_t *origin = image.data + std::size_t (strip) * kRows * image.stride + std::size_t (segment) * Tile::kColumns;
  for (int i = threadIdx.x; i < rows * kRowWords; i += blockDim.x) {
    const int y = i / kRowWords, x = i % kRowWords;
    const std::uint32_t word = *reinterpret_cast<const std::uint32_t *> (origin + y * image.stride + 4 * x);
    pixels[y][x] = word;
    for (int j = 0; j < 4; j++) {
      const unsigned bin = (word >> (8 * j) & 255) - first_bin;
      if (bin < unsigned (bins))
        atomicAdd (&column_counts[bin][x], 1u << (8 * j));
    }
  }
  __syncthreads ();

  // down columns: the lanes of a warp have different rows
  for (int i = threadIdx.x; i < kRows * kRowWords; i += blockDim.x) {
    const int y = i % kRows, x = i / kRows;
    if (y >= rows)
      continue;
    const std::uint32_t word = pixels[y][x];
    for (int j = 0; j < 4; j++) {
      const unsigned bin = (word >> (8 * j) & 255) - first_bin;
      if (bin < unsigned (bins))
        atomicAdd (&row_counts[bin][y], 1u);
    }
  }
  __syncthreads ();

  for (int i = threadIdx.x; i < bins * kRowWords; i += blockDim.x) {
    const int b = i / kRowWords, x = i % kRowWords;
    const std::size_t row = carries.strip_of (first_bin + b, strip) * carries.columns_padded () + std::size_t (segment) * Tile::kColumns;
    reinterpret_cast<std::uint32_t *> (carries.columns + row)[x] = column_counts[b][x];
  }
  for (int i = threadIdx.x; i < bins * kRows; i += blockDim.x) {
    const int b = i / kRows, y = i % kRows;
    carries.left[(carries.strip_of (first_bin + b, strip) * carries.segments + segment) * kRows + y] = T (row_counts[b][y]);
  }
}

/// Warps of the first blocks: one bin and segment, down the strips. Threads of the others: one bin and row, along the segments.
template <class T>
__global__ void __launch_bounds__ (32 * kWarps)
scan_carries (Carries<T> carries, int column_blocks)
{
  using Tile = Tile<T>;
  if (blockIdx.x < column_blocks) {
    const int lane = threadIdx.x % 32, warp = blockIdx.x * kWarps + threadIdx.x / 32;
    const int segment = warp % carries.segments, bin = warp / carries.segments;
    if (bin >= carries.bins)
      return;
    const std::size_t pitch = carries.columns_padded ();
    const std::size_t origin = carries.strip_of (bin, 0) * pitch + std::size_t (segment) * Tile::kColumns + lane * Tile::kPixels;
    const std::uint32_t *__restrict__ columns = reinterpret_cast<const std::uint32_t *> (carries.columns + origin);
    T *__restrict__ above = carries.above + origin;
    T *__restrict__ above_segment = carries.above_segment + carries.strip_of (bin, 0) * carries.segments + segment;
    T sums[Tile::kPixels] = {};
    constexpr int kAhead = 8;
    for (int first = 0; first < carries.strips; first += kAhead) {
      std::uint32_t words[kAhead][Tile::kWords];
#pragma unroll
      for (int i = 0; i < kAhead; i++)
#pragma unroll
        for (int w = 0; w < Tile::kWords; w++)
          words[i][w] = first + i < carries.strips ? columns[(first + i) * (pitch / 4) + w] : 0;
#pragma unroll
      for (int i = 0; i < kAhead; i++) {
        if (first + i >= carries.strips)
          break;
        union {
          T values[Tile::kPixels];
          uint4 vector;
        } out;
        T lane_sum = 0;
#pragma unroll
        for (int j = 0; j < Tile::kPixels; j++) {
          out.values[j] = sums[j];
          lane_sum = T (lane_sum + sums[j]);
          sums[j] = T (sums[j] + (words[i][j / 4] >> (8 * (j % 4)) & 255));
        }
        *reinterpret_cast<uint4 *> (above + (first + i) * pitch) = out.vector;
        const T total = warp_scan (lane_sum);
        if (lane == 31)
          above_segment[std::size_t (first + i) * carries.segments] = total;
      }
    }
  } else {
    const std::size_t thread = std::size_t (blockIdx.x - column_blocks) * blockDim.x + threadIdx.x;
    if (thread >= std::size_t (carries.bins) * carries.strips * kRows)
      return;
    T *__restrict__ left = carries.left + thread / kRows * carries.segments * kRows + thread % kRows;
    T sum = 0;
    constexpr int kAhead = 8;
    for (int first = 0; first < carries.segments; first += kAhead) {
      T counts[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; i++)
        counts[i] = first + i < carries.segments ? left[(first + i) * kRows] : T (0);
#pragma unroll
      for (int i = 0; i < kAhead; i++)
        if (first + i < carries.segments) {
          left[(first + i) * kRows] = sum;
          sum = T (sum + counts[i]);
        }
    }
  }
}

template <class T>
__device__ inline void
store (T *row, int x, int width, const T (&values)[Tile<T>::kPixels])
{
  if (x + Tile<T>::kPixels <= width) {
    union {
      T values[Tile<T>::kPixels];
      uint4 vector;
    } out;
#pragma unroll
    for (int j = 0; j < Tile<T>::kPixels; j++)
      out.values[j] = values[j];
    __stcs (reinterpret_cast<uint4 *> (row + x), out.vector);
  } else {
#pragma unroll
    for (int j = 0; j < Tile<T>::kPixels; j++)
      if (x + j < width)
        row[x + j] = values[j];
  }
}

template <class T>
__global__ void __launch_bounds__ (32 * kWarps)
march (PixelPlane image, Carries<T> carries, Layout layout, std::uint8_t *tensor)
{
  using Tile = Tile<T>;
  constexpr int kBins = Tile::kBins, kPixels = Tile::kPixels, kWords = Tile::kWords, kField = Tile::kField;
  constexpr int kFields = 32 / kField, kScans = kBins / kFields;

  const int lane = threadIdx.x % 32, groups = divide_up (carries.bins, kBins);
  const std::int64_t warp = std::int64_t (blockIdx.x) * kWarps + threadIdx.x / 32;
  const int segment = int (warp % carries.segments), group = int (warp / carries.segments % groups);
  const std::int64_t strip_index = warp / carries.segments / groups;
  if (strip_index >= carries.strips)
    return;
  const int strip = int (strip_index), first_bin = group * kBins, bins = min (kBins, carries.bins - first_bin);
  const int x = segment * Tile::kColumns + lane * kPixels, y0 = strip * kRows, rows = min (kRows, carries.height - y0);

  // H in the row above the tile, and the counts left of it in each row (lane i has rows i and i + 32)
  T above[kBins][kPixels];
  std::uint32_t left[kBins][kRows / 32];
#pragma unroll
  for (int g = 0; g < kBins; g++) {
    const std::size_t index = carries.strip_of (first_bin + min (g, bins - 1), strip);
    T corner = 0;
    for (int s = lane; s < segment; s += 32)
      corner = T (corner + carries.above_segment[index * carries.segments + s]);
    corner = T (__shfl_sync (~0u, warp_scan (corner), 31));

    const T *columns = carries.above + index * carries.columns_padded () + x;
    T sum = 0;
#pragma unroll
    for (int j = 0; j < kPixels; j++)
      above[g][j] = sum = T (sum + columns[j]);
    const T before = T (corner + warp_scan (sum) - sum);
#pragma unroll
    for (int j = 0; j < kPixels; j++)
      above[g][j] = T (above[g][j] + before);
#pragma unroll
    for (int half = 0; half < kRows / 32; half++)
      left[g][half] = carries.left[(index * carries.segments + segment) * kRows + half * 32 + lane];
  }

  std::uint8_t *out = tensor + first_bin * layout.plane_pitch + std::size_t (y0) * layout.row_pitch;
  const std::uint8_t *in = image.data + std::size_t (y0) * image.stride + x;
  std::uint32_t pattern[kBins];
#pragma unroll
  for (int g = 0; g < kBins; g++)
    pattern[g] = (first_bin + g) * 0x01010101u;

#pragma unroll
  for (int half = 0; half < kRows / 32; half++) {
    std::uint32_t base[kBins] = {};              // pixels of the rows so far, left of this lane
    std::uint32_t local[kBins][kWords] = {};     // and of this lane, as prefix sums in bytes: at most 4 x 32
    std::uint32_t word_sum[kBins][kWords] = {};  // and of this lane's words before
    const int last = min (32, rows - half * 32);
    for (int i = 0; i < last; i++) {
      std::uint32_t words[kWords];
#pragma unroll
      for (int w = 0; w < kWords; w++)
        words[w] = reinterpret_cast<const std::uint32_t *> (in)[w];
      in += image.stride;

      std::uint32_t packed[kScans] = {};
#pragma unroll
      for (int g = 0; g < kBins; g++) {
        std::uint32_t count = 0;
#pragma unroll
        for (int w = 0; w < kWords; w++) {
          const std::uint32_t ones = equal_bytes (words[w], pattern[g]);
          local[g][w] += ones * 0x01010101u;
          word_sum[g][w] += count;
          count = __dp4a (ones, 0x01010101u, count);
        }
        packed[g / kFields] |= count << (kField * (g % kFields));
      }
#pragma unroll
      for (int s = 0; s < kScans; s++)
        packed[s] = warp_scan (packed[s]) - packed[s];

#pragma unroll
      for (int g = 0; g < kBins; g++) {
        base[g] += __shfl_sync (~0u, left[g][half], i);
        base[g] += packed[g / kFields] >> (kField * (g % kFields)) & ((1u << kField) - 1);
        if (g < bins) {
          T values[kPixels];
#pragma unroll
          for (int j = 0; j < kPixels; j++)
            values[j] = T (above[g][j] + base[g] + word_sum[g][j / 4] + (local[g][j / 4] >> (8 * (j % 4)) & 255));
          store (reinterpret_cast<T *> (out + g * layout.plane_pitch), x, carries.width, values);
        }
      }
      out += layout.row_pitch;
    }
#pragma unroll
    for (int g = 0; g < kBins; g++)
#pragma unroll
      for (int j = 0; j < kPixels; j++)
        above[g][j] = T (above[g][j] + base[g] + word_sum[g][j / 4] + (local[g][j / 4] >> (8 * (j % 4)) & 255));
  }
}

template <class T>
int
launch (const Job &job)
{
  const Carries<T> carries (job.shape, job.workspace);
  const int threads = 32 * kWarps, tiles = carries.strips * carries.segments;
  job.stage ("count");
  count_tiles<T><<<dim3 (tiles, divide_up (carries.bins, kCountBins)), threads, 0, job.stream>>> (job.pixels, carries);
  const int column_blocks = divide_up (carries.bins * carries.segments, kWarps);
  const int row_blocks = int ((std::size_t (carries.bins) * carries.strips * kRows + threads - 1) / threads);
  job.stage ("carry");
  scan_carries<T><<<column_blocks + row_blocks, threads, 0, job.stream>>> (carries, column_blocks);
  const std::int64_t warps = std::int64_t (tiles) * divide_up (carries.bins, Tile<T>::kBins);
  job.stage ("march");
  march<T><<<unsigned ((warps + kWarps - 1) / kWarps), threads, 0, job.stream>>> (job.pixels, carries, job.layout,
                                                                                  static_cast<std::uint8_t *> (job.tensor));
  return cudaGetLastError ();
}

std::size_t
workspace_bytes (const Shape &shape, const Tuning &)
{
  return shape.counter == Type::u32 ? Carries<std::uint32_t> (shape, nullptr).bytes () : Carries<std::uint16_t> (shape, nullptr).bytes ();
}

int
run (const Job &job)
{
  return job.shape.counter == Type::u32 ? launch<std::uint32_t> (job) : launch<std::uint16_t> (job);
}

}  // namespace
}  // namespace cuda

extern const Strategy kStrip;
const Strategy kStrip = { .name = "strip",
                          .description = "CUDA: carries first, then strips that write the tensor once",
                          .device = Device::cuda,
                          .workspace_bytes = cuda::workspace_bytes,
                          .run = cuda::run,
                          .supports = [] (const Shape &shape, const Tuning &) { return shape.content == Content::bins; },
                          .limit = "integral histograms" };

}  // namespace inthist
