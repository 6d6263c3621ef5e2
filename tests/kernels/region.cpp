// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Rectangles of a tensor have the counts or the sums of their pixels, one by one. Rectangles over
// the border of the frame are clipped.
//
// Environment: devices.hpp
#include <climits>
#include <random>

#include "asked.hpp"
#include "pixel_sums.hpp"
#include "test.hpp"

namespace {

/// Compares the answers to regions with `truth (region)`.
template <class Answer, class Truth>
void expect_truth (const Case &c, std::span<const Region> regions, const std::vector<Answer> &got,
                   Truth &&truth)
{
  for (std::size_t i = 0; i < regions.size (); i++) {
    const Region &r = regions[i];
    const Sums wanted = truth (r);
    for (std::size_t p = 0; p < wanted.size (); p++)
      fail_unless (got[i * wanted.size () + p] == wanted[p],
                   "%s: region %d,%d %dx%d plane %zu is %" G_GUINT64_FORMAT
                   ", must be %" G_GUINT64_FORMAT,
                   c.name ().c_str (), r.x, r.y, r.width, r.height, p,
                   guint64 (got[i * wanted.size () + p]), guint64 (wanted[p]));
  }
}

constexpr struct {
  int width, height, bins;
  Pattern pattern;
} kRegionFrames[] = {
  { 1, 1, 1, Pattern::zeros },      { 37, 23, 256, Pattern::noise },
  { 333, 97, 17, Pattern::noise },  { 640, 480, 1, Pattern::zeros },
  { 640, 480, 2, Pattern::full },   { 640, 480, 16, Pattern::noise },
  { 640, 480, 3, Pattern::across }, { 70000, 3, 2, Pattern::full },
  { 70000, 3, 5, Pattern::noise },  { 3, 70000, 2, Pattern::full },
  { 3, 70000, 5, Pattern::down },
};

/// Calls `check` with histograms of all frames and counters; every second has a layout of its own.
template <class Check>
void for_histograms (Check &&check)
{
  bool own_layout = false;
  for (const auto &[width, height, bins, pattern] : kRegionFrames) {
    if (small_cases () && width * height > 1000)
      continue;
    for (const Type counter : { Type::u32, Type::u16, Type::u8_tiled }) {
      Case c = case_of ({ width, height, bins, counter }, pattern);
      if (!is_valid (c.shape))
        continue;
      c.row_gap = c.shift = 16;
      c.plane_gap = 48;
      c.own_layout = own_layout = !own_layout;
      check (c);
    }
  }
}

/// `n` regions of every histogram.
template <class Answer>
void ask_histograms (Device device, QueryKind kind, int n)
{
  for_histograms ([&] (const Case &c) {
    const auto regions = rectangles (c.shape.width, c.shape.height, n);
    const auto got = AskedTensor (device, c, right_tensor (Input (c)))
                         .ask<Answer> ({ .kind = kind, .list = regions });
    const Bytes image = picture_of (c);
    expect_truth (c, regions, got, [&] (const Region &r) {
      return count_pixels (image, c.shape.width, r, c.shape.bins);
    });
  });
}

}  // namespace

DEVICE_TEST (count_regions)
{
  ask_histograms<std::uint32_t> (device, QueryKind::counts, 120);
}

DEVICE_TEST (sum_regions)
{
  ask_histograms<std::uint64_t> (device, QueryKind::sums, 60);
  // Sums and sums of squares; the square of 255 passes 2^32 beyond 66,051 pixels, in wide, tall and
  // square regions
  for (const auto &[width, height, ignored, pattern] : kRegionFrames)
    for (const int planes : { 1, 2 }) {
      if (small_cases () && width * height > 1000)
        continue;
      const Case c =
          case_of ({ width, height, planes, Type::u32, Content::sums, Type::u8 }, pattern);
      const Bytes image = picture_of (c);
      Bytes right (tensor_bytes (c.shape, c.layout ()));
      for (int p = 0; p < planes; p++) {
        std::vector<std::uint32_t> row (width);
        for (int y = 0; y < height; y++) {
          std::uint32_t sum = 0;
          for (int x = 0; x < width; x++) {
            const std::uint32_t pixel = image[std::size_t (y) * width + x];
            row[x] += sum += p ? pixel * pixel : pixel;
          }
          memcpy (&right[p * c.layout ().plane_pitch + y * c.layout ().row_pitch], row.data (),
                  width * sizeof row[0]);
        }
      }
      const auto regions = rectangles (width, height, 60);
      const auto got = AskedTensor (device, c, right)
                           .ask<std::uint64_t> ({ .kind = QueryKind::sums, .list = regions });
      expect_truth (c, regions, got,
                    [&] (const Region &r) { return add_pixels (image, width, r, planes); });
    }
}

TEST (clipping)
{
  std::mt19937 random (seed ());
  const auto some = [&] { return int (random () % 31) - 10; };
  for (int i = 0; i < 5000; i++) {
    const int width = 1 + random () % 12, height = 1 + random () % 12;
    const Region r{ some (), some (), some (), some () },
        clipped = clip (r, Shape{ width, height });
    int area = 0;
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++) {
        const bool in = x >= r.x && x < r.x + r.width && y >= r.y && y < r.y + r.height;
        const bool in_clipped = x >= clipped.x && x < clipped.x + clipped.width && y >= clipped.y
                                && y < clipped.y + clipped.height;
        fail_unless (in == in_clipped, "%d,%d %dx%d in %dx%d", r.x, r.y, r.width, r.height, width,
                     height);
        area += in;
      }
    fail_unless_equals_int (clipped.width * clipped.height, area);
    if (area == 0)
      fail_unless (clipped.x == 0 && clipped.y == 0 && clipped.width == 0 && clipped.height == 0);
  }
  const Region far = clip ({ 5, 6, INT_MAX, INT_MAX }, Shape{ 100, 50 }),
               nowhere = clip ({ INT_MAX, INT_MIN, INT_MAX, INT_MAX }, Shape{ 100, 50 });
  fail_unless (far.x == 5 && far.y == 6 && far.width == 95 && far.height == 44);
  fail_unless (nowhere.width == 0 && nowhere.height == 0);
}
