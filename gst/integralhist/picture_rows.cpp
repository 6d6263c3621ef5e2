// SPDX-License-Identifier: LGPL-2.1-or-later
#include "picture_rows.hpp"

#include <cstring>

namespace integralhist {

PictureRows rows_of (const inthist::Image &image, int width, int n)
{
  const std::size_t row = std::size_t (width) * image.format.bytes,
                    aligned = inthist::round_up (row, 256);
  const std::ptrdiff_t stride = image.stride;
  const bool suits =
      stride >= std::ptrdiff_t (row) && std::size_t (stride) <= aligned && stride % 16 == 0;
  return { static_cast<const std::byte *> (image.data), n, row, stride,
           suits ? std::size_t (stride) : aligned };
}

PictureRows stage (const PictureRows &rows, std::byte *to)
{
  if (rows.are_close ())
    std::memcpy (to, rows.data, rows.pitch * (rows.n - 1) + rows.bytes);
  else
    for (int y = 0; y < rows.n; y++)
      std::memcpy (to + y * rows.pitch, rows.data + y * rows.stride, rows.bytes);
  return { to, rows.n, rows.bytes, std::ptrdiff_t (rows.pitch), rows.pitch };
}

std::size_t most_picture_bytes (int width, int pixel_bytes, int rows)
{
  return inthist::round_up (std::size_t (width) * pixel_bytes, 512)
         * rows;  // cudaMallocPitch's rows
}

}  // namespace integralhist
