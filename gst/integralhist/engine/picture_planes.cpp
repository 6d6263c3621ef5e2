// SPDX-License-Identifier: LGPL-2.1-or-later
#include "picture_planes.hpp"

#include <algorithm>
#include <cstring>

namespace integralhist {

/// Returns the rows of one plane of an image, with only the bytes that the feature reads.
static PictureRows rows_of (const Image &image, int plane, int width, int n)
{
  const PixelFormat &format = image.format;
  if (plane == 0 && !format.reads_colours ())
    return { static_cast<const std::byte *> (image.data), n, std::size_t (width) * format.bytes,
             image.stride };
  const inthist::ImagePlane from =
      plane == 0 ? inthist::ImagePlane{ image.data, image.stride } : image.chroma[plane - 1];
  PictureRows rows = { static_cast<const std::byte *> (from.data), 0, 0, from.stride };
  for (const inthist::Channel &channel : format.channel)
    if (channel.bytes > 0 && channel.plane == plane) {
      const std::size_t last = std::size_t (image.left + width - 1) >> channel.log2_subsample_x;
      rows.n = std::max (rows.n, channel.rows_of (image.top + n));
      rows.bytes = std::max (rows.bytes, last * channel.step + channel.offset + channel.bytes);
    }
  if (plane == 0 && format.pixel_weight == inthist::Weight::gradient)  // it reads luma
    rows.bytes = std::max (rows.bytes, std::size_t (image.left + width) * format.bytes);
  return rows;
}

PicturePlanes::PicturePlanes (const Image &image, int width, int n, bool keep_strides)
    : image_ (image), n_ (image.format.n_planes)
{
  std::size_t offset = 0;
  for (int plane = 0; plane < n_; plane++) {
    PictureRows rows =
        rows_of (image, plane, width, image.format.reads_single_pixel () ? n : image.rows);
    const std::size_t aligned = inthist::round_up (rows.bytes, 256);
    const bool suits = rows.stride >= std::ptrdiff_t (rows.bytes)
                       && std::size_t (rows.stride) <= aligned && rows.stride % 16 == 0;
    rows.pitch = suits || keep_strides ? std::size_t (rows.stride) : aligned;
    rows.offset = offset;
    offset = inthist::round_up (offset + rows.size (), 256);
    rows_[plane] = rows;
  }
}

std::size_t PicturePlanes::bytes () const
{
  std::size_t bytes = 0;
  for (const PictureRows &rows : all ())
    bytes += rows.bytes * rows.n;
  return bytes;
}

Image PicturePlanes::image_in (const std::byte *memory) const
{
  Image image = image_;
  image.data = memory;
  image.stride = std::ptrdiff_t (rows_[0].pitch);
  for (int plane = 1; plane < n_; plane++)
    image.chroma[plane - 1] = { memory + rows_[plane].offset, std::ptrdiff_t (rows_[plane].pitch) };
  return image;
}

PicturePlanes PicturePlanes::stage (std::byte *to) const
{
  PicturePlanes staged = *this;
  staged.image_ = image_in (to);
  for (PictureRows &rows : std::span (staged.rows_, std::size_t (n_))) {
    std::byte *const here = to + rows.offset;
    if (rows.keeps_stride ())
      std::memcpy (here, rows.data, rows.pitch * (rows.n - 1) + rows.bytes);
    else
      for (int y = 0; y < rows.n; y++)
        std::memcpy (here + y * rows.pitch, rows.data + y * rows.stride, rows.bytes);
    rows.data = here;
    rows.stride = std::ptrdiff_t (rows.pitch);
  }
  return staged;
}

std::size_t most_picture_bytes (const PixelFormat &format, int width, int n, int rows)
{
  Image image;
  image.format = format;
  // A crop that begins at this odd pixel touches the most samples of subsampled chroma.
  image.left = 1;
  image.top = format.is_interlaced () ? 3 : 1;
  image.rows = rows;
  std::size_t bytes = 0;
  const PicturePlanes planes (image, width, n);
  for (const PictureRows &plane : planes.all ())
    bytes += inthist::round_up (plane.bytes, 512) * plane.n;
  return bytes;
}

}  // namespace integralhist
