// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Helpers of the tests that run elements: pipelines and harnesses over an element, consumers, and
// the counts and sums of a sample's pixels.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gst/app/gstappsink.h>
#include <gst/integralhist/gstintegralhist.h>

#include "frames.hpp"
#include "pixel_sums.hpp"
#include "repeats.hpp"

constexpr GstClockTime kLong = 30 * GST_SECOND;

/// An element with its properties, those of a second one in the same test, and its backend.
struct Setup {
  const char *element, *properties, *other_properties, *backend;
};

/// The launch line of only this element, with more properties.
inline std::string line_of (const Setup &setup, const std::string &properties)
{
  return std::string (setup.element) + " " + setup.properties + " backend=" + setup.backend + " "
         + properties;
}

using Random = std::mt19937;

inline int between (Random &random, int low, int high)
{
  return low + int (random () % unsigned (high - low + 1));
}

// pixels, and their counts

struct Picture {
  int width = 0, height = 0;
  std::vector<guint8> luma;
};

/// Takes RGB by BT.709, which caps without a colorimetry mean.
inline Picture picture_of (GstBuffer *buffer, const GstVideoInfo &info)
{
  Picture picture{ info.width, info.height, {} };
  GstVideoFrame frame;
  if (!gst_video_frame_map (&frame, &info, buffer, GST_MAP_READ))
    return picture;
  const bool rgb = GST_VIDEO_INFO_FORMAT (&info) == GST_VIDEO_FORMAT_RGB;
  for (int y = 0; y < info.height; y++) {
    const auto *row = static_cast<const guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, 0))
                      + y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0);
    for (int x = 0; x < info.width; x++)
      picture.luma.push_back (rgb ? guint8 ((13933u * row[3 * x] + 46871u * row[3 * x + 1]
                                             + 4732u * row[3 * x + 2] + 32768u)
                                            >> 16)
                                  : row[x]);
  }
  gst_video_frame_unmap (&frame);
  return picture;
}

/// Returns a rectangle's sums, in the planes of such a tensor.
inline Sums added (const Picture &picture, const GstVideoRectangle &r,
                   GstIntegralHistogramContent content, guint planes)
{
  return content == GST_INTEGRAL_HISTOGRAM_CONTENT_BINS
             ? count_pixels (picture.luma, picture.width, r, int (planes))
             : add_pixels (picture.luma, picture.width, r, int (planes));
}

/// Says what is wrong with a histogram of a picture, or nothing: asks the whole frame and some
/// rectangles, over its borders too.
inline std::string complaint (GstIntegralHistogram *histogram, const Picture &picture,
                              Random &random)
{
  const int width = picture.width, height = picture.height;
  const guint planes = gst_integral_histogram_get_bins (histogram);
  const GstIntegralHistogramContent content = gst_integral_histogram_get_content (histogram);
  if (int (gst_integral_histogram_get_width (histogram)) != width
      || int (gst_integral_histogram_get_height (histogram)) != height)
    return "the histogram has another size than the frame";
  std::vector<GstVideoRectangle> rectangles = { { 0, 0, width, height } };
  while (rectangles.size () < 4)
    rectangles.push_back ({ between (random, -width / 4, width),
                            between (random, -height / 4, height), between (random, 1, width),
                            between (random, 1, height) });
  const guint n = guint (rectangles.size ());
  Sums answers (n * planes);
  std::vector<guint32> counts (n * planes);
  g_autoptr (GError) error = nullptr;
  if (!gst_integral_histogram_regions_sums (histogram, rectangles.data (), n, answers.data (),
                                            &error))
    return error->message;
  // the same in 32 bits; pictures here are too small for more
  if (!gst_integral_histogram_regions (histogram, rectangles.data (), n, counts.data (), &error))
    return error->message;
  if (!std::ranges::equal (answers, counts))
    return "the answers of 32 bits are not those of 64";
  for (guint i = 0; i < n; i++) {
    const GstVideoRectangle &r = rectangles[i];
    if (Sums (answers.begin () + i * planes, answers.begin () + (i + 1) * planes)
        != added (picture, r, content, planes))
      return "wrong sums in " + std::to_string (r.x) + "," + std::to_string (r.y) + " "
             + std::to_string (r.w) + "x" + std::to_string (r.h) + " of " + std::to_string (width)
             + "x" + std::to_string (height);
  }
  return "";
}

