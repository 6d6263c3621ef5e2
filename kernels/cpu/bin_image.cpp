// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "../inthist.hpp"
#include "../pixel.hpp"

namespace inthist::cpu {

void
bin_image (const Image &image, const Lut &lut, int width, int height, PixelPlane out)
{
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
  tbb::parallel_for (tbb::blocked_range<int> (0, height, 64), [&] (const tbb::blocked_range<int> &rows) {
    for (int y = rows.begin (); y < rows.end (); y++)
      row (y);
  });
}

}  // namespace inthist::cpu
