// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>

#include "in_parallel.hpp"
#include "parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/features-inl.hpp"
#include <hwy/foreach_target.h>

#include "features-inl.hpp"

namespace inthist::cpu {
namespace {

HWY_EXPORT (bin_row);
HWY_EXPORT (weigh_row);

/// Makes the bins of some columns of a row from the first plane's pixels.
void bin_pixels (const std::uint8_t *in, const PixelFormat &format, const Lut &lut, Columns columns,
                 std::uint8_t *bins)
{
  if (format.bytes == 1)
    for (int x = columns.first; x < columns.end; x++)
      bins[x] = lut[in[x]];
  else
    for (int x = columns.first; x < columns.end; x++)
      bins[x] = lut[pixel_value (in + x * format.bytes, format)];
}

/// Calls `for_rows` with what makes columns of row y of a frame of this size: a function (y,
/// columns, row), where `row` is the first of the frame's.
template <class ForRows>
int with_rows_of (Binning binning, int width, int height, ForRows &&for_rows)
{
  Image &image = binning.image;
  const PixelFormat &format = image.format;
  const auto make_rows = [&] (auto make) {
    if (format.reads_pixels ())  // and no row beside the pixel's, wherever the image ends
      image.rows = height;
    LookedUp looked_up;
    if (!looked_up.prepare (binning))
      return ENOMEM;
    return for_rows ([&] (int y, Columns columns, std::uint8_t *row) {
      make (binning, looked_up, width, image.first_row + y, columns, row);
    });
  };
  if (format.is_weighted ())
    return make_rows (HWY_DYNAMIC_DISPATCH (weigh_row));
  if (!format.reads_pixels ())
    return make_rows (HWY_DYNAMIC_DISPATCH (bin_row));
  return for_rows ([&] (int y, Columns columns, std::uint8_t *bins) {
    bin_pixels (static_cast<const std::uint8_t *> (image.data) + y * image.stride, format,
                binning.lut, columns, bins);
  });
}

}  // namespace

int bin_image (const Binning &binning, int width, int height, PixelPlane out,
               const std::atomic<bool> *cancelled)
{
  const std::size_t bytes =
      width * (binning.image.format.is_weighted () ? sizeof (WeightedPixel) : 1);
  return with_rows_of (binning, width, height, [&] (auto &&make_row) {
    return for_each (height, 64, cancelled, [&] (int y) {
      std::uint8_t *const row = out.data + y * out.stride;
      make_row (y, Columns{ 0, width }, row);
      std::fill (row + bytes, row + out.stride, 0);
    });
  });
}

int bin_regions (const Binning &binning, int width, int height, std::span<const Region> regions,
                 PixelPlane out, const std::atomic<bool> *cancelled)
{
  std::int64_t pixels = 0;
  for (const Region &region : regions)
    pixels += std::int64_t (region.width) * region.height;
  const int n = int (regions.size ()),
            grain = int (divide_up (n, std::max<std::int64_t> (1, pixels / kPixelsOfATask)));
  return with_rows_of (binning, width, height, [&] (auto &&make_row) {
    return for_each (n, grain, cancelled, [&] (int i) {
      const Region &region = regions[i];
      for (int y = region.y; y < region.y + region.height; y++)
        make_row (y, Columns{ region.x, region.x + region.width }, out.data + y * out.stride);
    });
  });
}

}  // namespace inthist::cpu