inline GstIntegralHistogramMeta *meta_of (const Sample &sample)
{
  return gst_buffer_get_integral_histogram_meta (gst_sample_get_buffer (sample.get ()));
}

inline Picture picture_of (const Sample &sample)
{
  GstVideoInfo info;
  return gst_video_info_from_caps (&info, gst_sample_get_caps (sample.get ()))
             ? picture_of (gst_sample_get_buffer (sample.get ()), info)
             : Picture ();
}

inline std::string complaint (const Sample &sample, Random &random)
{
  const GstIntegralHistogramMeta *meta = meta_of (sample);
  return meta ? complaint (meta->histogram, picture_of (sample), random) : "a frame has no meta";
}

inline void check_all (const std::vector<Sample> &samples, Random &random)
{
  for (const Sample &sample : samples) {
    expect_none (complaint (sample, random));
  }
}

/// The layout of a tensor's rows, or rows of tiles. Bytes behind the used ones have no defined
/// value.
struct Rows {
  guint n;                         // of a plane
  gsize used, pitch, plane_pitch;  // bytes
};

inline Rows rows_of (GstIntegralHistogram *histogram)
{
  const gsize pitch = gst_integral_histogram_get_row_pitch (histogram),
              plane_pitch = gst_integral_histogram_get_plane_pitch (histogram);
  guint columns, rows;
  gsize tile;
  if (gst_integral_histogram_get_tiles (histogram, &columns, &rows, &tile, nullptr))
    return { rows, columns * tile, pitch, plane_pitch };
  const bool is_u32 =
      gst_integral_histogram_get_counter (histogram) == GST_INTEGRAL_HISTOGRAM_COUNTER_U32;
  return { gst_integral_histogram_get_height (histogram),
           gst_integral_histogram_get_width (histogram) * (is_u32 ? 4 : 2), pitch, plane_pitch };
}

// pipelines

/// A pipeline with the elements `hist` and, maybe, an appsink `sink`.
class Pipeline {
public:
  explicit Pipeline (const std::string &description)
  {
    g_autoptr (GError) error = nullptr;
    pipeline_ = gst_parse_launch (description.c_str (), &error);
    fail_unless (pipeline_ && !error, "%s: %s", description.c_str (), error ? error->message : "");
    sink = gst_bin_get_by_name (GST_BIN (pipeline_), "sink");
    bus = gst_element_get_bus (pipeline_);
  }
  ~Pipeline ()
  {
    set_state (GST_STATE_NULL);
    gst_clear_object (&sink);
    gst_object_unref (bus);
    gst_object_unref (pipeline_);
  }
  Pipeline (const Pipeline &) = delete;
  Pipeline &operator= (const Pipeline &) = delete;

  void set_state (GstState state)
  {
    if (gst_element_set_state (pipeline_, state) == GST_STATE_CHANGE_FAILURE)
      fail_on_error ("the state does not change");
  }

  /// Null after `timeout`.
  Sample try_pull (GstClockTime timeout)
  {
    return Sample (gst_app_sink_try_pull_sample (GST_APP_SINK (sink), timeout));
  }
  Sample pull ()
  {
    Sample sample = try_pull (kLong);
    if (!sample)
      fail_on_error ("no sample");
    return sample;
  }

  /// (transfer full)
  GstElement *element (const char *name) { return gst_bin_get_by_name (GST_BIN (pipeline_), name); }

  /// A number of the stats of the element of this name.
  guint64 stat_of (const char *name, const char *field)
  {
    g_autoptr (GstElement) of = element (name);
    return ::stat_of (of, field);
  }

  gboolean seek (GstClockTime to)
  {
    return gst_element_seek_simple (pipeline_, GST_FORMAT_TIME,
                                    GstSeekFlags (GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE),
                                    to);
  }

