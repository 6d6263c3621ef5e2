// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tensor that an element with these settings must make of a frame: every element of the tensor,
// and the sums of rectangles.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gst/integralhist/gstintegralhist.h>

#include "frame_maker.hpp"
#include "pixel_sums.hpp"

struct Setup {
  bool tables;
  guint planes;
  std::string line, counter, strategy;
  bool limited;  // by max-device-memory
  guint interval;
  bool weighted = false, soft = false;  // weight=gradient, and soft=true

  GstIntegralHistogramContent content () const
  {
    return tables             ? GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS
           : weighted || soft ? GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS
                              : GST_INTEGRAL_HISTOGRAM_CONTENT_BINS;
  }
};

/// The amounts that a pixel adds to its bin, and to the next one.
struct Votes {
  guint bin, own, next;

  guint64 to (guint plane) const
  {
    return (plane == bin ? own : 0) + (plane == bin + 1 ? next : 0);
  }
};

/// Returns the votes of a pixel, by the length of the gradient or by one; with soft bins it lies
/// between the middles of two of them, in parts of 1/256.
inline Votes votes_of (const Picture &picture, const Setup &setup, int x, int y)
{
  const auto at = [&] (int column, int row) {
    column = std::clamp (column, 0, picture.width - 1);
    row = std::clamp (row, 0, picture.height - 1);
    return int (picture.values[gsize (row) * gsize (picture.width) + gsize (column)]);
  };
  const int value = at (x, y), bins = int (setup.planes);
  guint weight = setup.soft ? 256 : 1;
  if (setup.weighted)
    weight = guint (std::lround (
        8 * std::hypot (at (x + 1, y) - at (x - 1, y), at (x, y + 1) - at (x, y - 1))));
  if (!setup.soft)
    return { guint (value * bins / 256), weight, 0 };
  // in 512ths of a bin, from the first one's middle
  const int place = std::clamp ((2 * value + 1) * bins - 256, 0, 512 * (bins - 1));
  const guint next = (weight * guint (place % 512 / 2) + 128) >> 8;
  return { guint (place / 512), weight - next, next };
}

inline Sums add_votes (const Picture &picture, const Setup &setup, const GstVideoRectangle &r)
{
  Sums sums (setup.planes);
  const gint64 right = std::min<gint64> (gint64 (r.x) + r.w, picture.width),
               bottom = std::min<gint64> (gint64 (r.y) + r.h, picture.height);
  for (gint64 y = std::max (r.y, 0); y < bottom; y++)
    for (gint64 x = std::max (r.x, 0); x < right; x++) {
      const Votes votes = votes_of (picture, setup, int (x), int (y));
      sums[votes.bin] += votes.own;
      if (votes.next > 0)
        sums[votes.bin + 1] += votes.next;
    }
  return sums;
}

inline Sums add_up (const Picture &picture, const Setup &setup, const GstVideoRectangle &r)
{
  if (setup.content () == GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS)
    return add_votes (picture, setup, r);
  return setup.tables ? add_pixels (picture.values, picture.width, r, int (setup.planes))
                      : count_pixels (picture.values, picture.width, r, int (setup.planes));
}

/// Makes a rectangle in and about the frame.
inline GstVideoRectangle make_rectangle (const Picture &picture, Random &random)
{
  if (random.with (0.1))
    return { random.one_of ({ G_MININT, -1, 0, G_MAXINT }),
             random.one_of ({ G_MININT, 0, G_MAXINT }), G_MAXINT, random.one_of ({ 1, G_MAXINT }) };
  return { random.between (-5, picture.width), random.between (-5, picture.height),
           random.between (1, picture.width + 9), random.between (1, picture.height + 9) };
}

