// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Blends pixels with alpha into a picture, in the picture's own format, with the operator "over" of
// Porter and Duff (Compositing Digital Images, 1984). If the picture is Y'CbCr, the drawn colours
// are converted to Y'CbCr. The picture is never converted to RGB, so only pixels that are drawn on
// change. If several pixels share a sample of chroma, only the first of them, by row (of the field
// if the picture is interlaced) and column, changes the sample. The overlay blends frames in system
// memory with other code, which gives the same integers; tests/elements/canvas.cpp compares both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host_device.hpp"
#include "inthist.hpp"
#include "pixel_format.hpp"

namespace inthist {

/// Says where a picture stores a colour of a pixel, or its alpha: in `bits` bits of a word. `at`
/// tells which word, and the shift that moves the top 8 of these bits to bit 0.
struct CanvasSample {
  Channel at;
  std::uint8_t bits;
};

/// A picture to draw on: R, G, B of 8 bits, with or without alpha, or Y', Cb, Cr of 8 to 16 bits.
struct Canvas {
  std::uint8_t *planes[4] = {};
  std::ptrdiff_t strides[4] = {};  // bytes
  int width = 0, height = 0;
  bool is_rgb = false, has_alpha = false;
  CanvasSample samples[4] = {};
};

/// A pixel to draw: A, R, G, B, from the highest byte on. R, G and B are premultiplied by A.
using Argb = std::uint32_t;

/// A box of pixels to draw, which lies inside the picture. Its pixels are stored row by row, from
/// index `first` on, in an array with the pixels of all boxes.
struct Drawing {
  int x, y, width, height;
  std::size_t first;
};

/// A map of 8-bit levels (such as likelihoods) that is drawn as colours into a box. Column c and
/// row r of the box have the colour of the level in column columns[c] and row rows[r] of the map.
struct LevelMap {
  const std::uint8_t *levels;
  int stride;                 // stride in levels
  const int *columns, *rows;  // for the columns and rows
  const Argb *colours;        // 256
  int x, y, width, height;    // the box
};

HOST_DEVICE inline Argb pixel_of (const LevelMap &map, int x, int y)
{
  return map.colours[map.levels[std::ptrdiff_t (map.rows[y]) * map.stride + map.columns[x]]];
}

struct CanvasWord {
  std::uint8_t *bytes;
  int n;

  HOST_DEVICE std::uint32_t read () const
  {
    return n == 1 ? bytes[0] : std::uint32_t (bytes[0] | bytes[1] << 8);
  }
  HOST_DEVICE void write (std::uint32_t value) const
  {
    bytes[0] = std::uint8_t (value);
    if (n == 2)
      bytes[1] = std::uint8_t (value >> 8);
  }
};

HOST_DEVICE inline CanvasWord word_of (const Canvas &canvas, const CanvasSample &sample, int x,
                                       int y)
{
  const Channel &at = sample.at;
  return { canvas.planes[at.plane] + at.row_of (y) * canvas.strides[at.plane]
               + std::ptrdiff_t (x >> at.log2_subsample_x) * at.step + at.offset,
           at.bytes };
}

/// Converts R, G, B, premultiplied by alpha, to the Y', Cb, Cr (BT.709, limited range) of the same
/// colour without premultiplication.
HOST_DEVICE inline void to_ycbcr (int (&colour)[3], int alpha)
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

/// Blends a premultiplied colour into a pixel of a picture that has alpha and R, G, B of 8 bits.
HOST_DEVICE inline void blend_with_alpha (const Canvas &canvas, int x, int y,
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

// blend_byte () and blend_word () take the drawn colour by reference and not by value, because by
// value nvcc schedules the instructions of blend () differently.

/// Blends a drawn colour over a sample of 8 bits. `over` is the colour times its alpha.
HOST_DEVICE inline void blend_byte (const CanvasWord &word, const int &over, int alpha)
{
  const int mixed = (over + int (word.read ()) * (255 - alpha)) / 255;
  word.write (std::uint32_t (mixed < 255 ? mixed : 255));
}

/// Blends a drawn colour over a sample of more than 8 bits as if the sample had 16 bits. The drawn
/// colour, of 8 bits, becomes the upper 8 of 16 bits.
HOST_DEVICE inline void blend_word (const CanvasWord &word, const CanvasSample &sample,
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

HOST_DEVICE inline void blend (const Canvas &canvas, int x, int y, Argb pixel)
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
      continue;  // only the first pixel that shares a sample of chroma changes it
    const CanvasWord word = word_of (canvas, sample, x, y);
    if (sample.at.bytes == 1)
      blend_byte (word, colour[c] * (canvas.is_rgb ? 255 : alpha), alpha);
    else
      blend_word (word, sample, colour[c], alpha);
  }
}

namespace cuda {
/// Blends boxes of pixels, or the colours of a map (LevelMap), into a picture on a GPU. The picture
/// and all arrays are in device memory. No two boxes may have a pixel in common.
[[nodiscard]] int blend (const Canvas &canvas, const Drawing *drawings, int n, const Argb *pixels,
                         Stream stream);
[[nodiscard]] int blend (const Canvas &canvas, const LevelMap &map, Stream stream);
}  // namespace cuda

}  // namespace inthist
