// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>

#include "parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/features-inl.hpp"
#include <hwy/foreach_target.h>

#include "features-inl.hpp"

namespace inthist::cpu {
namespace {

HWY_EXPORT (bin_row);
HWY_EXPORT (weigh_row);

/// Makes the bins of a row from the first plane's pixels.
void bin_pixels (const std::uint8_t *in, const PixelFormat &format, const Lut &lut, int width,
                 std::uint8_t *bins)
{
  if (format.bytes == 1)
    for (int x = 0; x < width; x++)
      bins[x] = lut[in[x]];
  else
    for (int x = 0; x < width; x++)
      bins[x] = lut[pixel_value (in + x * format.bytes, format)];
}

/// Calls `make (binning, looked_up, width, row, out)` for each row of an image whose feature or
/// weight reads more than a pixel of the first plane, or whose pixels have weights.
template <class ForRows, class Make>
int make_rows (Binning binning, int width, int height, ForRows &&for_rows, Make &&make)
{
  Image &image = binning.image;
  if (image.format.reads_pixels ())  // and no row beside the pixel's, wherever the image ends
    image.rows = height;
  LookedUp looked_up;
  if (!looked_up.prepare (image.format))
    return ENOMEM;
  return for_rows ([&] (int y, std::uint8_t *row) {
    make (binning, looked_up, width, image.first_row + y, row);
  });
}

}  // namespace

int bin_image (const Binning &binning, int width, int height, PixelPlane out,
               const std::atomic<bool> *cancelled)
{
  const Image &image = binning.image;
  const auto for_rows = [&] (auto &&make_row) {
    const std::size_t bytes = width * (image.format.is_weighted () ? sizeof (WeightedPixel) : 1);
    return for_each (height, 64, cancelled, [&] (int y) {
      std::uint8_t *const row = out.data + y * out.stride;
      make_row (y, row);
      std::fill (row + bytes, row + out.stride, 0);
    });
  };
  if (image.format.is_weighted ())
    return make_rows (binning, width, height, for_rows, HWY_DYNAMIC_DISPATCH (weigh_row));
  if (!image.format.reads_pixels ())
    return make_rows (binning, width, height, for_rows, HWY_DYNAMIC_DISPATCH (bin_row));
  return for_rows ([&] (int y, std::uint8_t *bins) {
    bin_pixels (static_cast<const std::uint8_t *> (image.data) + y * image.stride, image.format,
                binning.lut, width, bins);
  });
}

}  // namespace inthist::cpu
