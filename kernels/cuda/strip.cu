// SPDX-License-Identifier: LGPL-2.1-or-later
//
// strip: counts columns, then marches down strips of rows and writes the tensor once. Two launches:
//
//   count   counts, in every strip, the pixels of each bin in each column
//   march   walks down every strip of every bin with the current row of H (device/strip_march.cuh)
//
// A block waits for no other. It starts from H in the row above its strip: the column counts of all
// strips above, added up and scanned along the row. The carries are those of Nehab et al. 2011 and
// Dang, Yan and Wu 2014 (reduce, scan what was reduced, scan), with bins counted on the fly.
// Where a byte's high bits are its bin, as with 32 bins of 8-bit pixels, or with some of these 32,
// march reads the picture itself, and its first strip does not wait for count. Else count makes the
// bins on its way, if a pixel is a byte, or bin_image before it.
//
// Traffic, as a share of the tensor: 1, and for the column counts 1 / (2 x rows of a strip) with
// u32, 1 / rows with u16. The picture comes from L2, once for every bin. What was tuned is in
// strip_policy.hpp.
#include <algorithm>
#include <optional>

#include "device/strip_march.cuh"

namespace inthist {
namespace cuda {
namespace {

constexpr int kCountWarps = 16;  // warps of a block of count
// a row of several ranges takes 4 bytes a column of shared memory: 64 KiB on the smallest device
constexpr int kMostWidth = 14336;  // columns
constexpr int kMostCells = 65535;  // of a grid

/// Counts kCountBins bins of a segment of joined cells, in each block. A lane has four columns, two
/// a counter, so that no two lanes of a warp meet in a bank, whatever the pixels are. kLut: bytes
/// become bins on the way, for march too. kOneCell: no cells are joined.
template <bool kLut, bool kOneCell>
__global__ void __launch_bounds__ (kCountWarps *kWarp)
count (Pixels source, const __grid_constant__ LutWords lut, PixelPlane bin_plane, Strips strips)
{
  constexpr int kAhead = divide_up (kMostCell, kCountWarps);  // rows of a warp, all in flight
  // the last counter is for bins that other blocks count, or none
  __shared__ alignas (16) std::uint32_t counters[kCountBins + 1][2][kWarp];
  __shared__ std::uint32_t table[sizeof (Lut) / 4];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int x = blockIdx.x * kSegment + lane * 4, first_bin = blockIdx.z * kCountBins,
            bins = min (kCountBins, strips.bins - first_bin);
  const int first = first_bin + (kLut ? 0 : source.first);
  const int cells = kLut ? divide_up (strips.height, strips.cell_rows) : strips.counted_cells ();
  int cell = blockIdx.y * (kOneCell ? 1 : strips.joined_cells);
  const int end = kOneCell ? cell + 1 : min (cells, cell + strips.joined_cells);

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
    const int done = cell++;
    if (cell < end)
      load ();
    if (done < strips.counted_cells () && x < strips.pitch
        && (cell % strips.cells_a_strip == 0 || cell == end))  // march reads no other
      for (int b = warp; b < bins; b += kCountWarps)
        store_to_stay (
            reinterpret_cast<uint2 *> (strips.counts + strips.row_of (done, first_bin + b) + x),
            make_uint2 (counters[b][0][lane], counters[b][1][lane]));
    if (kOneCell || cell >= end)
      break;
    __syncthreads ();
  }
}

/// Returns the rows of a strip. All blocks run at once, or in the fewest rounds that keep nine of
/// ten places busy with strips that are not too tall. Strips are short only where blocks are few.
int strip_rows (const Shape &shape, int processors, int blocks_a_processor,
                const StripPolicy &policy)
{
  const int places = processors * blocks_a_processor,
            fewest = divide_up (shape.height,
                                std::min (policy.most_rows, policy.most_pixels / shape.width));
  int strips = 1;
  for (int rounds = 1; rounds <= policy.most_rounds; rounds++) {
    strips = std::max (1, rounds * places / shape.bins);
    if (strips >= fewest && 10 * strips * shape.bins >= 9 * rounds * places)
      break;
  }
  strips = std::max (strips, fewest);
  const int least =
      std::min (policy.usual_rows,
                whole_steps (divide_up (shape.height, std::max (1, 2 * processors / shape.bins))));
  return std::max ({ whole_steps (divide_up (shape.height, strips)), least, policy.least_rows });
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
    const dim3 grid (unsigned (columns / kSegment), divide_up (cells, strips.joined_cells),
                     strips.counted_cells () ? divide_up (strips.bins, kCountBins) : 1);
    return launch_overlapped (kernel, grid, kCountWarps * kWarp, 0, job.stream, source,
                              LutWords::of (lut), job.pixels, strips);
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
                           strips.counted_cells () > 0 };
    const bool in_words =
        image.format.bytes == 1 && image.stride <= UINT32_MAX
        && (reinterpret_cast<std::size_t> (image.data) | image.stride | strips.width) % 4 == 0;
    if (in_words && high_bits
        && (reinterpret_cast<std::size_t> (image.data) | image.stride | strips.width) % alignment
               == 0) {
      pixels = bytes;
    } else if (in_words) {
      return launch (strips.joined_cells > 1 ? count<true, false> : count<true, true>, bytes, lut,
                     job.pixels.stride, divide_up (strips.height, strips.cell_rows));
    } else {
      job.stage ("bins");
      if (const int error =
              bin_image (image, lut, strips.width, strips.height, job.pixels, job.stream);
          error != 0)
        return error;
    }
  }
  if (strips.counted_cells () == 0)
    return 0;
  return launch (strips.joined_cells > 1 ? count<false, false> : count<false, true>, pixels, {},
                 strips.pitch, strips.counted_cells ());
}

