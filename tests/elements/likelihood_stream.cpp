// SPDX-License-Identifier: LGPL-2.1-or-later
//
// integralhistlikelihood runs in a stream and posts messages. Frames come without a histogram or
// scaled, caps change, and each failure is one error.

#include <gst/integralhist/api/histogram.hpp>

#include "broken_tensor.hpp"
#include "maps.hpp"
#include "missing.hpp"
#include "test.hpp"

namespace {

GstVideoRectangle window_of (const GstStructure *structure)
{
  GstVideoRectangle r;
  fail_unless (gst_structure_get (structure, "x", G_TYPE_INT, &r.x, "y", G_TYPE_INT, &r.y, "width",
                                  G_TYPE_INT, &r.w, "height", G_TYPE_INT, &r.h, nullptr));
  return r;
}

}  // namespace

/// The best window, of all measures, with its times.
TEST (messages)
{
  for (const std::string &measure : measures ())
    for (const auto &[window_width, window_height, step] :
         { std::array{ 9, 6, 1 }, std::array{ 12, 9, 3 }, std::array{ 50, 3, 2 } }) {
      const Search s = { 48, 36, { 30, 20, 12, 9 }, window_width, window_height, step, measure };
      const Texture picture (48, 36, 6);
      Likelihood likelihood ("messages=true mode=gray " + line_of (s), picture.caps ());
      likelihood.push_segment (GST_SECOND);
      GstBuffer *in = counted (picture);
      GST_BUFFER_PTS (in) = 3 * GST_SECOND;
      gst_buffer_unref (likelihood.pass (in));
      g_autoptr (GstMessage) message = likelihood.message ();
      fail_unless (message && gst_message_has_name (message, "integral-histogram-likelihood"));
      const GstStructure *structure = gst_message_get_structure (message);
      guint64 timestamp, stream_time, running_time;
      double value;
      fail_unless (gst_structure_get (structure, "timestamp", G_TYPE_UINT64, &timestamp,
                                      "stream-time", G_TYPE_UINT64, &stream_time, "running-time",
                                      G_TYPE_UINT64, &running_time, "value", G_TYPE_DOUBLE, &value,
                                      nullptr));
      fail_unless (timestamp == 3 * GST_SECOND && stream_time == 3 * GST_SECOND
                   && running_time == 2 * GST_SECOND);
      const Truth truth = truth_of (picture, s);
      const GstVideoRectangle best = window_of (structure);
      gsize index = 0;
      while (index < truth.windows.size ()
             && memcmp (&truth.windows[index], &best, sizeof best) != 0)
        index++;
      fail_unless (index < truth.windows.size (), "%d,%d,%d,%d is no window", best.x, best.y,
                   best.w, best.h);
      const double tolerance =
          measure == "bhattacharyya" || measure == "l2" ? 1e-3 : 1e-4;  // roots near 0
      fail_unless (std::abs (truth.values[index] - truth.values[truth.best]) <= tolerance
                       && std::abs (value - truth.values[index]) <= tolerance,
                   "%s: %d,%d with %f (%f), not %d,%d with %f", measure.c_str (), best.x, best.y,
                   value, truth.values[index], truth.windows[truth.best].x,
                   truth.windows[truth.best].y, truth.values[truth.best]);
      fail_unless (!likelihood.message ());
    }
}

/// Messages come for computed frames, if the settings ask for them.
TEST (when_there_are_messages)
{
  const Texture picture (48, 36, 6);
  Likelihood likelihood ("model=12,8,12,9 step=1", picture.caps ());
  const auto n = [&] (GstBuffer *buffer) {
    gst_buffer_unref (likelihood.pass (buffer));
    int n = 0;
    for (GstMessage *message; (message = likelihood.message ()); n++) {
      const GstVideoRectangle r = window_of (gst_message_get_structure (message));
      fail_unless (r.x == 12 && r.y == 8 && r.w == 12 && r.h == 9, "%d,%d,%d,%d", r.x, r.y, r.w,
                   r.h);
      gst_message_unref (message);
    }
    return n;
  };
  fail_unless_equals_int (n (counted (picture)), 0);
  likelihood.set ("messages", TRUE);
  fail_unless_equals_int (n (counted (picture)), 1);
  fail_unless_equals_int (n (picture.buffer ()), 0);
  fail_unless_equals_int (n (counted (picture)), 1);
  likelihood.set ("messages", FALSE);
  fail_unless_equals_int (n (counted (picture)), 0);
}

