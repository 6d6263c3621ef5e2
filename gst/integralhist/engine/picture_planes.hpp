// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The planes of a picture, for copies to a staging buffer or to a device.
#pragma once

#include <span>

#include <kernels/inthist.hpp>

namespace integralhist {

/// The rows of a plane, and where to copy them.
struct PictureRows {
  const std::byte *data;
  int n;
  std::size_t bytes;          // of a row
  std::ptrdiff_t stride;      // bytes; negative from the bottom up
  std::size_t pitch, offset;  // of the copy

  std::size_t size () const { return (pitch > bytes ? pitch : bytes) * n; }
  bool are_close () const { return stride == std::ptrdiff_t (pitch); }
};

class PicturePlanes {
public:
  /// Takes `n` rows of an image, `width` pixels wide; all rows of the frame if the image's feature
  /// reads more than one pixel of the first plane. A stride that suits the kernels stays, so that
  /// one copy uploads all rows. Rows that overlap are copied one by one. With `keep_strides` all
  /// strides stay.
  PicturePlanes (const inthist::Image &image, int width, int n, bool keep_strides = false);

  std::span<const PictureRows> all () const { return { rows_, std::size_t (n_) }; }
  /// Returns the bytes of the copy.
  std::size_t size () const { return rows_[n_ - 1].offset + rows_[n_ - 1].size (); }
  /// Returns the number of bytes to copy.
  std::size_t bytes () const;
  /// Returns the image of the copy in `memory`.
  inthist::Image image_in (const std::byte *memory) const;
  /// Copies the planes to size () bytes of pinned memory, and returns them there.
  PicturePlanes stage (std::byte *to) const;

private:
  inthist::Image image_;
  int n_ = 0;
  PictureRows rows_[3];
};

/// Returns the most bytes of `n` rows of a picture on a device, for any allocator and any crop: at
/// least PicturePlanes::size (), and rows with the pitch of cudaMallocPitch. The frame has `rows`
/// rows, and all count if the feature reads more than one pixel of the first plane.
std::size_t most_picture_bytes (const inthist::PixelFormat &format, int width, int n, int rows);

}  // namespace integralhist
