// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames that integralhistoverlay draws on, in a harness.
#pragma once

#include <gst/integralhist/gstintegralhist.h>

#include "alone.hpp"

struct Rgb {
  double r, g, b;  // 0 to 255
};

constexpr Rgb kWhite = { 255, 255, 255 },
              kBlue = { 87, 181, 232 };  // of regions, and of whatever has the id 1
constexpr int kLine = 2, kSeam = 1;

/// BT.709 in video range.
inline std::array<double, 3> yuv (const Rgb &c)
{
  return { 16 + (0.2126 * c.r + 0.7152 * c.g + 0.0722 * c.b) * 219 / 255,
           128 + (-0.1146 * c.r - 0.3854 * c.g + 0.5 * c.b) * 224 / 255,
           128 + (0.5 * c.r - 0.4542 * c.g - 0.0458 * c.b) * 224 / 255 };
}

inline GstVideoRegionOfInterestMeta *add_roi (GstBuffer *buffer, const char *type, int id,
                                              const GstVideoRectangle &r)
{
  auto *roi = gst_buffer_add_video_region_of_interest_meta (buffer, type, guint (r.x), guint (r.y),
                                                            guint (r.w), guint (r.h));
  roi->id = id;
  return roi;
}

inline void add_confidence (GstVideoRegionOfInterestMeta *roi, double confidence)
{
  gst_video_region_of_interest_meta_add_param (
      roi, gst_structure_new ("track", "confidence", G_TYPE_DOUBLE, confidence, nullptr));
}

/// The element with nothing but outlines, unless `properties` says more, and the frames that go
/// through it.
class Overlay : public Alone {
public:
  /// `before` is the part of the pipeline before the overlay.
  Overlay (const std::string &properties, const std::string &caps, const std::string &before = "")
      : Alone (before + "integralhistoverlay labels=false histograms=false trail=0 line-width=2 "
                   + properties,
               "", "integralhistoverlay")
  {
    set_caps (caps);
  }

  void set_caps (const std::string &caps)
  {
    info = info_of (caps);
    Harness::set_caps (caps);
  }

  /// A frame of one byte.
  GstBuffer *even (guint8 byte) const { return ::even (info, byte); }

  std::vector<guint8> bytes (GstBuffer *buffer)
  {
    g_autoptr (GstBuffer) out = pass (buffer);
    const auto bytes = bytes_of (out);
    return bytes;
  }

  /// Tells whether the frame comes out as it went in, although it is not writable.
  bool leaves_alone (GstBuffer *buffer)
  {
    const auto before = bytes_of (buffer);
    GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
    gst_buffer_ref (buffer);
    g_autoptr (GstBuffer) out = pass (buffer);
    const bool alone =
        out == buffer && gst_buffer_peek_memory (out, 0) == memory && bytes_of (out) == before;
    gst_buffer_unref (buffer);
    return alone;
  }

  GstVideoInfo info;
};