  /// The next message of these types; any error ends the test.
  GstMessage *message (int types)
  {
    GstMessage *next =
        gst_bus_timed_pop_filtered (bus, kLong, GstMessageType (types | GST_MESSAGE_ERROR));
    fail_unless (next != nullptr, "no message");
    if (GST_MESSAGE_TYPE (next) == GST_MESSAGE_ERROR && !(types & GST_MESSAGE_ERROR))
      fail_with (next, "");
    return next;
  }
  void wait_for_eos () { gst_message_unref (message (GST_MESSAGE_EOS)); }

  void fail_on_error (const char *otherwise)
  {
    GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    fail_with (message, otherwise);
  }

  GstElement *sink;
  GstBus *bus;

private:
  static void fail_with (GstMessage *message, const char *otherwise)
  {
    g_autoptr (GError) error = nullptr;
    if (message)
      gst_message_parse_error (message, &error, nullptr);
    fail ("%s", error ? error->message : otherwise);
  }

  GstElement *pipeline_;
};

/// Returns the first sample of a pipeline. The pipeline is destroyed by then.
inline Sample sample_of (const std::string &line)
{
  Pipeline pipeline (line);
  pipeline.set_state (GST_STATE_PLAYING);
  return pipeline.pull ();
}

/// A launch line of random pictures with histograms or tables, in which a seek works.
inline std::string snow (const Setup &setup, const std::string &source, const std::string &size,
                         const std::string &properties, const std::string &sink)
{
  return "videotestsrc pattern=snow " + source + " ! video/x-raw,format=GRAY8,framerate=30/1,"
         + size + " ! " + line_of (setup, "name=hist " + properties)
         + " ! appsink name=sink sync=false enable-last-sample=false " + sink;
}

/// A thread that takes samples, checks some, keeps some for a while, and checks each before it lets
/// go of it. Between discontinuities no frame may be missing.
class Consumer {
public:
  Consumer (GstElement *sink, unsigned seed)
      : sink_ (sink), random_ (seed), thread_ ([this] { run (); })
  {
  }

  /// Stops, and returns how many samples came.
  guint finish ()
  {
    stopping_ = true;
    thread_.join ();
    fail_unless (complaint_.empty (), "%s", complaint_.c_str ());
    return frames;
  }

  std::atomic<guint> frames = 0;

private:
  void run ()
  {
    std::vector<Sample> held;
    while (!stopping_) {
      Sample sample (gst_app_sink_try_pull_sample (GST_APP_SINK (sink_), 20 * GST_MSECOND));
      if (sample) {
        frames++;
        check_order (gst_sample_get_buffer (sample.get ()));
        if (random_ () % 2)
          check (sample);
        held.push_back (std::move (sample));
      } else {
        g_usleep (100);  // a sink that is flushing answers at once
      }
      while (held.size () > 8 || (!held.empty () && random_ () % 3 == 0)) {
        const std::size_t i = random_ () % held.size ();
        check (held[i]);
        held.erase (held.begin () + long (i));
      }
      if (random_ () % 8 == 0)
        g_usleep (random_ () % 4000);
    }
    for (const Sample &sample : held)
      check (sample);
  }

  void check (const Sample &sample)
  {
    if (complaint_.empty ())
      complaint_ = complaint (sample, random_);
  }

  void check_order (GstBuffer *buffer)
  {
    const GstClockTime pts = GST_BUFFER_PTS (buffer);
    // a seek right after the start loses the flag of its first frame, behind identity too
    // (GStreamer 1.22)
    const bool may_jump =
        GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_DISCONT) || next_ == GST_CLOCK_TIME_NONE;
    if (!may_jump && pts != next_ && complaint_.empty ())
      complaint_ = "a frame of " + std::to_string (pts) + " ns comes instead of one of "
                   + std::to_string (next_);
    next_ = pts + GST_BUFFER_DURATION (buffer);
  }

  GstElement *const sink_;
  std::atomic<bool> stopping_ = false;
  GstClockTime next_ = GST_CLOCK_TIME_NONE;  // where the last frame ended
  Random random_;
  std::string complaint_;  // of the thread, until it has ended
  std::thread thread_;
};
