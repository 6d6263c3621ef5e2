// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Helpers of the element tests: backends, frames of noise in every format, and the luma of their
// pixels. The truth comes from the format's own unpack function of GstVideo.
#pragma once

#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "test.hpp"  // last: it has macros with names of the standard library
#include <gst/check/gstharness.h>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/video/video.h>

#include "formats.hpp"

constexpr const char *kBackends[] = { "cpu", "cuda" };
constexpr const char *kElements[] = { "cudaintegralhist", "cudaintegralimage" };

/// Tells whether the backend starts here.
inline bool starts (const char *backend)
{
  g_autoptr (GstElement) element = gst_element_factory_make ("cudaintegralhist", nullptr);
  fail_unless (element);
  gst_util_set_object_arg (G_OBJECT (element), "backend", backend);
  const bool works = gst_element_set_state (element, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
  gst_element_set_state (element, GST_STATE_NULL);
  return works;
}

/// Returns whether the backend starts here, and prints it if not.
inline bool have (const char *backend)
{
  const bool works = starts (backend);
  if (!works)
    printf ("SKIP: element on %s: no device\n", backend);
  return works;
}

/// A test on each available `backend`. BACKEND_TEST_FROM (name, 1) leaves out the CPU, number 0.
#define BACKEND_TEST(name) BACKEND_TEST_FROM (name, 0)
#define BACKEND_TEST_FROM(name, first) \
  static void name##_on (const char *backend); \
  TEST_RANGE (name, first, std::size (kBackends)) \
  { \
    if (have (kBackends[__i__])) \
      name##_on (kBackends[__i__]); \
  } \
  static void name##_on ([[maybe_unused]] const char *backend)

/// Gives back a reference.
struct Unref {
  void operator() (GstBuffer *buffer) const { gst_buffer_unref (buffer); }
  void operator() (GstSample *sample) const { gst_sample_unref (sample); }
  void operator() (GstQuery *query) const { gst_query_unref (query); }
  void operator() (GstIntegralHistogram *histogram) const
  {
    gst_integral_histogram_unref (histogram);
  }
};
using Buffer = std::unique_ptr<GstBuffer, Unref>;
using Sample = std::unique_ptr<GstSample, Unref>;
using Histogram = std::unique_ptr<GstIntegralHistogram, Unref>;

inline GstIntegralHistogram *histogram_of (GstBuffer *buffer)
{
  GstIntegralHistogramMeta *const meta = gst_buffer_get_integral_histogram_meta (buffer);
  fail_unless (meta, "a frame has no meta");
  return meta->histogram;
}
inline GstIntegralHistogram *histogram_of (const Buffer &buffer)
{
  return histogram_of (buffer.get ());
}

inline std::string text_of (GstMessage *warning)
{
  g_autoptr (GError) error = nullptr;
  gst_message_parse_warning (warning, &error, nullptr);
  return error->message;
}

/// The texts of the warnings on a bus, which it then has no more.
inline std::vector<std::string> warnings_of (GstBus *bus)
{
  std::vector<std::string> warnings;
  while (GstMessage *const message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING)) {
    warnings.push_back (text_of (message));
    gst_message_unref (message);
  }
  return warnings;
}

/// The value of a property as a text, with quotes if it is a string.
inline std::string text_of (GObject *object, const char *property)
{
  GValue value = G_VALUE_INIT;
  g_object_get_property (object, property, &value);
  g_autofree gchar *text =
      G_VALUE_HOLDS_STRING (&value)   ? g_strdup_printf ("\"%s\"", g_value_get_string (&value))
      : G_VALUE_HOLDS_DOUBLE (&value) ? g_strdup_printf ("%g", g_value_get_double (&value))
                                      : gst_value_serialize (&value);
  g_value_unset (&value);
  return text;
}

/// A number of an element's `stats`.
inline guint64 stat_of (GstElement *element, const char *field)
{
  g_autoptr (GstStructure) stats = nullptr;
  g_object_get (element, "stats", &stats, nullptr);
  guint64 value = 0;
  fail_unless (gst_structure_get_uint64 (stats, field, &value), "no %s in stats", field);
  return value;
}

/// A harness with a bus, of the elements of a launch line.
class Harness {
public:
  explicit Harness (const std::string &line, const std::string &caps = "")
      : harness_ (gst_harness_new_parse (line.c_str ())), bus_ (gst_bus_new ())
  {
    gst_element_set_bus (harness_->element, bus_);
    if (!caps.empty ())
      set_caps (caps);
  }
  ~Harness ()
  {
    gst_element_set_bus (harness_->element, nullptr);
    gst_harness_teardown (harness_);
    gst_object_unref (bus_);
  }
  Harness (const Harness &) = delete;
  Harness &operator= (const Harness &) = delete;

  GstHarness *get () const { return harness_; }
  operator GstHarness * () const { return harness_; }
  GstHarness *operator->() const { return harness_; }

  void set_caps (const std::string &caps)
  {
    gst_harness_set_src_caps_str (harness_, caps.c_str ());
  }

