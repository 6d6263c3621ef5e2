// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The geometry of frames that were cropped, scaled, bordered, mirrored and turned, compared with
// pictures that go through the same steps and whose pixels say which of the original they are.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "test.hpp"  // last: it has macros with names of the standard library

#include <gst/integralhist/meta/frame_geometry.hpp>

#include "repeats.hpp"

using integralhist::AxisMap;
using integralhist::FrameGeometry;
using integralhist::FrameStep;

namespace {

/// A picture of the original's pixels, by number; -1 is a border.
struct Picture {
  int width, height;
  std::vector<int> pixels;

  static Picture original (int width, int height)
  {
    Picture picture = { width, height, std::vector<int> (std::size_t (width * height)) };
    for (int i = 0; i < width * height; i++)
      picture.pixels[std::size_t (i)] = i;
    return picture;
  }
  int at (int x, int y) const { return pixels[std::size_t (y * width + x)]; }
};

/// Applies a step to a picture, pixel by pixel. Lengths of the output are whole multiples of the
/// input's.
Picture passed (const Picture &picture, const FrameStep &step)
{
  Picture out = { step.out_width, step.out_height,
                  std::vector<int> (std::size_t (step.out_width * step.out_height), -1) };
  for (int v = 0; v < step.out.h; v++)
    for (int u = 0; u < step.out.w; u++) {
      const int x = step.out.x + u, y = step.out.y + v;
      if (x < 0 || y < 0 || x >= step.out_width || y >= step.out_height)
        continue;
      int column = step.is_turned ? v * step.in.w / step.out.h : u * step.in.w / step.out.w;
      int row = step.is_turned ? u * step.in.h / step.out.w : v * step.in.h / step.out.h;
      if (step.mirrors_columns)
        column = step.in.w - 1 - column;
      if (step.mirrors_rows)
        row = step.in.h - 1 - row;
      out.pixels[std::size_t (y * out.width + x)] =
          picture.at (step.in.x + column, step.in.y + row);
    }
  return out;
}

int pick (std::mt19937 &random, int from, int to)
{
  return std::uniform_int_distribution<int> (from, to) (random);
}

/// A random step for a picture of this size: a crop, borders, a flip or a turn, and perhaps a
/// scale.
FrameStep any_step (std::mt19937 &random, int width, int height, int most_scale)
{
  FrameStep step{};
  step.in.x = pick (random, 0, width - 1);
  step.in.y = pick (random, 0, height - 1);
  step.in.w = pick (random, 1, width - step.in.x);
  step.in.h = pick (random, 1, height - step.in.y);
  if (pick (random, 0, 2) == 0)
    step.in = { 0, 0, width, height };
  step.is_turned = pick (random, 0, 2) == 0;
  step.mirrors_columns = pick (random, 0, 2) == 0;
  step.mirrors_rows = pick (random, 0, 2) == 0;
  const int across = pick (random, 1, most_scale), down = pick (random, 1, most_scale);
  step.out.w = (step.is_turned ? step.in.h : step.in.w) * across;
  step.out.h = (step.is_turned ? step.in.w : step.in.h) * down;
  step.out.x = pick (random, -3, 5);
  step.out.y = pick (random, -3, 5);
  step.out_width = std::max (1, step.out.x + step.out.w + pick (random, -3, 5));
  step.out_height = std::max (1, step.out.y + step.out.h + pick (random, -3, 5));
  return step;
}

/// The numbers in a rectangle of the picture, each once, in order.
std::vector<int> inside (const Picture &picture, const GstVideoRectangle &r)
{
  std::vector<int> found;
  for (int y = std::max (r.y, 0); y < std::min (r.y + r.h, picture.height); y++)
    for (int x = std::max (r.x, 0); x < std::min (r.x + r.w, picture.width); x++)
      if (picture.at (x, y) >= 0)
        found.push_back (picture.at (x, y));
  std::sort (found.begin (), found.end ());
  found.erase (std::unique (found.begin (), found.end ()), found.end ());
  return found;
}

}  // namespace

/// Without scaling every rectangle has exactly the pixels under it.
TEST (exact)
{
  std::mt19937 random (seed ());
  for (int n = 0; n < repeats (2000); n++) {
    const int width = pick (random, 1, 23), height = pick (random, 1, 19);
    const Picture original = Picture::original (width, height);
    Picture picture = original;
    std::optional<FrameGeometry> geometry (FrameGeometry (width, height, width, height));
    for (int steps = pick (random, 1, 5); geometry && steps > 0; steps--) {
      const FrameStep step = any_step (random, picture.width, picture.height, 1);
      picture = passed (picture, step);
      geometry = geometry->after (step);
    }
    const auto shown = inside (picture, { 0, 0, picture.width, picture.height });
    fail_unless (geometry.has_value () == !shown.empty (), "%zu pixels are seen", shown.size ());
    if (!geometry)
      continue;
    fail_unless (inside (original, geometry->visible ()) == shown);
    for (int i = 0; i < 20; i++) {
      const GstVideoRectangle r = { pick (random, -4, picture.width),
                                    pick (random, -4, picture.height),
                                    pick (random, -1, picture.width + 4),
                                    pick (random, -1, picture.height + 4) };
      const GstVideoRectangle o = geometry->in_original (r.x, r.y, r.w, r.h);
      fail_unless (inside (original, o) == inside (picture, r), "%d,%d,%d,%d", r.x, r.y, r.w, r.h);
      // and back: the part of the rectangle inside the original
      if (o.w > 0) {
        const GstVideoRectangle back = geometry->in_frame (o);
        fail_unless (inside (picture, back) == inside (original, o));
        fail_unless (back.w * back.h == o.w * o.h);
      }
    }
  }
}

