// SPDX-License-Identifier: LGPL-2.1-or-later
//
// strip: counts columns, then marches down strips of rows and writes the tensor once. Two launches:
//
//   count   counts, in every strip, the pixels of each bin in each column (device/strip_count.cuh)
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

#include "device/attribute.cuh"
#include "device/strip_count.cuh"
#include "device/strip_march.cuh"
#include "strip.hpp"

namespace inthist {
namespace cuda {
namespace {

/// Returns the rows of a strip. All blocks run at once, or in the fewest rounds that keep nine of
/// ten places busy with strips that are not too tall. Strips are short only where blocks are few.
int strip_rows (const Shape &shape, int processors, int blocks_per_processor,
                const StripPolicy &policy)
{
  const int places = processors * blocks_per_processor,
            fewest = divide_up (shape.height,
                                std::min (policy.most_rows, policy.most_pixels / shape.width));
  int strips = 1;
  for (int rounds = 1; rounds <= policy.most_rounds; rounds++) {
    strips = std::max (1, rounds * places / shape.bins);
    if (strips >= fewest && 10 * strips * shape.bins >= 9 * rounds * places)
      break;
  }
  strips = std::max (strips, fewest);
  const int least = std::min (
      policy.usual_rows,
      round_up (divide_up (shape.height, std::max (1, 2 * processors / shape.bins)), kStepRows));
  return std::max (
      { round_up (divide_up (shape.height, strips), kStepRows), least, policy.least_rows });
}

struct HighBits {
  int shift, first;
};

/// Finds the high bits that are the bin, as in BinBytes; the LUT has all other bytes in no bin.
/// Finds none where high bits do not suffice, or where a bin has no byte.
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

/// Who makes bins of the image: nobody where its high bits are the bins, or where bins are given.
enum class BinsBy { nobody, count, bin_image };

/// What count reads, and march too, which with BinsBy::count reads the bins that count makes.
struct Input {
  BinBytes pixels;
  BinsBy bins_by;
};

BinBytes bin_plane_of (const Job &job)
{
  return { .data = job.pixels.data,
           .stride = job.pixels.stride,
           .columns = int (job.pixels.stride) };
}

/// Chooses the image if its high bits are the bins and it lies `alignment` bytes at a time. Else
/// count makes the bins if a pixel is a byte and four pixels are a word, or bin_image before it.
Input input_of (const Job &job, const Strips &strips, int alignment)
{
  if (!job.binning)
    return { bin_plane_of (job), BinsBy::nobody };
  const auto &[image, lut] = *job.binning;
  const std::size_t lies = reinterpret_cast<std::size_t> (image.data) | image.stride | strips.width;
  if (image.format.bytes != 1 || image.stride > UINT32_MAX || lies % 4 != 0)
    return { bin_plane_of (job), BinsBy::bin_image };
  const auto high_bits = high_bits_of (lut, strips.bins);
  const auto [shift, first] = high_bits.value_or (HighBits{});
  const BinBytes bytes = { .data = static_cast<const std::uint8_t *> (image.data),
                           .stride = std::size_t (image.stride),
                           .columns = strips.width,
                           .shift = shift,
                           .first = first,
                           .ready = strips.counted_cells () > 0 };
  return { bytes, high_bits && lies % alignment == 0 ? BinsBy::nobody : BinsBy::count };
}

int launch_bin_image (const Job &job, const Input &input)
{
  if (input.bins_by != BinsBy::bin_image)
    return 0;
  job.stage ("bins");
  return bin_image (*job.binning, job.shape.width, job.shape.height, job.pixels, job.stream);
}

int launch_count (const Job &job, const Strips &strips, const Input &input)
{
  const bool makes_bins = input.bins_by == BinsBy::count;
  const int cells = makes_bins ? strips.cells () : strips.counted_cells ();
  if (cells == 0)
    return 0;
  job.stage ("count");
  const std::size_t columns = makes_bins ? job.pixels.stride : strips.pitch;
  const dim3 grid (unsigned (columns / kSegment), divide_up (cells, strips.joined_cells),
                   strips.counted_cells () ? divide_up (strips.bins, kCountBins) : 1);
  const bool one_cell = strips.joined_cells == 1;
  const auto kernel = makes_bins ? one_cell ? count<true, true> : count<true, false>
                      : one_cell ? count<false, true>
                                 : count<false, false>;
  return launch_overlapped (kernel, grid, kCountWarps * kWarp, 0, job.stream, input.pixels,
                            LutWords::of (makes_bins ? job.binning->lut : Lut{}), job.pixels,
                            strips);
}

/// A launch of march, as a frame's shape wants it; the number of blocks comes from Strips.
struct MarchLaunch {
  void (*kernel) (BinBytes, Strips, Layout, std::uint8_t *, int, Anchors);
  int pixels, ranges;  // of a lane, of a row
  unsigned threads;
  std::size_t row_above_bytes;  // of shared memory