  /// Sets properties of the element of this kind.
  template <class... Property>
  void set_of (const char *factory, Property... property)
  {
    g_autoptr (GstElement) element = gst_harness_find_element (harness_, factory);
    g_object_set (element, property..., nullptr);
  }
  void set_text_of (const char *factory, const char *property, const char *value)
  {
    g_autoptr (GstElement) element = gst_harness_find_element (harness_, factory);
    gst_util_set_object_arg (G_OBJECT (element), property, value);
  }

  /// A number of the stats of the element of this kind.
  guint64 stat_of (const char *factory, const char *field) const
  {
    g_autoptr (GstElement) element = gst_harness_find_element (harness_, factory);
    return ::stat_of (element, field);
  }

  /// The next message of these types; null if it does not come in time. (transfer full)
  GstMessage *message (int types = GST_MESSAGE_ELEMENT, GstClockTime timeout = 0)
  {
    return gst_bus_timed_pop_filtered (bus_, timeout, GstMessageType (types));
  }

  /// The text of the next error, or nothing. It must be of this kind, if one is given.
  std::string error (GQuark domain = 0, int code = 0)
  {
    g_autoptr (GstMessage) message = this->message (GST_MESSAGE_ERROR);
    if (!message)
      return "";
    g_autoptr (GError) error = nullptr;
    gst_message_parse_error (message, &error, nullptr);
    fail_unless (domain == 0 || g_error_matches (error, domain, code), "another kind of error: %s",
                 error->message);
    return error->message;
  }

  std::vector<std::string> warnings () { return warnings_of (bus_); }

  /// Passes a buffer and returns the output. (transfer full)
  Buffer pass (GstBuffer *buffer)
  {
    const GstFlowReturn flow = gst_harness_push (harness_, buffer);
    fail_unless (flow == GST_FLOW_OK, "%s: %s", gst_flow_get_name (flow), error ().c_str ());
    return Buffer (gst_harness_pull (harness_));
  }

  /// The only error of a frame that fails. (transfer full)
  std::string error_of (GstBuffer *buffer, GQuark domain = 0, int code = 0)
  {
    const GstFlowReturn flow = gst_harness_push (harness_, buffer);
    fail_unless (flow == GST_FLOW_ERROR, "%s instead of an error", gst_flow_get_name (flow));
    const std::string text = error (domain, code);
    fail_unless (!text.empty (), "no error is posted");
    fail_unless (error ().empty (), "a second error after %s", text.c_str ());
    return text;
  }

  void push_segment (GstClockTime start = 0)
  {
    GstSegment segment;
    gst_segment_init (&segment, GST_FORMAT_TIME);
    segment.start = segment.time = start;
    gst_harness_push_event (harness_, gst_event_new_segment (&segment));
  }

  /// Flushes, and begins a new segment.
  void flush ()
  {
    gst_harness_push_event (harness_, gst_event_new_flush_start ());
    gst_harness_push_event (harness_, gst_event_new_flush_stop (TRUE));
    push_segment ();
  }

private:
  GstHarness *const harness_;
  GstBus *const bus_;
};

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

inline GstVideoInfo gray (int width, int height)
{
  return info_of (caps_of ("GRAY8", width, height));
}

/// Returns the names of an element's own properties. Each has a nick, a blurb and its default
/// value, and can be set while the element plays.
inline std::set<std::string> live_properties (const char *element_name)
{
  g_autoptr (GstElement) element = gst_element_factory_make (element_name, nullptr);
  guint n;
  g_autofree GParamSpec **specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);
  std::set<std::string> names;
  for (guint i = 0; i < n; i++) {
    if (specs[i]->owner_type != G_OBJECT_TYPE (element))
      continue;
    names.insert (specs[i]->name);
    fail_unless (strlen (g_param_spec_get_nick (specs[i])) > 0
                 && strlen (g_param_spec_get_blurb (specs[i])) > 10);
    fail_unless (specs[i]->flags & GST_PARAM_MUTABLE_PLAYING, "%s", specs[i]->name);
    GValue value = G_VALUE_INIT;
    g_object_get_property (G_OBJECT (element), specs[i]->name, &value);
    fail_unless (g_param_value_defaults (specs[i], &value), "%s", specs[i]->name);
    g_value_unset (&value);
  }
  return names;
}

/// The only error of an element that its settings keep from starting; empty if it starts.
inline std::string settings_error (GstElement *element)
{
  g_autoptr (GstBus) bus = gst_bus_new ();
  gst_element_set_bus (element, bus);
  const bool fails = gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE;
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless_equals_int (message != nullptr, fails);
  g_autoptr (GError) error = nullptr;
  if (message) {
    gst_message_parse_error (message, &error, nullptr);
    fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS), "%s",
                 error->message);
    fail_unless (!gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR), "two errors: %s", error->message);
  }
  gst_element_set_bus (element, nullptr);
  gst_element_set_state (element, GST_STATE_NULL);
  return error ? error->message : "";
}

