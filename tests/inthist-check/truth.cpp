// SPDX-License-Identifier: LGPL-2.1-or-later
#include "truth.hpp"

#include <cmath>
#include <limits>

#include <tbb/parallel_for.h>

#include <kernels/query.hpp>
#include <kernels/tensor_view.hpp>

#include "pixel_sums.hpp"
#include "text.hpp"

namespace inthist::check {
namespace {

template <class T>
T at (const std::uint8_t *bytes, std::size_t index)
{
  T value;
  std::memcpy (&value, bytes + index * sizeof value, sizeof value);
  return value;
}

std::string wrong_at (int plane, int y, int x, const std::string &how)
{
  return text ("first wrong (bin, y, x) = (%d, %d, %d)%s", plane, y, x, how.c_str ());
}

std::string integers_at (Type type, const std::uint8_t *got, const std::uint8_t *wanted, int x)
{
  if (bytes_of (type) == 2)
    return text (": %u, must be %u", at<std::uint16_t> (got, x), at<std::uint16_t> (wanted, x));
  return text (": %u, must be %u", at<std::uint32_t> (got, x), at<std::uint32_t> (wanted, x));
}

/// Adds the running counts of a row to the row above, modulo 2^32 or 2^16, and calls `put (y,
/// row)`.
template <class Count, class Put>
void count_bin (const Shape &shape, const Bytes &pixels, std::size_t stride, int b, Put &&put)
{
  std::vector<Count> above (shape.width);
  for (int y = 0; y < shape.height; y++) {
    const std::uint8_t *const line = &pixels[y * stride];
    std::uint32_t row = 0;
    for (int x = 0; x < shape.width; x++) {
      row += line[x] == b ? 1 : 0;
      above[x] = Count (above[x] + row);
    }
    put (y, above);
  }
}

template <class Count>
void count_bins (const Shape &shape, const Bytes &pixels, std::size_t stride, const Layout &layout,
                 Bytes &wanted)
{
  tbb::parallel_for (0, shape.bins, [&] (int b) {
    count_bin<Count> (shape, pixels, stride, b, [&] (int y, const std::vector<Count> &row) {
      std::memcpy (&wanted[b * layout.plane_pitch + y * layout.row_pitch], row.data (),
                   row.size () * sizeof (Count));
    });
  });
}

/// Packs a tile as tiles.hpp defines it; h (i, j) is H at the places of the tile. Returns the bytes
/// of the tile.
template <class H>
Bytes packed (bool wide, H &&h)
{
  Bytes tile (wide ? 320 : 288);
  const std::uint32_t corner = h (0, 0);
  const auto put = [&] (int line, int byte, std::uint32_t value) {
    tile[line * 16 + byte] = std::uint8_t (value);
  };
  put (0, 0, corner);
  put (0, 1, corner >> 8);
  put (2, 0, corner >> 16);
  if (wide)
    put (3, 0, corner >> 24);
  for (int j = 1; j < 16; j++) {
    const std::uint32_t top = h (0, j) - corner;
    put (0, 2 * j, top);
    put (0, 2 * j + 1, top >> 8);
    if (wide)
      put (3, j, top >> 16);
  }
  for (int i = 1; i < 16; i++) {
    const std::uint32_t left = h (i, 0) - corner;
    const int line = (wide ? 4 : 2) + i;
    put (line, 0, left);
    put (2, i, left >> 8);
    if (wide)
      put (4, i, left >> 16);
    for (int j = 1; j < 16; j++)
      put (line, j, h (i, j) - h (i, 0) - h (0, j) + corner);
  }
  return tile;
}

/// Packs H, which does not grow outside of the frame, where pixels are in no bin.
void pack_bins (const Shape &shape, const Bytes &pixels, std::size_t stride, const Layout &layout,
                Bytes &wanted)
{
  const int width = shape.width, height = shape.height, last_x = (width - 1) / 16 * 16,
            last_y = (height - 1) / 16 * 16;
  const bool wide =
      15 * std::max (width, height) > 65535 || std::int64_t (last_x + 1) * (last_y + 1) > 0xffffff;
  tbb::parallel_for (0, shape.bins, [&] (int b) {
    std::vector<std::uint32_t> h (std::size_t (width) * height);
    count_bin<std::uint32_t> (shape, pixels, stride, b,
                              [&] (int y, const std::vector<std::uint32_t> &row) {
                                std::ranges::copy (row, h.begin () + std::ptrdiff_t (y) * width);
                              });
    for (int y = 0; y <= last_y; y += 16) {
      std::uint8_t *out = &wanted[b * layout.plane_pitch + y / 16 * layout.row_pitch];
      for (int x = 0; x <= last_x; x += 16) {
        const Bytes tile = packed (wide, [&] (int i, int j) {
          return h[std::size_t (std::min (y + i, height - 1)) * width
                   + std::min (x + j, width - 1)];
        });
        out = std::ranges::copy (tile, out).out;
      }
    }
    // as the library reads them
    TensorView (shape, layout, wanted.data ()).with_planes ([&] (const auto &plane) {
      for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
          if (plane (b) (y, x) != h[std::size_t (y) * width + x])
            throw std::logic_error (
                wrong_at (b, y, x, " in the truth's tiles, or as they are read"));
    });
  });
}

/// Adds row sums to the row above, modulo 2^64, then cuts them to the counter's 32 bits.
template <class Pixel>
void sum_powers (const Shape &shape, const Bytes &pixels, std::size_t stride, const Layout &layout,
                 Bytes &wanted)
{
  for (int p = 0; p < shape.bins; p++) {
    std::vector<std::uint64_t> above (shape.width);
    for (int y = 0; y < shape.height; y++) {
      std::uint64_t row = 0;
      for (int x = 0; x < shape.width; x++) {
        const std::uint64_t pixel = at<Pixel> (&pixels[y * stride], x);
        row += p == 0 ? pixel : pixel * pixel;
        above[x] += row;
        const std::uint32_t sum = std::uint32_t (above[x]);
        std::memcpy (&wanted[p * layout.plane_pitch + y * layout.row_pitch + x * sizeof sum], &sum,
                     sizeof sum);
      }
    }
  }
}

/// Adds up the shares of each pixel: one for its bin, and the other for the next, the first bin
/// being next to the last. The third number of a word is the share for the next bin.
void sum_weights (const Shape &shape, const Bytes &pixels, std::size_t stride, const Layout &layout,
                  Bytes &wanted)
{
  tbb::parallel_for (0, shape.bins, [&] (int b) {
    std::vector<std::uint32_t> above (shape.width);
    for (int y = 0; y < shape.height; y++) {
      std::uint32_t row = 0;
      for (int x = 0; x < shape.width; x++) {
        const auto word = at<std::uint32_t> (&pixels[y * stride], x);
        const int bin = int (word % 256);
        if (bin < shape.bins && bin == b)
          row += word / 256 % 4096;
        if (bin < shape.bins && (bin + 1) % shape.bins == b)
          row += word / (256 * 4096);
        above[x] += row;
      }
      std::memcpy (&wanted[b * layout.plane_pitch + y * layout.row_pitch], above.data (),
                   above.size () * sizeof above[0]);
    }
  });
}

/// Follows the definition, for frames that are small enough to count every rectangle.
void count_every_pixel (const Shape &shape, const Bytes &pixels, std::size_t stride,
                        const Layout &layout, const Bytes &wanted)
{
  for (int y = 0; y < shape.height; y++)
    for (int x = 0; x < shape.width; x++) {
      const Sums counts = count_pixels (pixels, int (stride), Region{ 0, 0, x + 1, y + 1 }, 256);
      TensorView (shape, layout, wanted.data ()).with_planes ([&] (const auto &plane) {
        for (int b = 0; b < shape.bins; b++)
          if (plane (b) (y, x) != (shape.counter == Type::u16 ? counts[b] & 0xffff : counts[b]))
            throw std::logic_error (wrong_at (b, y, x, " in the truth itself"));
      });
    }
}

/// Adds the pixels up in `Wide` and compares row by row, so that no tensor of exact values is ever
/// stored. `channels` of a pixel are neighbours.
template <class Pixel, class Sum, class Wide>
std::string float_difference (const Truth &truth, const Bytes &pixels, std::size_t stride,
                              const Tensor &got, int channels)
{
  const Shape &shape = truth.shape;
  const Wide unit = Wide (std::numeric_limits<Sum>::epsilon ()) / 2
                    + Wide (std::numeric_limits<Wide>::epsilon ());  // ours, and the truth's own
  const Wide share = Wide (std::int64_t (shape.width) + shape.height) * unit;
  const Wide all_exact = Wide (1) / Wide (std::numeric_limits<Sum>::epsilon ());
  const std::size_t n = std::size_t (shape.width) * channels;
  std::vector<Wide> exact (n), magnitude (n), row (channels), row_magnitude (channels);
  bool integers = true;  // so far
  for (int y = 0; y < shape.height; y++) {
    std::ranges::fill (row, 0);
    std::ranges::fill (row_magnitude, 0);
    const std::uint8_t *const line = &got.bytes[got.front + y * got.layout.row_pitch];
    for (std::size_t i = 0; i < n; i++) {
      const Wide pixel = at<Pixel> (&pixels[y * stride], i);
      integers = integers && pixel == std::trunc (pixel);
      exact[i] += row[i % channels] += pixel;
      magnitude[i] += row_magnitude[i % channels] += std::abs (pixel);
    }
    for (std::size_t i = 0; i < n; i++) {
      const Wide is = at<Sum> (line, i), error = std::abs (is - exact[i]);
      const Wide bound = integers && magnitude[i] <= all_exact ? 0 : share * magnitude[i];
      if (!(error <= bound))  // so that a NaN is wrong
        return wrong_at (0, y, int (i / channels),
                         text ("%s: %.9Lg, must be %.9Lg +- %.3Lg",
                               channels > 1 ? text (" channel %zu", i % channels).c_str () : "",
                               (long double) is, (long double) exact[i], (long double) bound));
    }
  }
  return "";
}

/// Finds the first byte of [begin, end) that is not `around`.
std::size_t first_written (const Bytes &bytes, std::size_t begin, std::size_t end,
                           std::uint8_t around)
{
  while (begin < end && bytes[begin] == around)
    begin++;
  return begin;
}

}  // namespace

Truth::Truth (const Shape &s, Bytes pixels, std::size_t stride)
    : shape (s), layout_ (layout_of (s)), pixels_ (std::move (pixels)), stride_ (stride)
{
  if (is_floating (shape.counter))
    return;
  wanted_.resize (tensor_bytes (shape, layout_));
  if (shape.content == Content::bins) {
    if (shape.counter == Type::u32)
      count_bins<std::uint32_t> (shape, pixels_, stride_, layout_, wanted_);
    else if (shape.counter == Type::u8_tiled)
      pack_bins (shape, pixels_, stride_, layout_, wanted_);
    else
      count_bins<std::uint16_t> (shape, pixels_, stride_, layout_, wanted_);
    if (std::int64_t (shape.width) * shape.height <= 300)
      count_every_pixel (shape, pixels_, stride_, layout_, wanted_);
  } else if (shape.content == Content::weights) {
    sum_weights (shape, pixels_, stride_, layout_, wanted_);
  } else if (shape.pixel == Type::u8) {
    sum_powers<std::uint8_t> (shape, pixels_, stride_, layout_, wanted_);
  } else {
    sum_powers<std::uint32_t> (shape, pixels_, stride_, layout_, wanted_);
  }
}

std::string Truth::wrong_tile (const Tensor &got, int plane, int row) const
{
  const Tiles tiles = tiles_of (shape);
  const std::uint8_t *const
      is = &got.bytes[got.front + plane * got.layout.plane_pitch + row * got.layout.row_pitch],
      *const must = wanted_row (plane, row);
  const TiledElements got_at = { is, 0, tiles }, wanted_at = { must, 0, tiles };
  for (int y = row * 16; y < std::min (row * 16 + 16, shape.height); y++)
    for (int x = 0; x < shape.width; x++)
      if (got_at (y % 16, x) != wanted_at (y % 16, x))
        return wrong_at (plane, y, x,
                         text (": %u, must be %u", got_at (y % 16, x), wanted_at (y % 16, x)));
  int at = 0;
  while (is[at] == must[at])
    at++;
  return text ("bin %d, tile %d of row %d: byte %d is %d, must be %d; H is right", plane,
               at / tiles.bytes (), row, at % tiles.bytes (), is[at], must[at]);
}

std::string Truth::difference (const Tensor &got) const
{
  if (shape.counter == Type::f64)
    return float_difference<double, double, long double> (*this, pixels_, stride_, got, 1);
  if (shape.counter == Type::f32x4)
    return float_difference<float, float, double> (*this, pixels_, stride_, got, 4);
  if (shape.counter == Type::f32 && shape.pixel == Type::f32)
    return float_difference<float, float, double> (*this, pixels_, stride_, got, 1);
  if (shape.counter == Type::f32)
    return float_difference<std::uint8_t, float, double> (*this, pixels_, stride_, got, 1);

  const std::size_t size = bytes_of (shape.counter);
  const Rows rows = rows_of (shape);
  std::vector<std::string> wrong (shape.bins);
  tbb::parallel_for (0, shape.bins, [&] (int p) {
    for (int y = 0; y < rows.n && wrong[p].empty (); y++) {
      const std::uint8_t *const row =
          &got.bytes[got.front + p * got.layout.plane_pitch + y * got.layout.row_pitch];
      const std::uint8_t *const wanted = wanted_row (p, y);
      if (std::memcmp (row, wanted, rows.bytes) == 0)
        continue;
      if (shape.counter == Type::u8_tiled) {
        wrong[p] = wrong_tile (got, p, y);
        continue;
      }
      int x = 0;
      while (std::memcmp (row + x * size, wanted + x * size, size) == 0)
        x++;
      wrong[p] = wrong_at (p, y, x, integers_at (shape.counter, row, wanted, x));
    }
  });
  for (const std::string &how : wrong)
    if (!how.empty ())
      return how;
  return "";
}

std::string Truth::difference (const Tensor &got, std::uint8_t around) const
{
  const std::string wrong = difference (got);
  if (!wrong.empty ())
    return wrong;
  const Rows rows = rows_of (shape);
  std::size_t end = 0;  // of the elements so far
  const auto gap_until = [&] (std::size_t next) {
    const std::size_t written = first_written (got.bytes, end, next, around);
    return written == next
               ? ""
               : text ("byte %td of a tensor of %zu is outside its elements, and was written",
                       std::ptrdiff_t (written) - std::ptrdiff_t (got.front),
                       tensor_bytes (shape, got.layout));
  };
  for (int p = 0; p < shape.bins; p++)
    for (int y = 0; y < rows.n; y++) {
      const std::size_t row = got.front + p * got.layout.plane_pitch + y * got.layout.row_pitch;
      if (const std::string written = gap_until (row); !written.empty ())
        return written;
      end = row + rows.bytes;
    }
  return gap_until (got.bytes.size ());
}

std::string Truth::difference_with_border (const Tensor &got, std::uint32_t scale) const
{
  const std::size_t size = bytes_of (shape.counter);
  for (int p = 0; p < shape.bins; p++)
    for (int y = -1; y < shape.height; y++) {
      const std::size_t row =
                            got.front + p * got.layout.plane_pitch + (y + 1) * got.layout.row_pitch,
                        zeros = y < 0 ? (shape.width + 1) * size : size;
      if (const std::size_t end = row + zeros; first_written (got.bytes, row, end, 0) != end)
        return text ("plane %d, row %d of the border is not zero", p, y);
      for (int x = 0; x < shape.width && y >= 0 && scale != 1; x++) {
        const std::uint32_t is = at<std::uint32_t> (&got.bytes[row], x + 1),
                            wanted = scale * at<std::uint32_t> (wanted_row (p, y), x);
        if (is != wanted)
          return wrong_at (p, y, x, text (": %u, must be %u", is, wanted));
      }
    }
  return scale == 1
             ? difference ({ got.bytes, got.front + got.layout.row_pitch + size, got.layout })
             : "";
}

}  // namespace inthist::check
