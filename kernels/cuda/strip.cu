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

#include "device/strip_count.cuh"
#include "device/strip_march.cuh"

namespace inthist {
namespace cuda {
namespace {

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
static_assert (cuda::kMostWidth == 14336
               && cuda::kMostCells * cuda::StripPolicy{}.least_rows == 1572840);

}  // namespace inthist