template <class T, bool kAnchored>
int launch (const Job &job, const StripPolicy &policy)
{
  using Block = March<T, false, false, kAnchored>;  // what follows is the same in all
  constexpr int kPixels = Block::kPixels;
  const int segments = divide_up (job.shape.width, kWarp * kPixels),
            ranges = divide_up (segments, Block::kMostWarps);
  const unsigned threads = divide_up (segments, ranges) * kWarp;
  const bool ragged = job.shape.width % kPixels != 0;
  const auto kernel =
      ranges > 1 ? ragged ? march<T, true, true, kAnchored> : march<T, true, false, kAnchored>
      : ragged ? march<T, false, true, kAnchored>
                 : march<T, false, false, kAnchored>;
  const std::size_t row_above_bytes =
      ranges > 1 ? sizeof (std::uint32_t) * ranges * threads * kPixels : 0;
  if (row_above_bytes > 0)  // always the same value, as other threads may be launching the kernel
    if (const int error = cudaFuncSetAttribute (kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                kMostWidth * int (sizeof (std::uint32_t)));
        error != 0)
      return error;
  int blocks = 0;
  if (const int error = cudaOccupancyMaxActiveBlocksPerMultiprocessor (
          &blocks, kernel, int (threads), row_above_bytes);
      error != 0)
    return error;

  const int processors = device_attribute (cudaDevAttrMultiProcessorCount);
  Strips strips (job.shape, strip_rows (job.shape, processors, std::max (1, blocks), policy),
                 job.workspace);
  strips.join_cells (processors, policy);
  Pixels pixels;
  if (const int error = launch_count (job, strips, kPixels, pixels); error != 0)
    return error;
  job.stage ("march");
  return launch_overlapped (kernel, unsigned (strips.n) * unsigned (strips.bins), threads,
                            row_above_bytes, job.stream, pixels, strips, job.layout,
                            static_cast<std::uint8_t *> (job.tensor), ranges,
                            kAnchored ? anchors_of (job.shape) : Anchors{});
}

std::size_t workspace_bytes (const Shape &shape, const Tuning &)
{
  const Strips strips (shape, StripPolicy{}.least_rows, nullptr);  // the most cells on any device
  return strips.row_of (strips.counted_cells (), 0) * sizeof (std::uint16_t);
}

bool supports (const Shape &shape, const Tuning &)
{
  return shape.content == Content::bins && shape.width <= kMostWidth
         && divide_up (shape.height, StripPolicy{}.least_rows) <= kMostCells;
}

int run (const Job &job)
{
  return run_strip (job, {});
}

}  // namespace

int run_strip (const Job &job, const StripPolicy &policy)
{
  switch (job.shape.counter) {
    case Type::u32: return launch<std::uint32_t, false> (job, policy);
    case Type::u16: return launch<std::uint16_t, false> (job, policy);
    default: return launch<std::uint16_t, true> (job, policy);
  }
}

}  // namespace cuda

extern const Strategy kStrip = {
  .name = "strip",
  .description = "CUDA: column counts first, then strips that write the tensor once",
  .device = Device::cuda,
  .workspace_bytes = cuda::workspace_bytes,
  .run = cuda::run,
  .bins_itself = true,
  .anchors_itself = true,
  .supports = cuda::supports,
  .limit = "integral histograms, up to 14336 columns and 1572840 rows"
};

}  // namespace inthist
