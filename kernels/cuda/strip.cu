// SPDX-License-Identifier: LGPL-2.1-or-later
//
// strip: computes integral histograms H. It counts the pixels in columns, then goes down strips of
// rows and writes the tensor once. It has two launches:
//
//   count   counts the pixels of each bin in each column of every strip
//           (device/strip/column_counts.cuh), or adds up their weights (column_weights.cuh)
//   scan    walks down every strip of every bin with the current row of H (device/strip/scan.cuh)
//
// A block of scan waits for no other block. It starts from H in the row above its strip, which it
// computes from the column counts of all strips above: their sum, and its prefix sums along the
// row. The carries follow Nehab et al. 2011 and Dang, Yan and Wu 2014 (reduce, scan what was
// reduced, scan), with bins counted on the fly.
//
// If the high bits of a byte are its bin (such as with 32 bins of 8-bit pixels), scan reads the
// picture itself, and its first strip does not wait for count. If not, count also makes the bins if
// a pixel is a byte, and bin_image makes the bins before count if a pixel is larger.
//
// Traffic, as a multiple of the tensor: 1 for the tensor itself, and for the column counts 1 / (2 x
// rows of a strip) with u32, or 1 / rows with u16 and with weights. The picture comes from L2, once
// for every bin. The tuned numbers are in strip_policy.hpp and count_policy.hpp.
#include <algorithm>

#include "device/hardware/attribute.cuh"
#include "device/strip/column_weights.cuh"
#include "device/strip/scan.cuh"
#include "launch_counts.cuh"
#include "strip.hpp"

namespace inthist {
namespace cuda {
namespace {

/// Returns how many rows a strip has: so many that all blocks of the scan kernel run at once or, if
/// such strips would be too tall, in the fewest rounds that use nine tenths of the GPU. Strips are
/// shorter than usual only if there are few blocks.
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
      round_up (divide_up (shape.height, std::max (1, 2 * processors / shape.bins)), kUnitRows));
  return std::max (
      { round_up (divide_up (shape.height, strips), kUnitRows), least, policy.least_rows });
}

/// The scan kernel of strip for a frame's shape, with its threads and bytes of shared memory.
struct ScanLaunch {
  void (*kernel) (BinSource, Strips, Layout, std::uint8_t *, int);
  int pixels, ranges;  // columns that a lane computes; ranges into which a row is cut
  unsigned threads;
  std::size_t row_above_bytes;  // shared memory that keeps a row of the integral histogram

  template <class Adds>
  static ScanLaunch of (const Shape &shape)
  {
    using Block = StripScan<Adds, false, false>;  // kPixels and kMaxWarps are the same in all four
    constexpr int kPixels = Block::kPixels;
    const int segments = divide_up (shape.width, kWarp * kPixels),
              ranges = divide_up (segments, Block::kMaxWarps);
    const unsigned threads = divide_up (segments, ranges) * kWarp;
    const bool several = ranges > 1, ragged = shape.width % kPixels != 0;
    const auto kernel = several && ragged ? scan_strip_kernel<Adds, true, true>
                        : several         ? scan_strip_kernel<Adds, true, false>
                        : ragged          ? scan_strip_kernel<Adds, false, true>
                                          : scan_strip_kernel<Adds, false, false>;
    return { .kernel = kernel,
             .pixels = kPixels,
             .ranges = ranges,
             .threads = threads,
             .row_above_bytes = several ? sizeof (std::uint32_t) * ranges * threads * kPixels : 0 };
  }

  static ScanLaunch of (const Shape &shape)
  {
    if (shape.content == Content::weights)
      return of<WeightsOfBin> (shape);
    return shape.counter == Type::u16 ? of<OnesOfBin<std::uint16_t>> (shape)
                                      : of<OnesOfBin<std::uint32_t>> (shape);
  }

  /// Sets the scan kernel's shared-memory limit, and gets how many blocks fit on a multiprocessor.
  int get_room (int &blocks) const
  {
    if (row_above_bytes > 0)  // always the same limit, because other threads may launch the kernel
      TRY_CODE (cudaFuncSetAttribute (kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      kMaxWidth * int (sizeof (std::uint32_t))));
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor (&blocks, kernel, int (threads),
                                                          row_above_bytes);
  }
};

int launch_scan (const Job &job, const Strips &strips, const Input &input, const ScanLaunch &launch)
{
  job.stage ("scan");
  return launch_overlapped (
      launch.kernel, unsigned (strips.n) * unsigned (strips.bins), launch.threads,
      launch.row_above_bytes, job.stream,
      input.bins_made_by == BinsMadeBy::count ? bin_plane_of (job) : input.pixels, strips,
      job.layout, static_cast<std::uint8_t *> (job.tensor), launch.ranges);
}

int launch_column_sums (const Job &job, const Strips &strips, const Input &input)
{
  if (job.shape.content != Content::weights)
    return launch_count_columns (job, strips, input);
  const int row_blocks = strips.counted_row_blocks ();
  if (row_blocks == 0)
    return 0;
  job.stage ("count");
  const dim3 grid (unsigned (strips.pitch / kCountColumns),
                   divide_up (row_blocks, strips.joined_row_blocks),
                   divide_up (strips.bins, kCountBins));
  return launch_overlapped (add_up_columns, grid, kCountWarps * kWarp, 0, job.stream, input.pixels,
                            strips);
}

std::size_t workspace_bytes (const Shape &shape, const Tuning &)
{
  // The shortest strips have the most column counts, so the workspace suffices for any device.
  const Strips strips (shape, StripPolicy{}.least_rows, kUnitRows, nullptr);
  return strips.row_of (strips.counted_row_blocks (), 0)
         * (shape.content == Content::weights ? sizeof (std::uint32_t) : sizeof (std::uint16_t));
}

bool supports (const Shape &shape, const Tuning &)
{
  return shape.content != Content::sums && shape.width <= kMaxWidth
         && divide_up (shape.height, StripPolicy{}.least_rows) <= kMaxRowBlocks;
}

int run (const Job &job)
{
  return run_strip (job, {});
}

}  // namespace

int run_strip (const Job &job, const StripPolicy &policy)
{
  const ScanLaunch launch = ScanLaunch::of (job.shape);
  int processors = 0, blocks = 0;
  TRY_CODE (device_attribute (cudaDevAttrMultiProcessorCount, processors));
  TRY_CODE (launch.get_room (blocks));
  Strips strips (job.shape, strip_rows (job.shape, processors, blocks, policy), kUnitRows,
                 job.workspace);
  strips.join_row_blocks (processors, policy.count);
  const Input input = input_of (job, strips, launch.pixels);
  TRY_CODE (launch_bin_image (job, input));
  TRY_CODE (launch_column_sums (job, strips, input));
  return launch_scan (job, strips, input, launch);
}

}  // namespace cuda

extern constinit const Strategy kStrip = {
  .name = "strip",
  .description = "CUDA: column counts first, then strips that write the tensor once",
  .device = Device::cuda,
  .workspace_bytes = cuda::workspace_bytes,
  .run = cuda::run,
  .bins_itself = true,
  .takes_weights = true,
  .supports = cuda::supports,
  .limit = "integral histograms, up to 14336 columns and 1572840 rows"
};
static_assert (cuda::kMaxWidth == 14336
               && cuda::kMaxRowBlocks * cuda::StripPolicy{}.least_rows == 1572840);

}  // namespace inthist