/// Frames without an integral histogram are an error before the first map; later ones show the last
/// map.
TEST (frames_without)
{
  const Texture picture (48, 36, 1), other (48, 36, 2);
  const auto check = [&] (GstBuffer *buffer) {
    Likelihood likelihood ("", picture.caps ());
    expect_parts (likelihood.error_of (buffer, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED),
                  { "put cudaintegralhist before" });
  };
  check (picture.buffer ());
  // a summed-area table is not a histogram
  Harness h ("cudaintegralimage backend=cpu tuning-time=0", picture.caps ().c_str ());
  GstBuffer *table = gst_harness_push_and_pull (h, picture.buffer ());
  fail_unless (gst_buffer_get_integral_histogram_meta (table));
  check (gst_buffer_ref (table));
  // a gap without a picture is not counted, and passes
  for (const char *properties : { "", "mode=gray" }) {
    Likelihood gaps (properties, picture.caps ());
    GstBuffer *gap = picture.buffer ();
    empty (gap);
    GstBuffer *const passed = gaps.pass (gap);
    fail_unless (passed == gap && GST_BUFFER_FLAG_IS_SET (passed, GST_BUFFER_FLAG_GAP));
    gst_buffer_unref (passed);
    gst_buffer_unref (gaps.pass (counted (picture)));
  }

  Likelihood gray ("mode=gray", picture.caps ()), blend ("opacity=0", picture.caps ());
  const Bytes map = gray.bytes (counted (picture));
  fail_unless (gray.bytes (other.buffer ()) == map);
  fail_unless (gray.bytes (table) == map);
  fail_unless (gray.bytes (counted (other)) != map);
  // the blend has the present frame below the map
  gst_buffer_unref (blend.pass (counted (picture)));
  GstBuffer *in = other.buffer ();
  fail_unless (blend.bytes (gst_buffer_ref (in))
               == converted (info_of (other.caps ()), blend.info (), in));
  gst_buffer_unref (in);
  // a flush does not take the map, as the next frame that is counted may be some frames away
  gray.flush ();
  const Bytes after = gray.bytes (picture.buffer ());
  fail_unless_equals_int (after.size (), map.size ());
  // other caps do not take the map either: it is shown in their size
  gray.set_caps (caps_of ("GRAY8", 96, 72));
  const Bytes wide = gray.bytes (Texture (96, 72, 1).buffer ());
  for (gsize i = 0; i < wide.size (); i++)
    if (wide[i] != after[i / 96 / 2 * 48 + i % 96 / 2])
      fail ("pixel %d", int (i));
}

TEST (interval)
{
  const Texture picture (48, 36, 1);
  Harness h ("cudaintegralhist backend=cpu tuning-time=0 bins=8 interval=3 ! "
             "integralhistlikelihood mode=gray",
             picture.caps ().c_str ());
  const Truth truth = truth_of (picture, { 48, 36, middle (48, 36), 12, 9, 2 });
  for (int i = 0; i < 8; i++) {
    g_autoptr (GstBuffer) out = gst_harness_push_and_pull (
        h, i % 3 == 0 ? picture.buffer () : Texture (48, 36, unsigned (9 + i)).buffer ());
    check_levels (bytes_of (out, info_of (picture.caps ())), truth, 48, "interval");
  }
}

/// Fails unless two lines make the same pictures of so many frames.
static void expect_same_pictures (const std::string &line, const std::string &other,
                                  unsigned frames)
{
  const std::string caps = Texture (48, 36, 1).caps ();
  Harness alone (line, caps), both (other, caps);
  for (unsigned i = 0; i < frames; i++) {
    const Texture picture (48, 36, 1 + i);
    g_autoptr (GstBuffer) expected = gst_harness_push_and_pull (alone, picture.buffer ());
    g_autoptr (GstBuffer) out = gst_harness_push_and_pull (both, picture.buffer ());
    fail_unless (expected && out, "frame %u", i);
    fail_unless (bytes_of (out, info_of (caps)) == bytes_of (expected, info_of (caps)), "frame %u",
                 i);
  }
}

