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

}  // namespace

int bin_image (const Binning &binning, int width, int height, PixelPlane out,
               const std::atomic<bool> *cancelled)
{
  const Image &image = binning.image;
  const auto for_rows = [&] (auto &&bin_row) {
    return for_each (height, 64, cancelled, [&] (int y) {
      std::uint8_t *const bins = out.data + y * out.stride;
      bin_row (y, bins);
      std::fill (bins + width, bins + out.stride, 0);
    });
  };
  if (image.format.reads_pixels ())
    return for_rows ([&] (int y, std::uint8_t *bins) {
      bin_pixels (static_cast<const std::uint8_t *> (image.data) + y * image.stride, image.format,
                  binning.lut, width, bins);
    });
  const Sectors sectors = sectors_of (image.format);
  auto *const bin_row = HWY_DYNAMIC_DISPATCH (bin_row);
  return for_rows ([&] (int y, std::uint8_t *bins) {
    bin_row (binning, sectors, width, image.first_row + y, bins);
  });
}

}  // namespace inthist::cpu
