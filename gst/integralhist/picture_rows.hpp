// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rows of a picture, which is copied to a staging buffer or to a device.
#pragma once

#include <kernels/inthist.hpp>

namespace integralhist {

/// Rows in host memory, and their pitch where they are copied to.
struct PictureRows {
  const std::byte *data;
  int n;
  std::size_t bytes;      // of a row
  std::ptrdiff_t stride;  // bytes; negative from the bottom up
  std::size_t pitch;

  std::size_t size () const { return pitch * n; }
  bool are_close () const { return stride == std::ptrdiff_t (pitch); }
};

/// Returns a picture's rows. A stride that suits the kernels stays: one copy uploads all rows. Rows
/// that overlap are copied one by one.
PictureRows rows_of (const inthist::Image &image, int width, int n);
/// Copies the rows to `to`, size () bytes of pinned memory, and returns them there.
PictureRows stage (const PictureRows &rows, std::byte *to);
/// Returns the most bytes of a picture on a device, whoever has allocated it.
std::size_t most_picture_bytes (int width, int pixel_bytes, int rows);

}  // namespace integralhist