/// A histogram of pixels stays chosen beside one of weights of the same feature.
TEST (weights_beside_counts)
{
  const std::string counts = "cudaintegralhist backend=cpu feature=signed-gradient bins=18 ! ",
                    weights = "cudaintegralhist backend=cpu feature=signed-gradient bins=18 "
                              "weight=gradient soft=true ! ",
                    likelihood = "integralhistlikelihood mode=gray step=2";
  expect_same_pictures (counts + likelihood, weights + counts + likelihood, 4);
}

/// A frame that one of two producers leaves out shows the last map, and not one of the other
/// producer's histogram.
TEST (two_producers)
{
  const std::string with_gradients =
      "cudaintegralhist backend=cpu tuning-time=0 feature=gradient interval=3 ! ";
  const std::string likelihood = "integralhistlikelihood mode=gray step=2";
  expect_same_pictures (
      with_gradients + likelihood,
      with_gradients + "cudaintegralhist backend=cpu tuning-time=0 bins=8 ! " + likelihood, 8);
}

/// The first frames with a histogram do not arrive.
TEST (lost_frames)
{
  check_lost ("integralhistlikelihood step=8");
}

TEST (no_histograms)
{
  check_none ("integralhistlikelihood step=8");
}

/// Windows are in pixels of the frame that was counted, model and messages in pixels of the scaled
/// frame.
TEST (scaled_frames)
{
  struct Case {
    int width, height, to_width, to_height;
    GstVideoRectangle model, counted;  // the model's pixels before
  };
  for (const Case &c : { Case{ 96, 72, 48, 36, { 5, 4, 12, 9 }, { 10, 8, 24, 18 } },
                         Case{ 48, 36, 96, 72, { 10, 8, 24, 18 }, { 5, 4, 12, 9 } },
                         Case{ 96, 72, 32, 24, { 20, 4, 5, 5 }, { 60, 12, 15, 15 } },
                         Case{ 90, 60, 48, 32, { 8, 8, 16, 16 }, { 15, 15, 30, 30 } } })
    for (const int step : { 1, 2, 5 }) {
      const Texture picture (c.width, c.height, 3);
      const std::string caps = caps_of ("GRAY8", c.to_width, c.to_height);
      const Search s = { c.to_width, c.to_height, c.model, c.model.w, c.model.h, step };
      Likelihood likelihood ("mode=gray messages=true window-width=0 " + line_of (s), caps);
      const Truth truth = truth_of (picture, s, picture.histogram (c.counted, s.bins));
      check_levels (likelihood.bytes (counted (picture.caps (), picture.buffer (), s.bins,
                                               " ! videoscale ! capsfilter caps=" + caps)),
                    truth, c.to_width, line_of (s));
      g_autoptr (GstMessage) message = likelihood.message ();
      const GstVideoRectangle best = window_of (gst_message_get_structure (message));
      const GstVideoRectangle &wanted = truth.windows[truth.best];
      const double scale = double (c.to_width) / c.width;
      fail_unless (best.w == c.model.w && best.h == c.model.h);
      fail_unless (std::abs (best.x - wanted.x * scale) <= 1.5
                       && std::abs (best.y - wanted.y * scale) <= 1.5,
                   "%d,%d instead of %f,%f", best.x, best.y, wanted.x * scale, wanted.y * scale);
    }
  // a region of a frame that was made larger may have no pixel before
  const Texture picture (10, 10, 1);
  const std::string caps = caps_of ("GRAY8", 100, 100);
  Likelihood likelihood ("model=1,1,2,2", caps);
  expect_parts (likelihood.error_of (counted (picture.caps (), picture.buffer (), 8,
                                              " ! videoscale ! capsfilter caps=" + caps)),
                { "larger region" });
}

