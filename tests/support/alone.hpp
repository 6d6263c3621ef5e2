// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Elements in a harness with a bus of its own, and frames whose GstVideoMeta says more than their
// caps.
#pragma once

#include <cstring>

#include <gst/integralhist/gstintegralhist.h>

#include "frames.hpp"

/// The elements of a launch line; `factory` names the kind of the element that `set ()` changes.
class Alone : public Harness {
public:
  explicit Alone (const std::string &line, const std::string &caps = "", const char *factory = "")
      : Harness (line, caps), factory_ (factory)
  {
  }

  /// (transfer full) both ways
  GstBuffer *pass (GstBuffer *buffer) { return Harness::pass (buffer).release (); }

  /// A frame that must fail, and the text of its only error. (transfer full)
  std::string refusal (GstBuffer *buffer, const std::string &what, GQuark domain = GST_STREAM_ERROR,
                       int code = GST_STREAM_ERROR_FORMAT)
  {
    printf ("%s\n", what.c_str ());
    return error_of (buffer, domain, code);
  }

  template <class... Property>
  void set (Property... property)
  {
    set_of (factory_, property...);
  }
  void set_text (const char *property, const char *value)
  {
    set_text_of (factory_, property, value);
  }

  /// Fails unless a setting is an error with these parts at the start, and a warning with the same
  /// text while frames pass, after which the old value stays. If `at_start` is false, it must be an
  /// error at the next frame.
  void expect_wrong_setting (const char *property, const char *value, GstBuffer *frame,
                             std::initializer_list<std::string> parts, bool at_start = true)
  {
    const std::string what = std::string (property) + "=" + value;
    g_autoptr (GstElement) fresh = gst_element_factory_make (factory_, nullptr);
    gst_util_set_object_arg (G_OBJECT (fresh), property, value);
    const std::string early = settings_error (fresh);
    fail_unless (early.empty () != at_start, "%s: %s", what.c_str (), early.c_str ());
    g_autoptr (GstElement) element = gst_harness_find_element (get (), factory_);
    const std::string before = text_of (G_OBJECT (element), property);
    set_text (property, value);
    if (!at_start) {
      expect_parts (error_of (frame, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS), parts, what);
      return;
    }
    expect_parts (early, parts, what);
    fail_unless (text_of (G_OBJECT (element), property) == before, "%s is taken", what.c_str ());
    const auto said = warnings ();
    fail_unless (
        said.size () == 1
            && said[0] == early + " Until then the property " + property + " stays " + before + ".",
        "%s: %zu warnings, %s", what.c_str (), said.size (), said.empty () ? "" : said[0].c_str ());
    gst_buffer_unref (pass (frame));
  }

private:
  const char *const factory_;
};

/// Describes pictures whose rows have bytes around them.
inline GstVideoInfo padded_info (const char *format, int width, int height)
{
  GstVideoInfo info;
  gst_video_info_set_format (&info, gst_video_format_from_string (format), guint (width),
                             guint (height));
  GstVideoAlignment alignment;
  gst_video_alignment_reset (&alignment);
  alignment.padding_left = 16;
  alignment.padding_right = 55;
  alignment.padding_top = 2;
  alignment.padding_bottom = 4;
  fail_unless (gst_video_info_align (&info, &alignment));
  return info;
}

/// Noise with a GstVideoMeta.
inline GstBuffer *padded_noise (const GstVideoInfo &info, unsigned seed)
{
  GstBuffer *const buffer = noise (info, seed);
  GstVideoInfo copy = info;
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT (&info),
                                  guint (info.width), guint (info.height),
                                  GST_VIDEO_INFO_N_PLANES (&info), copy.offset, copy.stride);
  return buffer;
}

inline void crop (GstBuffer *buffer, guint x, guint y, guint width, guint height)
{
  GstVideoCropMeta *const meta = gst_buffer_add_video_crop_meta (buffer);
  meta->x = x;
  meta->y = y;
  meta->width = width;
  meta->height = height;
}

inline void crop (GstBuffer *buffer, const GstVideoRectangle &r)
{
  crop (buffer, guint (r.x), guint (r.y), guint (r.w), guint (r.h));
}
