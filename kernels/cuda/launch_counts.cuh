// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The algorithms strip and byte-tiles begin with these functions, before the scan kernel. They
// choose where pixels are read and which kernel maps pixels to bins, and launch the count kernel
// (column_counts.cuh).
#pragma once

#include <algorithm>
#include <optional>

#include "device/strip/column_counts.cuh"

namespace inthist::cuda {

struct HighBits {
  int shift, first;
};

/// Returns how the high bits of a byte give its bin without the LUT: byte >> shift == first + bin.
/// Returns nothing if this does not hold for all bytes of the LUT, or if a bin has no byte.
inline std::optional<HighBits> high_bits_of (const Lut &lut, int bins)
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

/// The kernel that maps the image to bins. No kernel is needed if the high bits of the image's
/// bytes are the bins, or if the job already has bins.
enum class BinsMadeBy { no_kernel, count, bin_image };

/// The pixels that the kernels count and scan read. With BinsMadeBy::count, only count reads these
/// pixels, and scan reads the bins that count stores.
struct Input {
  BinSource pixels;
  BinsMadeBy bins_made_by;
};

inline BinSource bin_plane_of (const Job &job)
{
  return { .data = job.pixels.data,
           .stride = job.pixels.stride,
           .columns = int (job.pixels.stride / bytes_of (job.shape.pixel)) };
}

/// Chooses what the count and scan kernels read. They read the image itself if the high bits of the
/// bytes are the bins, and address, stride and width are multiples of `alignment`. If not,
/// count maps bytes to bins if four pixels are an aligned word, and else bin_image () does so.
inline Input input_of (const Job &job, const Strips &strips, int alignment)
{
  if (!job.binning)
    return { bin_plane_of (job), BinsMadeBy::no_kernel };
  const auto &[image, lut] = *job.binning;
  const auto is_aligned = [&] (int bytes) {
    return plane_of (image).is_aligned (bytes) && strips.width % bytes == 0;
  };
  if (!image.format.is_plain () || image.stride > UINT32_MAX || !is_aligned (4))
    return { bin_plane_of (job), BinsMadeBy::bin_image };
  const auto high_bits = high_bits_of (lut, strips.bins);
  const auto [shift, first] = high_bits.value_or (HighBits{});
  const BinSource source = { .data = static_cast<const std::uint8_t *> (image.data),
                             .stride = std::size_t (image.stride),
                             .columns = strips.width,
                             .shift = shift,
                             .first = first,
                             .ready = strips.counted_row_blocks () > 0 };
  return { source,
           high_bits && is_aligned (alignment) ? BinsMadeBy::no_kernel : BinsMadeBy::count };
}

inline int launch_bin_image (const Job &job, const Input &input)
{
  if (input.bins_made_by != BinsMadeBy::bin_image)
    return 0;
  job.stage ("bins");
  return bin_image (*job.binning, job.shape.width, job.shape.height, job.pixels, job.stream);
}

inline int launch_count_columns (const Job &job, const Strips &strips, const Input &input)
{
  const bool makes_bins = input.bins_made_by == BinsMadeBy::count;
  const int row_blocks = makes_bins ? strips.row_blocks () : strips.counted_row_blocks ();
  if (row_blocks == 0)
    return 0;
  job.stage ("count");
  const std::size_t columns = makes_bins ? job.pixels.stride : strips.pitch;
  const dim3 grid (unsigned (columns / kCountColumns),
                   divide_up (row_blocks, strips.joined_row_blocks),
                   strips.counted_row_blocks () ? divide_up (strips.bins, kCountBins) : 1);
  const bool one_row_block = strips.joined_row_blocks == 1;
  const auto kernel = makes_bins
                          ? one_row_block ? count_columns<true, true> : count_columns<true, false>
                      : one_row_block ? count_columns<false, true>
                                      : count_columns<false, false>;
  return launch_overlapped (kernel, grid, kCountWarps * kWarp, 0, job.stream, input.pixels,
                            LutWords::of (makes_bins ? job.binning->lut : Lut{}), job.pixels,
                            strips);
}

}  // namespace inthist::cuda