/// Other sizes, formats and bins on the way.
TEST (changes)
{
  const Texture picture (48, 36, 1), large (96, 72, 2);
  const Numbers model = picture.histogram ({ 5, 4, 12, 9 }, 8);
  Likelihood likelihood ("mode=gray model=5,4,12,9", picture.caps ());
  gst_buffer_unref (likelihood.pass (counted (picture)));
  // the model stays, and its window grows with the frame
  likelihood.set_caps (large.caps ());
  check_levels (likelihood.bytes (counted (large)),
                truth_of (large, { 96, 72, {}, 24, 18, 2 }, model), 96, "a larger frame");
  likelihood.set_caps (picture.caps ());
  check_levels (likelihood.bytes (counted (picture)),
                truth_of (picture, { 48, 36, {}, 12, 9, 2 }, model), 48, "as before");
  // a window that is set keeps its size
  likelihood.set ("window-width", 7, "window-height", 5, "step", 3);
  likelihood.set_text ("measure", "l2");
  check_levels (likelihood.bytes (counted (picture)),
                truth_of (picture, { 48, 36, {}, 7, 5, 3, "l2" }, model), 48, "a window");
  likelihood.set_caps (large.caps ());
  check_levels (likelihood.bytes (counted (large)),
                truth_of (large, { 96, 72, {}, 7, 5, 3, "l2" }, model), 96,
                "a window on a larger frame");
  // other bins have no use for the model
  check_levels (likelihood.bytes (counted (large, 5)),
                truth_of (large, { 96, 72, { 5, 4, 12, 9 }, 7, 5, 3, "l2", 5 }), 96, "five bins");
  likelihood.set ("histogram", "0,1,2,0,3");
  check_levels (likelihood.bytes (counted (large, 5)),
                truth_of (large, { 96, 72, {}, 7, 5, 3, "l2", 5 }, { 0, 1, 2, 0, 3 }), 96,
                "numbers");
  expect_parts (likelihood.error_of (counted (large, 6)), { "5 numbers", "write 6" });

  // another mode is another format
  Likelihood modes ("mode=gray", picture.caps ());
  const Bytes gray = modes.bytes (counted (picture));
  modes.set_text ("mode", "heat");
  const Bytes heat = modes.bytes (counted (picture));
  fail_unless_equals_int (heat.size (), 4 * gray.size ());
  modes.set_text ("mode", "blend");
  const Bytes blend = modes.bytes (counted (picture));
  fail_unless (blend.size () == heat.size () && blend != heat);
  // a frame of another format is converted as such
  modes.set ("opacity", 0.0);
  modes.set_caps (caps_of ("I420", 48, 36));
  const GstVideoInfo info = info_of (caps_of ("I420", 48, 36));
  GstBuffer *in = noise (info, 1);
  fail_unless (modes.bytes (gst_buffer_ref (in)) == converted (info, modes.info (), in));
  gst_buffer_unref (in);
  modes.set_text ("mode", "gray");
  fail_unless (modes.bytes (noise (info, 1)) == gray);
}

