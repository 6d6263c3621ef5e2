// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The places of the planes of a picture in memory, for copies to a staging buffer or to a device.
#pragma once

#include <span>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// The rows of a plane. `pitch` and `offset`, in bytes, place the rows in a copy of the picture.
struct PictureRows {
  const std::byte *data;
  int n;
  std::size_t bytes;
  std::ptrdiff_t stride;  // bytes to the next row; negative if rows are stored bottom-up
  std::size_t pitch = 0, offset = 0;

  std::size_t size () const { return (pitch > bytes ? pitch : bytes) * n; }
  bool keeps_stride () const { return stride == std::ptrdiff_t (pitch); }
};

class PicturePlanes {
public:
  /// Describes `n` rows of an image, `width` pixels wide, or all rows of the frame if the feature
  /// reads several pixels for one value. A stride that suits the kernels is kept, so that one copy
  /// has all rows; other rows are copied one by one. With `keep_strides`, all strides are kept.
  PicturePlanes (const Image &image, int width, int n, bool keep_strides = false);

  std::span<const PictureRows> all () const { return { rows_, std::size_t (n_) }; }
  std::size_t size () const { return rows_[n_ - 1].offset + rows_[n_ - 1].size (); }
  /// Returns how many bytes of pixels a copy reads, without the gaps between rows.
  std::size_t bytes () const;
  Image image_in (const std::byte *memory) const;
  /// Copies the planes to `to`, pinned memory of size () bytes, and returns the planes of the copy.
  PicturePlanes stage (std::byte *to) const;

private:
  Image image_;
  int n_ = 0;
  PictureRows rows_[3];
};

/// Returns the most bytes that `n` rows of a picture can occupy on a device, for any allocator and
/// any crop: at least PicturePlanes::size (), and with the row pitch of cudaMallocPitch. If the
/// feature reads several pixels for one value, all `rows` rows of the frame are needed.
std::size_t most_picture_bytes (const PixelFormat &format, int width, int n, int rows);

}  // namespace integralhist