inline void check_every_element (GstIntegralHistogram *histogram, const Picture &picture,
                                 const Setup &setup)
{
  g_autoptr (GError) error = nullptr;
  g_autoptr (GstBuffer) buffer = gst_integral_histogram_get_buffer (histogram, &error);
  REQUIRE (buffer, "%s", error->message);
  GstMapInfo map;
  REQUIRE (gst_buffer_map (buffer, &map, GST_MAP_READ), "the tensor cannot be mapped");
  const gsize row_pitch = gst_integral_histogram_get_row_pitch (histogram),
              plane_pitch = gst_integral_histogram_get_plane_pitch (histogram);
  const bool tiled = setup.counter == "u8-tiled", narrow = !tiled && setup.counter != "u32";
  const bool weights = setup.content () == GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS;
  for (guint plane = 0; plane < setup.planes; plane++) {
    std::vector<guint32> above (gsize (picture.width));
    for (int y = 0; y < picture.height; y++) {
      guint32 so_far = 0;
      const guint8 *const row = map.data + plane * plane_pitch + gsize (y) * row_pitch;
      for (int x = 0; x < picture.width; x++) {
        const guint32 value = picture.values[gsize (y) * gsize (picture.width) + gsize (x)];
        so_far += weights         ? guint32 (votes_of (picture, setup, x, y).to (plane))
                  : !setup.tables ? value * setup.planes / 256 == plane
                  : plane == 0    ? value
                                  : value * value;
        above[gsize (x)] += so_far;
        const guint32 element =
            tiled    ? gst_integral_histogram_get_element (histogram, map.data, plane, x, y)
            : narrow ? reinterpret_cast<const guint16 *> (row)[x]
                     : reinterpret_cast<const guint32 *> (row)[x];
        REQUIRE (element == (narrow ? above[gsize (x)] & 0xffff : above[gsize (x)]),
                 "element %d,%d of plane %u is %u instead of %u", x, y, plane, element,
                 above[gsize (x)]);
      }
    }
  }
  gst_buffer_unmap (buffer, &map);
}

inline void check_histogram (GstIntegralHistogram *histogram, const Picture &picture,
                             const Setup &setup, Random &random)
{
  REQUIRE (int (gst_integral_histogram_get_width (histogram)) == picture.width
               && int (gst_integral_histogram_get_height (histogram)) == picture.height,
           "the tensor has %ux%u", gst_integral_histogram_get_width (histogram),
           gst_integral_histogram_get_height (histogram));
  std::vector<GstVideoRectangle> rectangles = { { 0, 0, picture.width, picture.height } };
  for (int i = random.between (0, 3); i > 0; i--)
    rectangles.push_back (make_rectangle (picture, random));
  Sums answers (rectangles.size () * setup.planes);
  g_autoptr (GError) error = nullptr;
  REQUIRE (gst_integral_histogram_regions_sums (
               histogram, rectangles.data (), guint (rectangles.size ()), answers.data (), &error),
           "%s", error->message);
  for (gsize i = 0; i < rectangles.size (); i++) {
    const GstVideoRectangle &r = rectangles[i];
    const Sums truth = add_up (picture, setup, r);
    for (guint p = 0; p < setup.planes; p++)
      REQUIRE (answers[i * setup.planes + p] == truth[p],
               "plane %u of %d,%d,%d,%d is %" G_GUINT64_FORMAT " instead of %" G_GUINT64_FORMAT, p,
               r.x, r.y, r.w, r.h, answers[i * setup.planes + p], truth[p]);
  }
  const bool weights = setup.content () == GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS;
  if (picture.values.size () * setup.planes < (weights ? 100000 : 400000))
    check_every_element (histogram, picture, setup);
}

/// The regions of a frame in the form of the property, and whether all of them lie in the frame.
struct Regions {
  std::string text;
  std::vector<GstVideoRectangle> rectangles;
  bool inside = true;
};

inline Regions make_regions (const Picture &picture, Random &random)
{
  Regions regions;
  for (int i = random.between (1, 3); i > 0; i--) {
    const GstVideoRectangle r = make_rectangle (picture, random);
    regions.text += format ("%d,%d,%d,%d;", r.x, r.y, r.w, r.h);
    regions.rectangles.push_back (r);
    regions.inside &= gint64 (r.x) + r.w > 0 && gint64 (r.y) + r.h > 0 && r.x < picture.width
                      && r.y < picture.height;
  }
  return regions;
}
