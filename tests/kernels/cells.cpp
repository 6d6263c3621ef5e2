// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Cells of a frame's pixels are what each pixel has times its share of their area: pixel by pixel,
// in integers, for edges anywhere, several in a pixel, and cells as wide as they may be.
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include <gst/check/gstcheck.h>

#include <kernels/cells.hpp>

namespace {

using namespace inthist;

struct Frame {
  Shape shape;
  std::vector<std::uint8_t> bytes;
  Lut lut;

  std::size_t stride () const { return std::size_t (shape.width) * bytes_of (shape.pixel); }
  Binning binning () const
  {
    return {
      { reinterpret_cast<const std::byte *> (bytes.data ()), std::ptrdiff_t (stride ()), {} }, lut
    };
  }
  /// Returns what a pixel adds to a plane.
  std::int64_t at (int x, int y, int plane, Scores scores) const
  {
    const std::uint8_t *const pixel =
        &bytes[std::size_t (y) * stride () + std::size_t (x) * bytes_of (shape.pixel)];
    if (shape.content == Content::powers)
      return plane == 0 ? *pixel : *pixel * *pixel;
    if (shape.content == Content::bins)
      return lut[*pixel] < std::min (std::size_t (shape.bins), scores.size ()) ? scores[lut[*pixel]]
                                                                               : 0;
    std::uint32_t word;
    std::memcpy (&word, pixel, sizeof word);
    const int bin = int (word % 256), next = (bin + 1) % shape.bins;
    return bin >= shape.bins
               ? 0
               : (bin == plane ? word / 256 % 4096 : 0) + (next == plane ? word / (256 * 4096) : 0);
  }
};

std::mt19937 random_numbers (20261126);

int number (int most)
{
  return std::uniform_int_distribution (0, most) (random_numbers);
}

Frame frame_of (int width, int height, int planes, Content content)
{
  const bool weights = content == Content::weights;
  Frame frame = { { width, height, planes, Type::u32, content, weights ? Type::u32 : Type::u8 },
                  {},
                  uniform_lut (256) };
  for (auto &bin : frame.lut)
    bin = std::uint8_t (number (255));
  frame.bytes.resize (frame.stride () * std::size_t (height));
  for (auto &byte : frame.bytes)
    byte = std::uint8_t (number (255));
  if (weights)  // of which both together are at most kMost, and all in some pixels
    for (std::size_t i = 0; i < frame.bytes.size (); i += 4) {
      const int all = number (3) == 0 ? WeightedPixel::kMost : number (WeightedPixel::kMost),
                first = number (1) == 0 ? all : number (all);
      const std::uint32_t word = WeightedPixel::of (number (planes), first, all - first).word;
      std::memcpy (&frame.bytes[i], &word, sizeof word);
    }
  return frame;
}

std::int64_t overlap (int a0, int a1, int b0, int b1)
{
  return std::max (0, std::min (a1, b1) - std::max (a0, b0));
}

void expect_truth (const Frame &frame, const std::vector<int> &x, const std::vector<int> &y,
                   Scores scores)
{
  const int planes = frame.shape.content == Content::bins ? 1 : frame.shape.bins;
  const Cells cells = { x, y };
  std::vector<std::int64_t> sums (cells.size () * planes, -1);
  fail_unless (cpu::add_up_cells (frame.binning (), frame.shape, cells, scores, sums.data ()) == 0);
  const std::int64_t *got = sums.data ();
  for (int row = 0; row < cells.rows (); row++)
    for (int column = 0; column < cells.columns (); column++)
      for (int plane = 0; plane < planes; plane++) {
        std::int64_t sum = 0;
        for (int j = y[row] / kCellParts; j * kCellParts < y[row + 1]; j++)
          for (int i = x[column] / kCellParts; i * kCellParts < x[column + 1]; i++)
            sum += overlap (x[column], x[column + 1], i * kCellParts, (i + 1) * kCellParts)
                   * overlap (y[row], y[row + 1], j * kCellParts, (j + 1) * kCellParts)
                   * frame.at (i, j, plane, scores);
        fail_unless (*got == sum,
                     "cell %d, %d, plane %d of %d: %" G_GINT64_FORMAT ", must be %" G_GINT64_FORMAT,
                     column, row, plane, planes, gint64 (*got), gint64 (sum));
        got++;
      }
}

std::vector<int> some_edges (int cells, int side)
{
  std::vector<int> edges;
  for (int i = 0; i <= cells; i++)
    edges.push_back (number (3) == 0 ? number (side) * kCellParts : number (side * kCellParts));
  std::ranges::sort (edges);
  return edges;
}

constexpr struct {
  Content content;
  int planes;
} kContents[] = { { Content::weights, 18 }, { Content::weights, 1 }, { Content::powers, 1 },
                  { Content::powers, 2 },   { Content::bins, 256 },  { Content::bins, 7 } };

}  // namespace

GST_START_TEST (anywhere)
{
  std::vector<std::uint8_t> scores (200);
  for (auto &score : scores)
    score = std::uint8_t (number (255));
  for (const auto &[content, planes] : kContents)
    for (int round = 0; round < 20; round++) {
      const Frame frame = frame_of (1 + number (60), 1 + number (40), planes, content);
      const int columns = 1 + number (round < 10 ? 80 : 6), rows = 1 + number (12);
      expect_truth (frame, some_edges (columns, frame.shape.width),
                    some_edges (rows, frame.shape.height), scores);
    }
}
GST_END_TEST;

GST_START_TEST (none)
{
  for (const auto &[content, planes] : kContents) {
    const Frame frame = frame_of (9, 7, planes, content);
    expect_truth (frame, { 0, 256 }, { 512 }, {});
    expect_truth (frame, { 512 }, { 0, 256 }, {});
  }
}
GST_END_TEST;

// sums near their limits, and more pixels than one thread adds up
GST_START_TEST (large)
{
  const std::vector<std::uint8_t> scores (256, 255);
  for (const auto &[content, planes] : kContents) {
    Frame frame = frame_of (cpu::kMostCellColumns + 9, 40, planes, content);
    if (content == Content::weights) {
      const std::uint32_t word = WeightedPixel::of (planes - 1, WeightedPixel::kMost, 0).word;
      for (std::size_t i = 0; i < frame.bytes.size (); i += 4)
        std::memcpy (&frame.bytes[i], &word, sizeof word);
    } else {
      std::ranges::fill (frame.bytes, 255);
      frame.lut[255] = std::uint8_t (planes - 1);
    }
    const int first = 1, end = first + cpu::kMostCellColumns * kCellParts;
    expect_truth (frame, { first, end, end + 700 }, { 3, 256 * 17 + 5, 256 * 40 }, scores);
  }
}
GST_END_TEST;

static Suite *cells_suite ()
{
  Suite *const suite = suite_create ("cells");
  TCase *const tcase = tcase_create ("cells");
  tcase_set_timeout (tcase, 120);
  tcase_add_test (tcase, anywhere);
  tcase_add_test (tcase, none);
  tcase_add_test (tcase, large);
  suite_add_tcase (suite, tcase);
  return suite;
}

GST_CHECK_MAIN (cells)
