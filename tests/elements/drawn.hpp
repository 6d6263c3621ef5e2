// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames that integralhistoverlay draws on, in a harness.
#pragma once

#include <gst/integralhist/gstintegralhist.h>

#include "frames.hpp"

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

inline std::vector<guint8> bytes_of (GstBuffer *buffer)
{
  GstMapInfo map;
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  std::vector<guint8> bytes (map.data, map.data + map.size);
  gst_buffer_unmap (buffer, &map);
  return bytes;
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
class Overlay {
public:
  Overlay (const std::string &properties, const std::string &caps) : Overlay (properties, caps, "")
  {
  }
  /// Puts the overlay behind another element.
  Overlay (const std::string &properties, const std::string &caps, const std::string &before)
      : harness_ (harness (
          before + "integralhistoverlay labels=false histograms=false trail=0 line-width=2 "
              + properties,
          nullptr)),
        bus_ (gst_bus_new ())
  {
    gst_element_set_bus (harness_->element, bus_);
    set_caps (caps);
  }
  ~Overlay ()
  {
    gst_element_set_bus (harness_->element, nullptr);
    gst_object_unref (bus_);
    gst_harness_teardown (harness_);
  }
  Overlay (const Overlay &) = delete;
  Overlay &operator= (const Overlay &) = delete;

  void set_caps (const std::string &caps)
  {
    info = info_of (caps);
    gst_harness_set_src_caps_str (harness_, caps.c_str ());
  }

  /// A frame of one byte.
  GstBuffer *even (guint8 byte) const
  {
    GstBuffer *buffer = gst_buffer_new_allocate (nullptr, info.size, nullptr);
    gst_buffer_memset (buffer, 0, byte, info.size);
    return buffer;
  }

  /// (transfer full) both ways
  GstBuffer *pass (GstBuffer *buffer)
  {
    const GstFlowReturn flow = gst_harness_push (harness_, buffer);
    fail_unless (flow == GST_FLOW_OK, "%s: %s", gst_flow_get_name (flow), error ().c_str ());
    return gst_harness_pull (harness_);
  }

  std::vector<guint8> bytes (GstBuffer *buffer)
  {
    GstBuffer *out = pass (buffer);
    const auto bytes = bytes_of (out);
    gst_buffer_unref (out);
    return bytes;
  }

  /// Tells whether the frame comes out as it went in, although it is not writable.
  bool leaves_alone (GstBuffer *buffer)
  {
    const auto before = bytes_of (buffer);
    GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
    gst_buffer_ref (buffer);
    GstBuffer *out = pass (buffer);
    const bool alone =
        out == buffer && gst_buffer_peek_memory (out, 0) == memory && bytes_of (out) == before;
    gst_buffer_unref (out);
    gst_buffer_unref (buffer);
    return alone;
  }

  /// The only error of a frame that fails.
  std::string error_of (GstBuffer *buffer)
  {
    fail_unless_equals_int (gst_harness_push (harness_, buffer), GST_FLOW_ERROR);
    const std::string text = error ();
    fail_unless (error ().empty (), "a second error after %s", text.c_str ());
    return text;
  }

  template <class... Property>
  void set (Property... property)
  {
    GstElement *element = gst_harness_find_element (harness_, "integralhistoverlay");
    g_object_set (element, property..., nullptr);
    gst_object_unref (element);
  }

  GstHarness *get () const { return harness_; }

  GstVideoInfo info;

private:
  std::string error ()
  {
    GstMessage *message = gst_bus_pop_filtered (bus_, GST_MESSAGE_ERROR);
    if (!message)
      return "";
    g_autoptr (GError) error = nullptr;
    gst_message_parse_error (message, &error, nullptr);
    gst_message_unref (message);
    return error->message;
  }

  GstHarness *const harness_;
  GstBus *const bus_;
};