/// Size, rate and pixel shape go through both ways; the format is the mode's.
TEST (caps)
{
  for (const auto &[mode, format, others] :
       { std::tuple ("gray", "GRAY8", "{ BGRx, I420 }"),
         std::tuple ("heat", "BGRx", "{ GRAY8, RGBx }"), std::tuple ("blend", "BGRx", "GRAY8") }) {
    Likelihood likelihood (std::string ("mode=") + mode);
    GstElement *element = likelihood.get ()->element;
    g_autoptr (GstPad) sink = gst_element_get_static_pad (element, "sink");
    g_autoptr (GstPad) src = gst_element_get_static_pad (element, "src");
    const auto query = [] (GstPad *pad, const std::string &filter) {
      g_autoptr (GstCaps) caps = gst_caps_from_string (filter.c_str ());
      return gst_pad_query_caps (pad, caps);
    };
    gst_harness_set_sink_caps_str (
        likelihood.get (),
        "video/x-raw,width=64,height=[1,50],framerate={25/1,30/1},pixel-aspect-ratio=2/1");
    g_autoptr (GstCaps) wanted = query (sink, "video/x-raw,format={I420,RGB}");
    g_autoptr (GstCaps) expected =
        gst_caps_from_string ("video/x-raw,format={I420,RGB},width=64,height=[1,50],framerate={25/"
                              "1,30/1},pixel-aspect-ratio=2/1");
    fail_unless (gst_caps_is_equal (wanted, expected), "%s: %s", mode, gst_caps_to_string (wanted));
    // in chroma siting and colorimetry they differ
    likelihood.set_caps (
        caps_of ("I420", 64, 48, ",pixel-aspect-ratio=2/1,colorimetry=bt601,chroma-site=mpeg2"));
    const Texture picture (64, 48, 1);
    GstBuffer *in = counted (picture);
    GST_BUFFER_PTS (in) = 5;
    GST_BUFFER_DURATION (in) = 6;
    gst_buffer_append (in, gst_buffer_new_allocate (nullptr, 64 * 48 / 2, nullptr));
    GstBuffer *out = likelihood.pass (in);
    fail_unless (GST_BUFFER_PTS (out) == 5 && GST_BUFFER_DURATION (out) == 6);
    gst_buffer_unref (out);
    const GstVideoInfo info = likelihood.info ();
    fail_unless_equals_string (GST_VIDEO_INFO_NAME (&info), format);
    fail_unless (info.width == 64 && info.height == 48 && info.fps_n == 25 && info.fps_d == 1
                 && info.par_n == 2 && info.par_d == 1);
    const char *colorimetry = GST_VIDEO_INFO_FORMAT (&info) == GST_VIDEO_FORMAT_BGRx
                                  ? GST_VIDEO_COLORIMETRY_SRGB
                                  : nullptr;
    fail_unless (!colorimetry || gst_video_colorimetry_matches (&info.colorimetry, colorimetry));
    g_autoptr (GstCaps) made = query (src, "video/x-raw");
    fail_unless (gst_caps_get_size (made) > 0);
    for (guint i = 0; i < gst_caps_get_size (made); i++)
      fail_unless_equals_string (
          gst_structure_get_string (gst_caps_get_structure (made, i), "format"), format);

    // formats that a mode does not give
    Likelihood refused (std::string ("mode=") + mode);
    gst_harness_set_sink_caps_str (refused.get (),
                                   (std::string ("video/x-raw,format=") + others).c_str ());
    g_autoptr (GstPad) refusing = gst_element_get_static_pad (refused->element, "sink");
    g_autoptr (GstCaps) none = query (refusing, "video/x-raw");
    fail_unless (gst_caps_is_empty (none), "%s: %s", mode, gst_caps_to_string (none));
  }
}

/// Metas about places in the frame stay on the picture.
TEST (metas)
{
  const Texture picture (48, 36, 1);
  for (const char *mode : { "gray", "heat", "blend" }) {
    Likelihood likelihood (std::string ("mode=") + mode, picture.caps ());
    GstBuffer *in = counted (picture);
    gst_buffer_add_video_region_of_interest_meta (in, "face", 1, 2, 3, 4);
    GstIntegralHistogram *histogram = histogram_of (in);
    g_autoptr (GstBuffer) out = likelihood.pass (in);
    const auto *roi = reinterpret_cast<GstVideoRegionOfInterestMeta *> (
        gst_buffer_get_meta (out, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
    fail_unless (roi && roi->x == 1 && roi->y == 2 && roi->w == 3 && roi->h == 4);
    const auto *meta = gst_buffer_get_integral_histogram_meta (out);
    fail_unless (meta && meta->histogram == histogram);
  }
}

TEST (failed_query)
{
  for (const char *properties : { "", "histogram=1,2,3,4,5,6,7,8" }) {
    Likelihood likelihood (properties, caps_of ("GRAY8", 64, 48));
    GstBuffer *in = Texture (64, 48, 1).buffer ();
    g_autoptr (GstIntegralHistogram) histogram =
        integralhist::new_histogram (std::make_shared<BrokenTensor> (8));
    gst_buffer_add_integral_histogram_meta (in, histogram);
    expect_parts (likelihood.error_of (in, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED),
                  { *properties ? "map" : "model", "the device fell off the bus" });
  }
}
