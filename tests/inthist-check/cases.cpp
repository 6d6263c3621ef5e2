// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cases.hpp"

#include <cmath>
#include <fstream>
#include <iterator>
#include <random>

#include "text.hpp"

namespace inthist::check {
namespace {

constexpr const char *kPatternNames[] = { "all 0",        "all 255",         "noise",
                                          "checkerboard", "horizontal ramp", "vertical ramp",
                                          "integers",     "dynamic range",   "video" };
constexpr Type kCounters[] = { Type::u32, Type::u16, Type::u8_tiled };
constexpr int kPictures = 6;  // patterns of 8-bit pictures
constexpr int kTables = 8;    // patterns of pixels of any type

int luma (Pattern pattern, int x, int y, int width, int height, std::mt19937 &random)
{
  switch (pattern) {
    case Pattern::full: return 255;
    case Pattern::noise: return int (random () >> 24);
    case Pattern::checkerboard: return (x + y) % 2 * 255;
    case Pattern::across: return int (std::int64_t (x) * 256 / width);
    case Pattern::down: return int (std::int64_t (y) * 256 / height);
    case Pattern::integers: return int (random () % 16);
    case Pattern::range: return 1 << random () % 8;
    default: return 0;
  }
}

/// Returns a pixel. Noise uses all bits of the type, and both signs if the type has two.
double value (Type type, Pattern pattern, int x, int y, int width, int height, std::mt19937 &random)
{
  if (type == Type::u8)
    return luma (pattern, x, y, width, height, random);
  const double noise = random ();
  if (type == Type::u32)
    switch (pattern) {
      case Pattern::full: return 4294967295.0;
      case Pattern::noise: return noise;
      case Pattern::checkerboard: return (x + y) % 2 * 2147483649.0;
      case Pattern::range: return double (1u << random () % 32);
      default: return luma (pattern, x, y, width, height, random);
    }
  const double both_signs = noise / 2147483648.0 - 1;
  switch (pattern) {
    case Pattern::noise: return both_signs;
    case Pattern::checkerboard: return (x + y) % 2 ? 1000.1 : -1000.1;
    case Pattern::across: return double (x) / width;
    case Pattern::down: return double (y) / height - 0.5;
    case Pattern::integers: return int (random () % 201) - 100;
    case Pattern::range: return std::ldexp (both_signs, int (random () % 41) - 20);
    default: return luma (pattern, x, y, width, height, random);
  }
}

template <class T>
void draw (const Case &c, int channels, Bytes &pixels)
{
  std::mt19937 random (c.seed);
  for (int y = 0; y < c.shape.height; y++)
    for (int i = 0; i < c.shape.width * channels; i++) {
      const T pixel = T (
          value (c.shape.pixel, c.pattern, i / channels, y, c.shape.width, c.shape.height, random));
      std::memcpy (&pixels[y * c.stride () + i * sizeof pixel], &pixel, sizeof pixel);
    }
}

/// Draws weights: a bin, or none for some pixels of noise; a share for the bin, all of it
/// where the picture is white; and a random share for the next bin.
void draw_weights (const Case &c, Bytes &pixels)
{
  std::mt19937 random (c.seed);
  const Shape &shape = c.shape;
  for (int y = 0; y < shape.height; y++)
    for (int x = 0; x < shape.width; x++) {
      const int value = luma (c.pattern, x, y, shape.width, shape.height, random),
                own = value == 255 ? 4095 : int (random () % 4096) * value / 255,
                next = int (random () % unsigned (4096 - own));
      const bool none = c.pattern == Pattern::noise && random () % 16 == 0 && shape.bins < 256;
      const std::uint32_t bin = none ? 255 : unsigned (value * shape.bins / 256),
                          word = bin | unsigned (own) << 8 | unsigned (next) << 20;
      std::memcpy (&pixels[y * c.stride () + x * sizeof word], &word, sizeof word);
    }
}

/// Layouts, alignments and gaps in turn, by the number of the case.
Case laid_out (const Shape &shape, Pattern pattern, std::size_t number, unsigned seed)
{
  Case c;
  c.shape = shape;
  c.own_layout = number % 3 != 0;
  c.row_gap = number / 3 % 4 * 16;
  c.plane_gap = number / 5 % 3 * 48;
  c.shift = number / 2 % 4 * 16;
  constexpr std::size_t kPixelGaps[] = { 0, 1, 5, 64, 301 };
  c.pixel_gap = kPixelGaps[number % 5];
  c.pixel_shift = number / 4 % 4;
  c.pattern = pattern;
  c.seed = seed;
  return c;
}

constexpr int kSizes[][2] = {
  { 1, 1 },     { 1, 37 },    { 37, 1 },    { 2, 2 },     { 15, 31 },   { 16, 32 },    { 17, 33 },
  { 63, 63 },   { 64, 64 },   { 65, 65 },   { 127, 63 },  { 128, 64 },  { 129, 65 },   { 255, 63 },
  { 256, 64 },  { 257, 65 },  { 127, 129 }, { 128, 128 }, { 129, 127 }, { 101, 77 },   { 3, 191 },
  { 333, 97 },  { 1021, 41 }, { 511, 192 }, { 512, 95 },  { 640, 480 }, { 641, 479 },  { 2049, 5 },
  { 3840, 4 },  { 4225, 4 },  { 2049, 67 }, { 4100, 33 }, { 4369, 17 }, { 4370, 17 },  { 17, 4370 },
  { 8192, 20 }, { 4096, 67 }, { 4097, 67 }, { 4104, 67 }, { 8200, 67 }, { 12289, 57 }, { 14336, 5 },
  { 14337, 5 }, { 70000, 3 }, { 3, 70000 },
};
constexpr int kBins[] = { 1, 2, 3, 16, 17, 32, 255, 256 };

void add_histograms (std::vector<Case> &list, std::mt19937 &random, bool small)
{
  const std::size_t most_pixels = small ? 20000 : SIZE_MAX,
                    most_elements = small ? 1 << 20 : 10 << 20;
  std::size_t turn = 0;
  const auto add = [&] (int width, int height, int bins, Pattern pattern) {
    turn++;
    for (const Type counter : kCounters)
      if (const Shape shape = { width, height, bins, counter }; is_valid (shape))
        list.push_back (laid_out (shape, pattern, list.size (), random ()));
  };
  for (const auto &[width, height] : kSizes)
    for (const int bins : kBins) {
      const std::size_t pixels = std::size_t (width) * height,
                        elements = std::size_t (std::max (width, 16)) * height * bins;
      if (pixels > most_pixels || elements > most_elements)
        continue;
      const bool all = !small && (elements <= 1 << 18 || bins == 2);
      const Pattern one = Pattern (turn % kPictures);
      for (int i = 0; i < kPictures; i++)
        if (const Pattern pattern = Pattern (i);
            all || pattern == one || (!small && pattern == Pattern::noise && elements <= 4 << 20))
          add (width, height, bins, pattern);
    }
  for (int i = 0; i < (small ? 10 : 100); i++) {
    const int width = 1 + random () % (small ? 150 : 700),
              height = 1 + random () % (small ? 100 : 300);
    add (width, height,
         1 + random () % std::min<std::size_t> (256, most_elements / 4 / width / height),
         Pattern (random () % kPictures));
  }
}

/// Weighted pixels of all sizes and bins, and sums of more than 32 bits.
void add_weights (std::vector<Case> &list, std::mt19937 &random, bool small)
{
  const std::size_t most_elements = small ? 1 << 18 : 4 << 20;
  std::size_t turn = 0;
  const auto add = [&] (int width, int height, int bins, Pattern pattern) {
    list.push_back (laid_out ({ width, height, bins, Type::u32, Content::weights, Type::u32 },
                              pattern, list.size (), random ()));
  };
  for (const auto &[width, height] : kSizes)
    for (const int bins : kBins) {
      if (std::size_t (width) * height * bins > most_elements || (small && ++turn % 5 != 0))
        continue;
      add (width, height, bins, Pattern::noise);
      if (!small)
        add (width, height, bins, Pattern (++turn % kPictures));
    }
  if (!small)
    add (1301, 1170, 2, Pattern::full);
}

void add_tables (std::vector<Case> &list, std::mt19937 &random, bool small)
{
  static constexpr int kEdges[] = { 1,    2,    3,    7,    31,   32,    33,    63,
                                    64,   65,   100,  127,  128,  129,   255,   256,
                                    257,  511,  513,  640,  1023, 1024,  1025,  2047,
                                    2049, 4095, 4097, 8191, 8193, 16383, 16384, 12289 };
  static constexpr int kRows[] = { 1, 2, 5, 33, 3, 17, 65, 4 };
  static constexpr int kSquares[][2] = { { 65, 65 },   { 128, 128 }, { 129, 127 },
                                         { 333, 197 }, { 641, 479 }, { 1301, 1170 } };
  // Clusters compute tables of up to 1280x1024, 2 rows or 4 in a warp (kernels/cuda).
  static constexpr int kAtLimits[][2] = {
    { 1280, 512 }, { 1024, 513 }, { 640, 1024 }, { 645, 1025 }, { 1281, 300 }
  };
  // tiles of look-back in two rows or more, and two columns, which small lists have, too
  constexpr int kTiled[] = { 130, 1026 };
  const std::vector<Shape> all = kinds ();
  std::size_t turn = 0;
  // with `aligned`, also with pixels that are loaded 16 at once
  const auto add = [&] (int width, int height, bool aligned = false) {
    const bool tiled = height == kTiled[1];
    if (small && std::int64_t (width) * height > 6000 && !tiled)
      return;
    for (const Shape &kind : all) {
      if (kind.content != Content::sums)
        continue;
      turn++;
      if (small && (tiled ? kind.pixel != Type::u8 : turn % 3 != 0))
        continue;
      Shape shape = kind;
      shape.width = width;
      shape.height = height;
      for (const Pattern pattern : { Pattern::noise, Pattern (turn / 5 % kTables) })
        if (!small || (pattern == Pattern::noise) == tiled)
          list.push_back (laid_out (shape, pattern, list.size (), random ()));
      if (aligned) {
        list.push_back (laid_out (shape, Pattern::noise, list.size (), random ()));
        list.back ().pixel_gap = list.back ().pixel_shift = 0;
      }
    }
  };
  for (std::size_t i = 0; i < std::size (kEdges); i++) {
    add (kEdges[i], kRows[i % std::size (kRows)]);
    add (kRows[(i + 3) % std::size (kRows)], kEdges[i]);
  }
  for (const auto &[width, height] : kSquares)
    add (width, height);
  for (const auto &[width, height] : kAtLimits)
    add (width, height, true);
  add (kTiled[0], kTiled[1], true);
  for (int i = 0; i < (small ? 3 : 30); i++)
    add (1 + random () % (small ? 90 : 900), 1 + random () % (small ? 60 : 300));
}

constexpr int kFrameWidth = 768, kFrameHeight = 576;

/// Frames of $INTHIST_TEST_FRAMES, 768x576 GRAY8, for hosts that cannot decode a file. None if it
/// is not set.
std::vector<Bytes> test_frames (int n)
{
  std::vector<Bytes> frames;
  const char *const file = std::getenv ("INTHIST_TEST_FRAMES");
  if (!file)
    return frames;
  std::ifstream in (file, std::ios::binary);
  for (int i = 0; i < n; i++) {
    frames.emplace_back (kFrameWidth * kFrameHeight);
    if (!in.read (reinterpret_cast<char *> (frames.back ().data ()),
                  std::streamsize (frames.back ().size ())))
      throw std::runtime_error (
          text ("$INTHIST_TEST_FRAMES: %s has less than %d frames of %dx%d bytes", file, n,
                kFrameWidth, kFrameHeight));
  }
  return frames;
}

void add_video (std::vector<Case> &list)
{
  for (Bytes &frame : test_frames (3)) {
    const auto video = std::make_shared<Bytes> (std::move (frame));
    for (const Type counter : kCounters) {
      list.push_back (
          laid_out ({ kFrameWidth, kFrameHeight, 32, counter }, Pattern::video, list.size (), 0));
      list.back ().video = video;
    }
  }
}

/// Adds LUTs with values in no bin: groups of bins as lut_of_bins makes them, the same except for
/// one entry, and entries in no order.
void add_groups (std::vector<Case> &list, std::mt19937 &random, bool small)
{
  static constexpr int kSizes[][2] = { { 1, 1 },     { 17, 33 },  { 64, 64 },   { 128, 192 },
                                       { 130, 66 },  { 324, 97 }, { 640, 480 }, { 641, 479 },
                                       { 2056, 67 }, { 4100, 33 } };
  static constexpr struct {
    int all, first, bins;
  } kGroups[] = { { 32, 8, 8 },      { 32, 0, 8 },      { 32, 28, 4 },   { 32, 31, 1 },
                  { 32, 0, 1 },      { 16, 3, 13 },     { 40, 10, 10 },  { 128, 30, 70 },
                  { 256, 100, 100 }, { 256, 129, 127 }, { 256, 1, 255 }, { 256, 0, 255 } };
  const std::size_t most_elements = small ? 1 << 18 : 10 << 20;
  std::size_t turn = 0;
  for (const auto &[width, height] : kSizes)
    for (const auto &[all, first, bins] : kGroups) {
      turn++;
      if (std::size_t (width) * height * bins > most_elements || (small && turn % 4 != 0))
        continue;
      const Pattern pattern = random () % 2 ? Pattern::noise : Pattern (random () % kPictures);
      Case c = laid_out ({ width, height, bins, kCounters[random () % std::size (kCounters)] },
                         pattern, list.size (), random ());
      c.lut = lut_of_bins (uniform_lut (all), first, bins);
      const int kind = int (random () % 4);
      if (kind == 2)
        (*c.lut)[random () % 256] = std::uint8_t (random () >> 24);
      if (kind == 3)
        for (auto &entry : *c.lut)
          entry = std::uint8_t (random () % std::min (256, bins + bins / 2 + 2));
      list.push_back (c);
    }
}

/// Bin indices with the stride that strategies get, and rubbish in the columns without a meaning.
Bytes bin_plane (const Case &c)
{
  const Bytes picture = image_of (c);
  const Shape &shape = c.shape;
  Bytes plane (c.stride () * shape.height);
  std::mt19937 random (1);
  for (int y = 0; y < shape.height; y++) {
    std::uint8_t *row = &plane[y * c.stride ()];
    for (int x = 0; x < shape.width; x++) {
      const int value = picture[std::size_t (y) * shape.width + x];
      row[x] = c.lut ? (*c.lut)[value] : std::uint8_t (value * shape.bins / 256);
    }
    for (std::size_t x = shape.width; x < c.stride (); x++)
      row[x] = std::uint8_t (random () % shape.bins);
  }
  return plane;
}

}  // namespace

Bytes picture (Pattern pattern, int width, int height, unsigned seed)
{
  std::mt19937 random (seed);
  Bytes image (std::size_t (width) * height);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      image[std::size_t (y) * width + x] =
          std::uint8_t (luma (pattern, x, y, width, height, random));
  return image;
}

Bytes first_test_frame ()
{
  std::vector<Bytes> frames = test_frames (1);
  if (frames.empty ())
    throw std::runtime_error ("$INTHIST_TEST_FRAMES is not set: there is no frame");
  return frames.front ();
}

Layout Case::layout () const
{
  if (!own_layout)
    return layout_of (shape);
  const auto [n, bytes] = rows_of (shape);
  const std::size_t row = (bytes + 15) / 16 * 16 + row_gap;
  return { row, row * n + plane_gap };
}

std::size_t Case::stride () const
{
  return shape.content == Content::sums ? (shape.width + pixel_gap) * bytes_of (shape.pixel)
                                        : binned_stride (shape);
}

std::size_t Case::input_shift () const
{
  return shape.content == Content::sums ? pixel_shift * bytes_of (shape.pixel) : shift;
}

std::string Case::name () const
{
  const Layout at = layout ();
  const auto is_in_none = [&] (int entry) { return entry >= shape.bins; };
  return text (
      "%s (%d bins), row_pitch %zu, plane_pitch %zu, shift %zu, pixels' stride %zu, %s%s",
      check::name_of (shape).c_str (), shape.bins, at.row_pitch, at.plane_pitch, shift, stride (),
      kPatternNames[int (pattern)],
      lut ? text (", a LUT with %td values in no bin", std::ranges::count_if (*lut, is_in_none))
                .c_str ()
          : "");
}

Bytes image_of (const Case &c)
{
  if (c.shape.content != Content::bins)
    return {};
  return c.video ? *c.video : picture (c.pattern, c.shape.width, c.shape.height, c.seed);
}

Bytes pixels_of (const Case &c)
{
  if (c.shape.content == Content::bins)
    return bin_plane (c);
  // 0xff between rows is a NaN in a float and a large number in an integer
  const bool weights = c.shape.content == Content::weights;
  const std::size_t last_row = weights ? c.stride () : c.shape.width * bytes_of (c.shape.pixel);
  Bytes pixels (c.stride () * (c.shape.height - 1) + last_row, 0xff);
  if (weights) {
    draw_weights (c, pixels);
    return pixels;
  }
  switch (c.shape.pixel) {
    case Type::u8: draw<std::uint8_t> (c, 1, pixels); break;
    case Type::u32: draw<std::uint32_t> (c, 1, pixels); break;
    case Type::f32: draw<float> (c, 1, pixels); break;
    case Type::f32x4: draw<float> (c, 4, pixels); break;
    case Type::f64: draw<double> (c, 1, pixels); break;
    default: throw std::logic_error ("pixels of no such type");
  }
  return pixels;
}

std::string name_of (const Shape &shape)
{
  if (shape.content == Content::bins)
    return text ("%dx%dx%d %s", shape.width, shape.height, shape.bins,
                 inthist::name_of (shape.counter));
  if (shape.content == Content::weights)
    return text ("%dx%dx%d weights", shape.width, shape.height, shape.bins);
  return text ("%dx%d %s:%s%s", shape.width, shape.height, inthist::name_of (shape.pixel),
               inthist::name_of (shape.counter), shape.bins == 1 ? "" : "x2");
}

std::vector<Shape> kinds ()
{
  const auto bins = [] (Type counter) { return Shape{ 1, 1, 1, counter }; };
  const auto table = [] (Type pixel, Type counter, int planes) {
    return Shape{ 1, 1, planes, counter, Content::sums, pixel };
  };
  return { bins (Type::u32),
           bins (Type::u16),
           bins (Type::u8_tiled),
           table (Type::u8, Type::u32, 1),
           table (Type::u8, Type::u32, 2),
           table (Type::u8, Type::s32, 1),
           table (Type::u8, Type::f32, 1),
           table (Type::u32, Type::u32, 1),
           table (Type::f32, Type::f32, 1),
           table (Type::f64, Type::f64, 1),
           table (Type::f32x4, Type::f32x4, 1),
           { 1, 1, 1, Type::u32, Content::weights, Type::u32 } };
}

std::vector<Case> case_list (unsigned seed, bool small)
{
  std::vector<Case> list;
  std::mt19937 random (seed);
  add_histograms (list, random, small);
  add_tables (list, random, small);
  if (!small)
    add_video (list);
  add_groups (list, random, small);
  add_weights (list, random, small);
  return list;
}

std::vector<Case> cases_of (const std::vector<Shape> &shapes, unsigned seed)
{
  std::vector<Case> list;
  std::mt19937 random (seed);
  for (const Shape &shape : shapes) {
    const bool large = tensor_bytes (shape) > std::size_t (1) << 30;
    for (int i = 0; i < (shape.content == Content::bins ? kPictures : kTables); i++)
      if (!large || Pattern (i) == Pattern::noise)
        list.push_back (laid_out (shape, Pattern (i), list.size (), random ()));
  }
  return list;
}

}  // namespace inthist::check
