// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the tests of the elements share: backends, frames of noise in every format, and what the
// luma of their pixels is. The truth comes from the format's own unpack function of GstVideo.
#pragma once

#include <array>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "test.hpp"  // last: it has macros with names of the standard library
#include <gst/check/gstharness.h>
#include <gst/video/video.h>

#include "formats.hpp"

constexpr const char *kBackends[] = { "cpu", "cuda" };
constexpr const char *kElements[] = { "cudaintegralhist", "cudaintegralimage" };

/// Tells whether the backend starts here.
inline bool starts (const char *backend)
{
  GstElement *element = gst_element_factory_make ("cudaintegralhist", nullptr);
  fail_unless (element);
  gst_util_set_object_arg (G_OBJECT (element), "backend", backend);
  const bool works = gst_element_set_state (element, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
  gst_element_set_state (element, GST_STATE_NULL);
  gst_object_unref (element);
  return works;
}

/// Tells the same, loudly.
inline bool have (const char *backend)
{
  const bool works = starts (backend);
  if (!works)
    printf ("SKIP: element on %s: no device\n", backend);
  return works;
}

/// A harness over an element with properties as in a launch line.
inline GstHarness *harness (const std::string &line, const char *caps)
{
  GstHarness *h = gst_harness_new_parse (line.c_str ());
  if (caps)
    gst_harness_set_src_caps_str (h, caps);
  return h;
}

inline std::string caps_of (const char *format, int width, int height, const std::string &more = "")
{
  return std::string ("video/x-raw,framerate=25/1,format=") + format
         + ",width=" + std::to_string (width) + ",height=" + std::to_string (height) + more;
}

inline GstVideoInfo info_of (const std::string &text)
{
  GstVideoInfo info;
  g_autoptr (GstCaps) caps = gst_caps_from_string (text.c_str ());
  fail_unless (gst_video_info_from_caps (&info, caps), "%s", text.c_str ());
  return info;
}

/// Makes a buffer a gap without a picture.
inline void empty (GstBuffer *buffer)
{
  gst_buffer_remove_all_memory (buffer);
  GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_GAP);
}

inline GstBuffer *noise (const GstVideoInfo &info, unsigned seed)
{
  GstBuffer *buffer = gst_buffer_new_allocate (nullptr, info.size, nullptr);
  GstMapInfo map;
  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  std::mt19937 random (seed);
  for (gsize i = 0; i < map.size; i++)
    map.data[i] = guint8 (random ());
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

/// The luma of each pixel: unpacked to 16 bits by GstVideo where the format is deeper than 8, and
/// weighted in floating point where it is RGB.
inline std::vector<guint8> luma (const GstVideoInfo &info, GstBuffer *buffer, double kr, double kb)
{
  GstVideoFrame frame;
  fail_unless (gst_video_frame_map (&frame, &info, buffer, GST_MAP_READ));
  const GstVideoFormatInfo *unpacked = gst_video_format_get_info (info.finfo->unpack_format);
  const bool deep = unpacked->depth[0] == 16;
  std::vector<guint16> line (4 * info.width);
  std::vector<guint8> values;
  for (int y = 0; y < info.height; y++) {
    info.finfo->unpack_func (info.finfo, GST_VIDEO_PACK_FLAG_NONE, line.data (), frame.data,
                             frame.info.stride, 0, y, info.width);
    for (int x = 0; x < info.width; x++) {
      std::array<int, 4> c;  // A, then Y U V or R G B, top 8 bits
      for (int i = 0; i < 4; i++)
        c[i] = deep ? line[4 * x + i] >> 8
                    : reinterpret_cast<const guint8 *> (line.data ())[4 * x + i];
      values.push_back (guint8 (GST_VIDEO_INFO_IS_RGB (&info) ? std::floor (
                                    kr * c[1] + (1 - kr - kb) * c[2] + kb * c[3] + 0.5)
                                                              : c[1]));
    }
  }
  gst_video_frame_unmap (&frame);
  return values;
}

/// The documented formula for RGB, from 8-bit components.
inline double rounded_weight (double k)
{
  return std::round (k * 65536) / 65536;
}

struct Colorimetry {
  const char *caps;
  double kr, kb;
};

/// Noise in every format, in even and odd sizes, with and without a colorimetry; `check` gets the
/// caps, the frame (to keep), and its luma.
template <class Check>
void each_format (Check &&check)
{
  for (const char *format : kFormats)
    for (const auto &[width, height] :
         { std::array{ 64, 48 }, std::array{ 37, 23 }, std::array{ 1, 1 } })
      for (const Colorimetry &colorimetry :
           { Colorimetry{ "", 0.2126, 0.0722 },
             Colorimetry{ ",colorimetry=1:1:16:4", 0.299, 0.114 } }) {
        GstVideoInfo info;
        g_autofree char *text =
            g_strdup_printf ("video/x-raw,format=%s,width=%d,height=%d,framerate=25/1%s", format,
                             width, height, colorimetry.caps);
        g_autoptr (GstCaps) caps = gst_caps_from_string (text);
        fail_unless (gst_video_info_from_caps (&info, caps), "%s", text);
        GstBuffer *in = noise (info, unsigned (width));
        const auto values =
            luma (info, in, rounded_weight (colorimetry.kr), rounded_weight (colorimetry.kb));
        check (text, in, values);
      }
}
