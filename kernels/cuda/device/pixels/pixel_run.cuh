// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Loads eight neighbouring pixels of a row, as features read them (features/pixel.hpp). If rows are
// aligned to 4 bytes, and colours have one of the usual layouts (or luma is a byte), words are
// loaded, and are rearranged to words of four bytes of one colour. Other pixels, and pixels at the
// ends of rows, are read one by one.
#pragma once

#include "../../../features/pixel.hpp"
#include "../hardware/bytes.cuh"

namespace inthist::cuda {

struct EightBytes {
  std::uint32_t words[2];

  __device__ int operator[] (int i) const { return int (byte_of (words[i / 4], i % 4)); }
  __device__ void set (int i, int byte) { words[i / 4] |= std::uint32_t (byte) << (8 * (i % 4)); }
};

class PixelRun {
public:
  static constexpr int kPixels = 8;

  /// Reads eight pixels from column x, a multiple of 8, on: their colours, luma of the pixels and
  /// their neighbours, or only luma. Columns beyond the image are undefined.
  __device__ PixelRun (const RowReader &reader, int x, int width, bool colours, bool neighbours)
  {
    const bool whole = x + kPixels <= width;
    if (colours && !(whole && load_colours (reader, x)))
#pragma unroll
      for (int i = 0; i < kPixels; i++)
#pragma unroll
        for (int c = 0; c < 3; c++)
          colours_[c].set (i, reader.channel (c, min (x + i, width - 1)));
    if (neighbours || !colours)
      load_luma (reader, x, width, neighbours);
  }

  __device__ Pixel pixel (int i, const PixelFormat &format, const Sectors &sectors) const
  {
    Pixel pixel = { {}, {}, format.quantization, sectors };
    for (int c = 0; c < 3; c++)
      pixel.colour.of[c] = colours_[c][i];
    if (!format.transform.is_identity)
      pixel.colour = RowReader::transformed (pixel.colour, format.transform);
    for (int row = 0; row < 3; row++) {
      pixel.luma[row][0] = i > 0 ? luma_[row][i - 1] : beside_[row][0];
      pixel.luma[row][1] = luma_[row][i];
      pixel.luma[row][2] = i + 1 < kPixels ? luma_[row][i + 1] : beside_[row][1];
    }
    return pixel;
  }

private:
  static_assert (kPixels == 8, "EightBytes");

  __device__ void load_luma (const RowReader &reader, int x, int width, bool neighbours)
  {
    const int first = neighbours ? 0 : 1, last = neighbours ? 2 : 1;
    bool words = x + kPixels <= width && reader.format ().is_byte ();
#pragma unroll
    for (int row = 0; row < 3; row++)
      words = words && (row < first || row > last || is_aligned (reader.luma_row (row) + x));
#pragma unroll
    for (int row = 0; row < 3; row++) {
      if (row < first || row > last)
        continue;
      const std::uint8_t *const from = reader.luma_row (row);
      if (words) {
        load_words (luma_[row].words, from + x);
        if (neighbours) {
          beside_[row][0] = from[max (x - 1, 0)];
          beside_[row][1] = from[min (x + kPixels, width - 1)];
        }
        continue;
      }
#pragma unroll
      for (int i = 0; i < kPixels; i++)
        luma_[row].set (i, reader.luma (row, x + i));
      if (neighbours) {
        beside_[row][0] = reader.luma (row, x - 1);
        beside_[row][1] = reader.luma (row, x + kPixels);
      }
    }
  }

  /// Loads the colours of eight pixels. Returns false if their layout is not one of the usual ones.
  __device__ bool load_colours (const RowReader &reader, int x)
  {
    const Channel (&channel)[3] = reader.format ().channel;
    const std::uint8_t *from[3];
    bool in_planes = true, packed = true;
#pragma unroll
    for (int c = 0; c < 3; c++) {
      const Channel &its = channel[c];
      from[c] = reader.first (c, x) - its.offset;
      if (its.bytes != 1 || !is_aligned (from[c]))
        return false;
      in_planes = in_planes
                  && ((its.log2_subsample_x == 0 && its.step == 1)
                      || (its.log2_subsample_x == 1 && its.step <= 2 && reader.left () == 0));
      packed = packed && its.log2_subsample_x == 0 && its.step >= 3 && its.step == channel[0].step;
    }
    if (in_planes)
#pragma unroll
      for (int c = 0; c < 3; c++)
        load_plane (colours_[c], channel[c], from[c]);
    else if (packed && channel[0].step == 3)
      load_packed<3> (channel, from[0]);
    else if (packed)
      load_packed<4> (channel, from[0]);
    return in_planes || packed;
  }

  /// Loads packed pixels of kBytes bytes each, such as RGB. A byte is one colour, or is not used.
  template <int kBytes>
  __device__ void load_packed (const Channel (&channel)[3], const std::uint8_t *from)
  {
    std::uint32_t words[2 * kBytes], pixels[kPixels];
    load_words (words, from);
#pragma unroll
    for (int i = 0; i < kPixels; i++) {
      const int at = i * kBytes;
      pixels[i] = at % 4 == 0 ? words[at / 4]
                              : __funnelshift_r (words[at / 4],
                                                 at / 4 + 1 < 2 * kBytes ? words[at / 4 + 1] : 0,
                                                 8 * (at % 4));
    }
    for (int c = 0; c < 3; c++) {
      const unsigned offset = channel[c].offset, both = offset | (offset + 4) << 4;
#pragma unroll
      for (int w = 0; w < 2; w++)
        colours_[c].words[w] =
            __byte_perm (__byte_perm (pixels[4 * w], pixels[4 * w + 1], both),
                         __byte_perm (pixels[4 * w + 2], pixels[4 * w + 3], both), 0x5410);
    }
  }

  /// Loads one colour of eight pixels from a plane. Two pixels may share a byte (as in I420), and
  /// bytes may alternate with bytes of another colour (as in NV12).
  __device__ static void load_plane (EightBytes &to, const Channel &channel,
                                     const std::uint8_t *from)
  {
    const auto *const words = reinterpret_cast<const std::uint32_t *> (from);
    const bool halved = channel.log2_subsample_x == 1, alternate = channel.step == 2;
    const std::uint32_t low = words[0], high = halved && !alternate ? 0 : words[1];
    const unsigned offset = channel.offset * 0x1111u;
    to.words[0] = __byte_perm (low, high, !halved ? 0x3210 : alternate ? 0x2200 + offset : 0x1100);
    to.words[1] = __byte_perm (low, high, !halved ? 0x7654 : alternate ? 0x6644 + offset : 0x3322);
  }

  template <int kCount>
  __device__ static void load_words (std::uint32_t (&words)[kCount], const std::uint8_t *from)
  {
#pragma unroll
    for (int i = 0; i < kCount; i++)
      words[i] = reinterpret_cast<const std::uint32_t *> (from)[i];
  }

  __device__ static bool is_aligned (const std::uint8_t *from)
  {
    return reinterpret_cast<std::size_t> (from) % 4 == 0;
  }

  EightBytes colours_[3] = {}, luma_[3] = {};
  int beside_[3][2] = {};  // luma of the pixels left and right of the eight
};

}  // namespace inthist::cuda