  template <class T, bool kAnchored>
  static MarchLaunch of (const Shape &shape)
  {
    using Block = March<T, false, false, kAnchored>;  // what follows is the same in all
    constexpr int kPixels = Block::kPixels;
    const int segments = divide_up (shape.width, kWarp * kPixels),
              ranges = divide_up (segments, Block::kMostWarps);
    const unsigned threads = divide_up (segments, ranges) * kWarp;
    const bool wide = ranges > 1, ragged = shape.width % kPixels != 0;
    return { .kernel =
                 wide ? ragged ? march<T, true, true, kAnchored> : march<T, true, false, kAnchored>
                 : ragged ? march<T, false, true, kAnchored>
                          : march<T, false, false, kAnchored>,
             .pixels = kPixels,
             .ranges = ranges,
             .threads = threads,
             .row_above_bytes = wide ? sizeof (std::uint32_t) * ranges * threads * kPixels : 0 };
  }

  static MarchLaunch of (const Shape &shape)
  {
    switch (shape.counter) {
      case Type::u32: return of<std::uint32_t, false> (shape);
      case Type::u16: return of<std::uint16_t, false> (shape);
      case Type::u16_anchored: return of<std::uint16_t, true> (shape);
      case Type::u8:
      case Type::s32:
      case Type::f32:
      case Type::f64:
      case Type::f32x4:
      case Type::u8_tiled: break;  // no valid shape counts in them
    }
    return {};
  }

  /// Lets the kernel have its shared memory, and gets how many blocks a processor has room for.
  int get_room (int &blocks) const
  {
    if (row_above_bytes > 0)  // always the same value, as other threads may be launching the kernel
      if (const int error =
              cudaFuncSetAttribute (kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    kMostWidth * int (sizeof (std::uint32_t)));
          error != 0)
        return error;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor (&blocks, kernel, int (threads),
                                                          row_above_bytes);
  }
};

int launch_march (const Job &job, const Strips &strips, const Input &input,
                  const MarchLaunch &launch)
{
  job.stage ("march");
  return launch_overlapped (launch.kernel, unsigned (strips.n) * unsigned (strips.bins),
                            launch.threads, launch.row_above_bytes, job.stream,
                            input.bins_by == BinsBy::count ? bin_plane_of (job) : input.pixels,
                            strips, job.layout, static_cast<std::uint8_t *> (job.tensor),
                            launch.ranges, anchors_of (job.shape));
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
  const MarchLaunch launch = MarchLaunch::of (job.shape);
  int processors = 0, blocks = 0;
  if (const int error = device_attribute (cudaDevAttrMultiProcessorCount, processors); error != 0)
    return error;
  if (const int error = launch.get_room (blocks); error != 0)
    return error;
  Strips strips (job.shape, strip_rows (job.shape, processors, blocks, policy), job.workspace);
  strips.join_cells (processors, policy);
  const Input input = input_of (job, strips, launch.pixels);
  if (const int error = launch_bin_image (job, input); error != 0)
    return error;
  if (const int error = launch_count (job, strips, input); error != 0)
    return error;
  return launch_march (job, strips, input, launch);
}

}  // namespace cuda

extern constinit const Strategy kStrip = {
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
static_assert (cuda::kMostWidth == 14336
               && cuda::kMostCells * cuda::StripPolicy{}.least_rows == 1572840);

}  // namespace inthist
