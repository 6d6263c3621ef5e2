// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Blends pixels with alpha into a picture, in the picture's own format, with the operator "over" of
// Porter and Duff (Compositing Digital Images, 1984). If the picture is Y'CbCr, the drawn colours
// are converted to Y'CbCr. The picture is never converted to RGB, so only pixels that are drawn on
// change. If pixels share a sample of chroma, only the first of these pixels changes the sample:
// the first by row (of the field if the picture is interlaced) and by column. A frame in system
// memory gets the same integers from the overlay's own blending, which tests/elements/canvas.cpp
// compares.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host_device.hpp"
#include "inthist.hpp"
#include "pixel_format.hpp"

namespace inthist {

/// Says where a picture stores a colour, or alpha: in `bits` bits of a word. `at` tells which word,
/// and the shift that moves the top 8 of these bits to bit 0.
struct CanvasSample {
  Channel at;
  std::uint8_t bits;
};

/// A picture to draw on. It has R, G, B of 8 bits, with or without alpha, or Y', Cb, Cr of 8 or
/// more bits.
struct Canvas {
  std::uint8_t *planes[4] = {};
  std::ptrdiff_t strides[4] = {};  // bytes
  int width = 0, height = 0;
  bool is_rgb = false, has_alpha = false;
  CanvasSample samples[4] = {};
};

/// A pixel that is drawn: A, R, G, B, from the highest byte on. R, G and B are premultiplied by A.
using Argb = std::uint32_t;

/// A box of pixels to draw. Its pixels are stored row by row in the array of all drawings' pixels,
/// from index `first` on. The box lies inside the picture.
struct Drawing {
  int x, y, width, height;
  std::size_t first;
};

/// A map of levels that is drawn as colours into a box. The pixel in a column and a row of the box
/// has the colour of the level [rows[row]][columns[column]].
struct LevelMap {
  const std::uint8_t *levels;
  int stride;                 // levels from one row to the next
  const int *columns, *rows;  // one number for each column, and for each row, of the box
  const Argb *colours;        // 256
  int x, y, width, height;    // the box
};

INTHIST_HOST_DEVICE inline Argb pixel_of (const LevelMap &map, int x, int y)
{
  return map.colours[map.levels[std::ptrdiff_t (map.rows[y]) * map.stride + map.columns[x]]];
}

/// A word of a picture's plane, little-endian.
struct CanvasWord {
  std::uint8_t *bytes;
  int n;

