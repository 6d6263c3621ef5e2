// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <cstdint>

#include "host_device.hpp"

namespace inthist {

/// Gets 8 bits of a pixel, a little-endian word of `bytes` bytes. One channel: word >> shift[0] &
/// 255. Three (R, G, B), luma: (sum of weight[c] * (word >> shift[c] & 255) + 32768) >> 16.
struct PixelFormat {
  int bytes = 1;                 // 1..4
  int channels = 1;              // 1 or 3
  int shift[3] = {};             // bits
  std::uint32_t weight[3] = {};  // sum up to 65536
};

/// Gets these 8 bits, the same on every device.
INTHIST_HOST_DEVICE inline std::uint8_t pixel_value (const std::uint8_t *pixel,
                                                     const PixelFormat &format)
{
  std::uint32_t word = pixel[0];
  for (int i = 1; i < format.bytes; i++)
    word |= std::uint32_t (pixel[i]) << (8 * i);
  if (format.channels == 1)
    return std::uint8_t (word >> format.shift[0]);
  std::uint32_t luma = 32768;
  for (int c = 0; c < 3; c++)
    luma += format.weight[c] * (word >> format.shift[c] & 255);
  return std::uint8_t (luma >> 16);
}

struct Image {
  const void *data = nullptr;
  std::ptrdiff_t stride = 0;  // bytes; negative where rows go from the bottom up
  PixelFormat format;
};

}  // namespace inthist