/// The metas of a buffer that are of this API.
template <class Meta>
std::vector<Meta *> all_metas (GstBuffer *buffer, GType api)
{
  std::vector<Meta *> metas;
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered (buffer, &state, api))
    metas.push_back (reinterpret_cast<Meta *> (meta));
  return metas;
}
inline auto rois_of (GstBuffer *buffer)
{
  return all_metas<GstVideoRegionOfInterestMeta> (buffer,
                                                  GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
}
inline auto histograms_of (GstBuffer *buffer)
{
  return all_metas<GstIntegralHistogramMeta> (buffer, GST_INTEGRAL_HISTOGRAM_META_API_TYPE);
}

/// Rectangles for questions about a frame of 40x30 pixels, and their parts inside the frame.
constexpr struct {
  GstVideoRectangle asked, clipped;
} kClipped[] = {
  { { -5, -5, 10, 10 }, { 0, 0, 5, 5 } },
  { { 35, 25, 100, 100 }, { 35, 25, 5, 5 } },
  { { 3, 3, 0, 5 }, { 0, 0, 0, 0 } },
  { { 40, 0, 1, 1 }, { 0, 0, 0, 0 } },
  { { 5, 5, -3, 4 }, { 0, 0, 0, 0 } },
  { { G_MININT, G_MININT, G_MAXINT, G_MAXINT }, { 0, 0, 0, 0 } },
  { { 10, 10, G_MAXINT, G_MAXINT }, { 10, 10, 30, 20 } },
};

/// Makes a buffer a gap without a picture.
inline void empty (GstBuffer *buffer)
{
  gst_buffer_remove_all_memory (buffer);
  GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_GAP);
}

/// A frame of bytes of one value.
inline GstBuffer *even (const GstVideoInfo &info, guint8 value)
{
  GstBuffer *const buffer = gst_buffer_new_allocate (nullptr, info.size, nullptr);
  gst_buffer_memset (buffer, 0, value, info.size);
  return buffer;
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

inline std::vector<guint8> bytes_of (GstBuffer *buffer)
{
  GstMapInfo map;
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  std::vector<guint8> bytes (map.data, map.data + map.size);
  gst_buffer_unmap (buffer, &map);
  return bytes;
}

/// Checks that a question of these arguments is answered.
template <class Question, class... Arguments>
void expect_answer (Question &&question, Arguments... arguments)
{
  g_autoptr (GError) error = nullptr;
  const bool answered = question (arguments..., &error);
  fail_unless (answered == !error);
  fail_unless (answered, "%s", error ? error->message : "");
}

/// A copy of a histogram's tensor, or of its tables.
struct TensorCopy {
  explicit TensorCopy (GstIntegralHistogram *histogram, const std::string &what = "")
      : row_pitch (gst_integral_histogram_get_row_pitch (histogram)),
        plane_pitch (gst_integral_histogram_get_plane_pitch (histogram)),
        is_narrow (gst_integral_histogram_get_counter (histogram)
                   == GST_INTEGRAL_HISTOGRAM_COUNTER_U16)
  {
    g_autoptr (GError) error = nullptr;
    g_autoptr (GstBuffer) buffer = gst_integral_histogram_get_buffer (histogram, &error);
    fail_unless (buffer, "%s: %s", what.c_str (), error ? error->message : "");
    bytes = bytes_of (buffer);
    fail_unless_equals_uint64 (bytes.size (),
                               plane_pitch * gst_integral_histogram_get_bins (histogram));
  }

  /// Returns an element; tensors of tiles have another layout.
  guint32 at (guint plane, int x, int y) const
  {
    const guint8 *const row = &bytes[plane * plane_pitch + gsize (y) * row_pitch];
    return is_narrow ? reinterpret_cast<const guint16 *> (row)[x]
                     : reinterpret_cast<const guint32 *> (row)[x];
  }

  const gsize row_pitch, plane_pitch;
  const bool is_narrow;
  std::vector<guint8> bytes;
};

/// The luma of each pixel: unpacked to 16 bits by GstVideo if the format is deeper than 8 bits, and
/// weighted in floating point if the format is RGB.
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

/// A frame of gray noise, and the output of a launch line for it.
struct GrayNoise {
  GrayNoise (const std::string &line, int width, int height, unsigned seed = 1)
      : harness (line, caps_of ("GRAY8", width, height))
  {
    const GstVideoInfo info = gray (width, height);
    GstBuffer *const in = noise (info, seed);
    values = luma (info, in, 0, 0);
    buffer = harness.pass (in);
    histogram = histogram_of (buffer);
  }

  Harness harness;
  std::vector<guint8> values;
  Buffer buffer;
  GstIntegralHistogram *histogram;
};

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
        const std::string caps = caps_of (format, width, height, colorimetry.caps);
        const GstVideoInfo info = info_of (caps);
        GstBuffer *in = noise (info, unsigned (width));
        const auto values =
            luma (info, in, rounded_weight (colorimetry.kr), rounded_weight (colorimetry.kb));
        check (caps.c_str (), in, values);
      }
}
