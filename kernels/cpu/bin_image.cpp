// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>

#include "parallel.hpp"

namespace inthist::cpu {

int bin_image (const Binning &binning, int width, int height, PixelPlane out,
               const std::atomic<bool> *cancelled)
{
  const Image &image = binning.image;
  const Lut &lut = binning.lut;
  const auto row = [&] (int y) {
    const std::uint8_t *in = static_cast<const std::uint8_t *> (image.data) + y * image.stride;
    std::uint8_t *bins = out.data + y * out.stride;
    if (image.format.bytes == 1)
      for (int x = 0; x < width; x++)
        bins[x] = lut[in[x]];
    else
      for (int x = 0; x < width; x++)
        bins[x] = lut[pixel_value (in + x * image.format.bytes, image.format)];
    std::fill (bins + width, bins + out.stride, 0);
  };
  return for_each (height, 64, cancelled, row);
}

}  // namespace inthist::cpu