/// Frames that are enlarged by whole numbers: rectangles between the enlarged pixels are exact.
TEST (enlarged)
{
  std::mt19937 random (seed ());
  for (int n = 0; n < repeats (500); n++) {
    const int width = pick (random, 2, 9), height = pick (random, 2, 9);
    const Picture original = Picture::original (width, height);
    // all steps from the second on shift or turn whole enlarged pixels, or enlarge again
    const FrameStep first = any_step (random, width, height, 3);
    const auto geometry = FrameGeometry (width, height, width, height).after (first);
    const Picture picture = passed (original, first);
    if (!geometry)
      continue;
    const int across = first.out.w / (first.is_turned ? first.in.h : first.in.w),
              down = first.out.h / (first.is_turned ? first.in.w : first.in.h);
    const FrameGeometry::Edges one = { 0, 0, double (across), double (down) };
    const auto [left, top, right, bottom] = geometry->in_original (one);
    fail_unless (std::fabs (right - left - 1) < 1e-12 && std::fabs (bottom - top - 1) < 1e-12);
    for (int i = 0; i < 20; i++) {
      const GstVideoRectangle r = { first.out.x + across * pick (random, -2, 6),
                                    first.out.y + down * pick (random, -2, 6),
                                    across * pick (random, 0, 8), down * pick (random, 0, 8) };
      // a rectangle that lies outside by parts of a pixel is rounded
      if (r.x < 0 || r.y < 0 || r.x + r.w > picture.width || r.y + r.h > picture.height)
        continue;
      fail_unless (inside (original, geometry->in_original (r.x, r.y, r.w, r.h))
                   == inside (picture, r));
    }
  }
}

/// With any scales, one after another, an edge is the nearest one, as computed with 80 bits, and
/// rectangles that touch in the frame touch in the original.
TEST (scaled)
{
  std::mt19937 random (seed ());
  for (int n = 0; n < repeats (2000); n++) {
    int width = pick (random, 1, 4096), height = pick (random, 1, 2160);
    const int original_width = width, original_height = height;
    FrameGeometry geometry (width, height, width, height);
    // the place of a column of the frame in the original
    long double scale = 1, offset = 0;
    int shown_to = width;
    for (int steps = pick (random, 1, 3); steps > 0; steps--) {
      FrameStep step{};
      const int left = pick (random, 0, width / 4);
      step.in = { left, 0, width - left, height };
      step.out = { pick (random, 0, 20), 0, pick (random, 1, 4096), pick (random, 1, 2160) };
      step.out_width = step.out.x + step.out.w;
      step.out_height = step.out.h;
      const auto next = geometry.after (step);
      if (!next)
        break;
      geometry = *next;
      const long double factor = (long double) (step.in.w) / step.out.w;
      offset += scale * (left - step.out.x * factor);
      scale *= factor;
      width = step.out_width;
      height = step.out_height;
    }
    shown_to = geometry.visible ().x + geometry.visible ().w;
    fail_unless (shown_to <= original_width);
    for (int i = 0; i < 20; i++) {
      const int at = pick (random, 0, width);
      const GstVideoRectangle before = geometry.in_original (0, 0, at, height),
                              behind = geometry.in_original (at, 0, width - at, height);
      fail_unless (before.w + behind.w == geometry.visible ().w);
      fail_unless (before.w == 0 || before.h == geometry.visible ().h);
      const long double edge = scale * at + offset;
      if (before.w > 0 && behind.w > 0 && std::fabs (edge - std::floor (edge) - 0.5L) > 1e-9L)
        fail_unless (before.x + before.w == int (std::llround (edge))
                         && behind.x == before.x + before.w,
                     "%d instead of %Lf", before.x + before.w, edge);
    }
    fail_unless (geometry.visible ().h <= original_height);
  }
}

/// Numbers that get too large, and impossible steps, are refused.
TEST (refusals)
{
  const FrameGeometry geometry (640, 480, 640, 480);
  for (const FrameStep &step : { FrameStep{ { 0, 0, 0, 480 }, { 0, 0, 10, 10 }, 10, 10 },
                                 FrameStep{ { 0, 0, 640, 480 }, { 0, 0, 10, -1 }, 10, 10 },
                                 FrameStep{ { 0, 0, 640, 480 }, { 10, 0, 10, 10 }, 10, 10 },
                                 FrameStep{ { 640, 0, 10, 10 }, { 0, 0, 10, 10 }, 10, 10 },
                                 FrameStep{ { 0, 0, 640, 480 }, { G_MININT, 0, 10, 10 }, 10, 10 },
                                 FrameStep{ { 0, 0, G_MAXINT, 480 }, { 0, 0, 10, 10 }, 10, 10 } })
    fail_unless (!geometry.after (step));
  // crops between scales by primes: the fractions grow until they fit no more
  std::optional<FrameGeometry> now = geometry;
  int steps = 0, size = 65521;
  for (; now && steps < 100; steps++) {
    const int next = size - 31;
    const FrameStep step{ { 0, 0, size - 7, size - 7 }, { 0, 0, next, next }, next, next };
    now = (steps == 0 ? FrameGeometry (size, size, size, size) : *now).after (step);
    size = next;
    if (now)
      fail_unless (now->visible ().w > 0 && now->visible ().w <= 65521);
  }
  fail_unless (steps > 3 && !now, "%d steps", steps);
}
