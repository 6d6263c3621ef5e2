// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Elements in a harness with a bus of its own, and frames whose GstVideoMeta says more than their
// caps.
#pragma once

#include <cstring>

#include <gst/integralhist/gstintegralhist.h>

#include "frames.hpp"

/// One or more elements, as in a launch line.
class Alone {
public:
  Alone (const std::string &line, const std::string &caps)
      : harness_ (gst_harness_new_parse (line.c_str ())), bus_ (gst_bus_new ())
  {
    gst_element_set_bus (harness_->element, bus_);
    gst_harness_set_src_caps_str (harness_, caps.c_str ());
  }
  ~Alone ()
  {
    gst_element_set_bus (harness_->element, nullptr);
    gst_harness_teardown (harness_);
    gst_object_unref (bus_);
  }
  Alone (const Alone &) = delete;
  Alone &operator= (const Alone &) = delete;

  GstHarness *get () const { return harness_; }

  /// The next message of these types; null where there is none. (transfer full)
  GstMessage *message (int types) { return gst_bus_pop_filtered (bus_, GstMessageType (types)); }

  /// Empty where there is none; else it must be of this kind.
  std::string error (GQuark domain, int code)
  {
    GstMessage *const message = this->message (GST_MESSAGE_ERROR);
    if (!message)
      return "";
    g_autoptr (GError) error = nullptr;
    gst_message_parse_error (message, &error, nullptr);
    gst_message_unref (message);
    fail_unless (g_error_matches (error, domain, code), "another kind of error: %s",
                 error->message);
    return error->message;
  }

  /// (transfer full) both ways
  GstBuffer *pass (GstBuffer *buffer)
  {
    const GstFlowReturn flow = gst_harness_push (harness_, buffer);
    GstMessage *const message = flow == GST_FLOW_OK ? nullptr : this->message (GST_MESSAGE_ERROR);
    g_autoptr (GError) error = nullptr;
    if (message)
      gst_message_parse_error (message, &error, nullptr);
    fail_unless (flow == GST_FLOW_OK, "%s: %s", gst_flow_get_name (flow),
                 error ? error->message : "");
    return gst_harness_pull (harness_);
  }

  /// A frame that must fail, and the text of its only error. (transfer full)
  std::string refusal (GstBuffer *buffer, const std::string &what, GQuark domain = GST_STREAM_ERROR,
                       int code = GST_STREAM_ERROR_FORMAT)
  {
    const GstFlowReturn flow = gst_harness_push (harness_, buffer);
    fail_unless (flow == GST_FLOW_ERROR, "%s: %s instead of an error", what.c_str (),
                 gst_flow_get_name (flow));
    const std::string text = error (domain, code);
    fail_unless (!text.empty (), "%s: no error is posted", what.c_str ());
    fail_unless (error (domain, code).empty (), "%s: a second error", what.c_str ());
    return text;
  }

private:
  GstHarness *const harness_;
  GstBus *const bus_;
};

/// The rows of such pictures have bytes around them.
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