  INTHIST_HOST_DEVICE std::uint32_t read () const
  {
    return n == 1 ? bytes[0] : std::uint32_t (bytes[0] | bytes[1] << 8);
  }
  INTHIST_HOST_DEVICE void write (std::uint32_t value) const
  {
    bytes[0] = std::uint8_t (value);
    if (n == 2)
      bytes[1] = std::uint8_t (value >> 8);
  }
};

/// Returns the word that stores this sample of the pixel at x, y.
INTHIST_HOST_DEVICE inline CanvasWord word_of (const Canvas &canvas, const CanvasSample &sample,
                                               int x, int y)
{
  const Channel &at = sample.at;
  return { canvas.planes[at.plane] + at.row_of (y) * canvas.strides[at.plane]
               + std::ptrdiff_t (x >> at.log2_subsample_x) * at.step + at.offset,
           at.bytes };
}

/// Converts premultiplied R, G, B to the Y', Cb, Cr of the same colour without premultiplication.
INTHIST_HOST_DEVICE inline void to_ycbcr (int (&colour)[3], int alpha)
{
  int straight[3];
  for (int c = 0; c < 3; c++)
    straight[c] = (colour[c] * 255 + alpha / 2) / alpha;
  constexpr int kOfRgb[3][4] = { { 47, 157, 16, 4096 },
                                 { -26, -87, 112, 32768 },
                                 { 112, -102, -10, 32768 } };
  for (int c = 0; c < 3; c++) {
    const int value = (kOfRgb[c][0] * straight[0] + kOfRgb[c][1] * straight[1]
                       + kOfRgb[c][2] * straight[2] + kOfRgb[c][3])
                      >> 8;
    colour[c] = value < 0 ? 0 : value > 255 ? 255 : value;
  }
}

/// Blends a pixel into a picture with alpha; its samples are R, G, B of 8 bits.
INTHIST_HOST_DEVICE inline void blend_with_alpha (const Canvas &canvas, int x, int y,
                                                  const int (&colour)[3], int alpha)
{
  const CanvasWord under = word_of (canvas, canvas.samples[3], x, y);
  const int before = int (under.read ()), through = before * (255 - alpha) / 255,
            after = alpha + through;
  for (int c = 0; c < 3; c++) {
    const CanvasWord word = word_of (canvas, canvas.samples[c], x, y);
    const int mixed = (colour[c] * 255 + int (word.read ()) * before * (255 - alpha) / 255) / after;
    word.write (std::uint32_t (mixed < 255 ? mixed : 255));
  }
  under.write (std::uint32_t (after));
}

// blend_byte () and blend_word () take `over` and `colour` by reference, because nvcc schedules the
// instructions of blend () differently otherwise.

/// Blends a sample of 8 bits. `over` is the colour times its alpha.
INTHIST_HOST_DEVICE inline void blend_byte (const CanvasWord &word, const int &over, int alpha)
{
  const int mixed = (over + int (word.read ()) * (255 - alpha)) / 255;
  word.write (std::uint32_t (mixed < 255 ? mixed : 255));
}

/// Blends a sample of more than 8 bits as if it had 16 bits. The drawn colour, of 8 bits, is the
/// upper 8 of these.
INTHIST_HOST_DEVICE inline void blend_word (const CanvasWord &word, const CanvasSample &sample,
                                            const int &colour, int alpha)
{
  const int lowest = sample.at.shift + 8 - sample.bits, less = 16 - sample.bits;
  std::uint32_t value = (word.read () >> lowest & ((1u << sample.bits) - 1)) << less;
  value |= less > 0 ? value >> sample.bits : 0;
  const std::uint32_t opaque = 65535, over = std::uint32_t (alpha) << 8;
  const std::uint32_t mixed =
      ((std::uint32_t (colour) << 8) * over + value * (opaque - over)) / opaque;
  word.write ((mixed < opaque ? mixed : opaque) >> less << lowest);
}

/// Blends `pixel` over the pixel at x, y of the picture.
INTHIST_HOST_DEVICE inline void blend (const Canvas &canvas, int x, int y, Argb pixel)
{
  const int alpha = int (pixel >> 24);
  if (alpha == 0)
    return;
  int colour[3] = { int (pixel >> 16 & 255), int (pixel >> 8 & 255), int (pixel & 255) };
  if (!canvas.is_rgb)
    to_ycbcr (colour, alpha);
  if (canvas.has_alpha) {
    blend_with_alpha (canvas, x, y, colour, alpha);
    return;
  }
  for (int c = 0; c < 3; c++) {
    const CanvasSample &sample = canvas.samples[c];
    if ((x & ((1 << sample.at.log2_subsample_x) - 1)) || !sample.at.is_first_row (y))
      continue;  // another pixel sets this sample of chroma
    const CanvasWord word = word_of (canvas, sample, x, y);
    if (sample.at.bytes == 1)
      blend_byte (word, colour[c] * (canvas.is_rgb ? 255 : alpha), alpha);
    else
      blend_word (word, sample, colour[c], alpha);
  }
}

namespace cuda {
/// Blends n drawings into a picture. The picture and all arrays are in device memory. No two
/// drawings may have a pixel in common.
[[nodiscard]] int blend (const Canvas &canvas, const Drawing *drawings, int n, const Argb *pixels,
                         Stream stream);
/// Blends a map of levels into a picture. The picture and all arrays are in device memory.
[[nodiscard]] int blend (const Canvas &canvas, const LevelMap &map, Stream stream);
}  // namespace cuda

}  // namespace inthist
