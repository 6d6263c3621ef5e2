// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Extracts the 8-bit value of a pixel (see PixelFormat), the same on every device.
#pragma once

#include "host_device.hpp"
#include "inthist.hpp"

namespace inthist {

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

}  // namespace inthist
