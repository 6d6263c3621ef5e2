// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a tensor of a frame must hold, by an element with these settings: every element of it, and
// what rectangles add up to.
#pragma once

#include <algorithm>
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
};

inline Sums add_up (const Picture &picture, const Setup &setup, const GstVideoRectangle &r)
{
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
  for (guint plane = 0; plane < setup.planes; plane++) {
    std::vector<guint32> above (gsize (picture.width));
    for (int y = 0; y < picture.height; y++) {
      guint32 so_far = 0;
      const guint8 *const row = map.data + plane * plane_pitch + gsize (y) * row_pitch;
      for (int x = 0; x < picture.width; x++) {
        const guint32 value = picture.values[gsize (y) * gsize (picture.width) + gsize (x)];
        so_far += !setup.tables ? value * setup.planes / 256 == plane
                  : plane == 0  ? value
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
  if (picture.values.size () * setup.planes < 400000)
    check_every_element (histogram, picture, setup);
}

/// The regions of a frame as the property has them, and whether all are in it.
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
