// SPDX-License-Identifier: LGPL-2.1-or-later
//
// integralhistkeepmetas puts back the metas that an element drops: those of the same frame, once,
// and scaled if the frame is. The test notes which metas the frames have before the element, and
// checks that the element drops them without integralhistkeepmetas.
#include <map>
#include <mutex>

#include "pipelines.hpp"
#include "test.hpp"

namespace {

constexpr int kFrames = 30;
constexpr const char *kBytes = "gdppay ! gdpdepay";  // which hand on no metas

/// The region of interest of a frame, and its histogram.
struct Metas {
  std::vector<GstVideoRectangle> boxes;
  std::vector<GstIntegralHistogram *> histograms;  // (transfer none)
  guint width = 0, height = 0;                     // of the histogram's meta
};

Metas metas_of (GstBuffer *buffer)
{
  Metas metas;
  for (const auto *roi : rois_of (buffer))
    metas.boxes.push_back ({ gint (roi->x), gint (roi->y), gint (roi->w), gint (roi->h) });
  for (const auto *meta : histograms_of (buffer)) {
    metas.histograms.push_back (meta->histogram);
    metas.width = meta->width;
    metas.height = meta->height;
  }
  return metas;
}

/// A pipeline whose frames have a histogram and two boxes, which move from frame to frame.
class Stream {
public:
  explicit Stream (const std::string &elements, const std::string &end = "appsink name=sink")
      : pipeline_ ("videotestsrc pattern=ball num-buffers=" + std::to_string (kFrames)
                   + " ! video/x-raw,format=I420,width=320,height=240,framerate=30/1 ! "
                     "cudaintegralhist backend=cpu bins=8 ! identity name=here ! "
                   + elements + " ! " + end + " sync=false")
  {
    g_autoptr (GstElement) here = pipeline_.element ("here");
    g_autoptr (GstPad) pad = gst_element_get_static_pad (here, "src");
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, mark, this, nullptr);
    pipeline_.set_state (GST_STATE_PLAYING);
  }

  Pipeline &operator* () { return pipeline_; }
  Sample pull () { return pipeline_.pull (); }

  /// Returns the metas that the frame of this timestamp had.
  Metas before (GstClockTime pts)
  {
    const std::lock_guard lock (mutex_);
    fail_unless (before_.contains (pts));
    return before_[pts];
  }

private:
  static GstPadProbeReturn mark (GstPad *, GstPadProbeInfo *info, gpointer self)
  {
    GstBuffer *buffer = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
    GST_PAD_PROBE_INFO_DATA (info) = buffer;
    const guint i = guint (GST_BUFFER_PTS (buffer) * 30 / GST_SECOND);
    gst_buffer_add_video_region_of_interest_meta (buffer, "one", 2 * i, 10, 40, 20);
    gst_buffer_add_video_region_of_interest_meta (buffer, "two", 100, 4 * i, 20, 40);
    auto &stream = *static_cast<Stream *> (self);
    const std::lock_guard lock (stream.mutex_);
    stream.before_[GST_BUFFER_PTS (buffer)] = metas_of (buffer);
    return GST_PAD_PROBE_OK;
  }

  std::mutex mutex_;
  std::map<GstClockTime, Metas> before_;  // guarded by mutex_
  Pipeline pipeline_;
};

std::string keep (const std::string &element)
{
  return "integralhistkeepmetas element=\"" + element + "\"";
}

/// Pulls frames, compares them with what they were, with boxes `divided`, and returns how many
/// came.
int compare (Stream &stream, int most, int divided, guint width, guint height)
{
  int n = 0;
  for (; n < most; n++) {
    const Sample sample (gst_app_sink_pull_sample (GST_APP_SINK ((*stream).sink)));
    if (!sample)
      break;
    GstBuffer *buffer = gst_sample_get_buffer (sample.get ());
    const Metas is = metas_of (buffer), was = stream.before (GST_BUFFER_PTS (buffer));
    fail_unless_equals_uint64 (is.boxes.size (), 2);
    for (std::size_t i = 0; i < 2; i++) {
      fail_unless_equals_int (is.boxes[i].x, was.boxes[i].x / divided);
      fail_unless_equals_int (is.boxes[i].y, was.boxes[i].y / divided);
      fail_unless_equals_int (is.boxes[i].w, was.boxes[i].w / divided);
      fail_unless_equals_int (is.boxes[i].h, was.boxes[i].h / divided);
    }
    fail_unless (is.histograms == was.histograms);
    fail_unless_equals_int (int (is.width), int (width));
    fail_unless_equals_int (int (is.height), int (height));
  }
  return n;
}

int n_metas (const Sample &sample)
{
  const Metas metas = metas_of (gst_sample_get_buffer (sample.get ()));
  return int (metas.boxes.size () + metas.histograms.size ());
}

/// Returns the error of a pipeline that does not start.
std::string refusal (const std::string &elements)
{
  g_autoptr (GError) error = nullptr;
  g_autoptr (GstElement) pipeline =
      gst_parse_launch (("videotestsrc ! " + elements + " ! fakesink").c_str (), &error);
  if (!pipeline || error)
    return error ? error->message : "";
  fail_unless (gst_element_set_state (pipeline, GST_STATE_READY) == GST_STATE_CHANGE_FAILURE,
               "%s starts", elements.c_str ());
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  fail_unless (message != nullptr);
  gst_message_parse_error (message, &error, nullptr);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  return error->message;
}

}  // namespace

TEST (kept)
{
  Stream without (kBytes);
  fail_unless_equals_int (n_metas (without.pull ()), 0);  // else this test shows nothing

  Stream stream (keep (kBytes));
  fail_unless_equals_int (compare (stream, kFrames + 1, 1, 320, 240), kFrames);
  // elements with threads of their own
  Stream queued (keep ("queue ! gdppay ! queue ! gdpdepay ! queue"));
  fail_unless_equals_int (compare (queued, kFrames + 1, 1, 320, 240), kFrames);
}

/// A frame that has come out keeps no tensor in the element.
TEST (few_tensors)
{
  Pipeline pipeline ("videotestsrc num-buffers=10 ! video/x-raw,format=GRAY8,width=64,height=48 ! "
                     "cudaintegralhist name=hist backend=cpu compute=eager max-tensors=1 ! "
                     + keep (kBytes) + " ! fakesink sync=false enable-last-sample=false");
  pipeline.set_state (GST_STATE_PLAYING);
  pipeline.wait_for_eos ();
}

/// Elements that are set in READY are checked too, and none can be set while frames flow.
TEST (set_late)
{
  g_autoptr (GstElement) bin = gst_element_factory_make ("integralhistkeepmetas", nullptr);
  g_object_set (bin, "element", "identity", nullptr);
  fail_unless (gst_element_set_state (bin, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE);
  g_object_set (bin, "element", "videocrop left=2", nullptr);
  fail_unless (gst_element_set_state (bin, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE);
  gst_element_set_state (bin, GST_STATE_READY);
  g_object_set (bin, "element", "identity", nullptr);
  fail_unless (gst_element_set_state (bin, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE);
  g_object_set (bin, "element", "videocrop left=2", nullptr);
  g_autofree gchar *is = nullptr;
  g_object_get (bin, "element", &is, nullptr);
  fail_unless_equals_string (is, "identity");
  gst_element_set_state (bin, GST_STATE_NULL);
}

TEST (scaled)
{
  Stream stream (keep ("videoscale ! video/x-raw,width=160,height=120 ! gdppay ! gdpdepay"));
  fail_unless_equals_int (compare (stream, kFrames + 1, 2, 160, 120), kFrames);
  // GStreamer's parser does not take caps at the end
  for (const char *caps : { "video/x-raw,width=160,height=120",
                            "video/x-raw(memory:SystemMemory),width=160,height=120" }) {
    Stream ends_in_caps (keep (std::string ("gdppay ! gdpdepay ! videoscale ! ") + caps));
    fail_unless_equals_int (compare (ends_in_caps, kFrames + 1, 2, 160, 120), kFrames);
  }
  // there may be borders
  Stream square (keep (
      "videoscale ! video/x-raw,width=160,height=160,pixel-aspect-ratio=1/1 ! gdppay ! gdpdepay"));
  fail_unless_equals_int (n_metas (square.pull ()), 0);
}

/// Metas that the elements pass on are on the frame once.
TEST (handed_on)
{
  Stream stream (keep ("identity"));
  fail_unless_equals_int (compare (stream, kFrames + 1, 1, 320, 240), kFrames);
}

/// If the elements inside drop frames, the others still get their own metas.
TEST (dropped)
{
  Stream stream (
      keep ("videorate drop-only=true ! video/x-raw,framerate=10/1 ! gdppay ! gdpdepay"));
  const int n = compare (stream, kFrames + 1, 1, 320, 240);
  fail_unless (n >= 9 && n <= 11, "%d frames of 10", n);
}

/// Without timestamps frames come out in the order in which they went in. A flush forgets frames
/// that have not come out.
TEST (no_timestamps)
{
  Harness harness (keep ("valve name=valve ! " + std::string (kBytes)), caps_of ("I420", 32, 24));
  g_autoptr (GstElement) valve = gst_bin_get_by_name (GST_BIN (harness->element), "valve");
  for (int i = 0; i < 4; i++) {
    g_object_set (valve, "drop", i == 2, nullptr);
    GstBuffer *buffer = gst_buffer_new_allocate (nullptr, 32 * 24 * 3 / 2, nullptr);
    gst_buffer_memset (buffer, 0, guint8 (i), gsize (-1));
    gst_buffer_add_video_region_of_interest_meta (buffer, "one", guint (i), 0, 5, 5);
    fail_unless_equals_int (gst_harness_push (harness, buffer), GST_FLOW_OK);
    if (i == 2) {
      harness.flush ();
      continue;
    }
    g_autoptr (GstBuffer) out = gst_harness_pull (harness);
    const Metas metas = metas_of (out);
    fail_unless_equals_uint64 (metas.boxes.size (), 1);
    fail_unless_equals_int (metas.boxes[0].x, i);
  }
}

/// Buffers of a list are changed in the list.
TEST (lists)
{
  Harness harness (keep ("queue"), caps_of ("I420", 32, 24));
  GstBufferList *list = gst_buffer_list_new ();
  std::vector<GstBuffer *> pushed;
  for (int i = 0; i < 3; i++) {
    pushed.push_back (gst_buffer_new_allocate (nullptr, 32 * 24 * 3 / 2, nullptr));
    GST_BUFFER_PTS (pushed.back ()) = GstClockTime (i) * GST_SECOND;
    gst_buffer_add_video_region_of_interest_meta (pushed.back (), "one", guint (i), 0, 5, 5);
    gst_buffer_list_add (list, pushed.back ());
  }
  fail_unless_equals_int (gst_pad_push_list (harness->srcpad, list), GST_FLOW_OK);
  for (int i = 0; i < 3; i++) {
    g_autoptr (GstBuffer) out = gst_harness_pull (harness);
    fail_unless (out == pushed[std::size_t (i)], "buffer %d was copied", i);
    fail_unless_equals_int (metas_of (out).boxes.at (0).x, i);
  }
}

/// A second run, with other elements inside.
TEST (again)
{
  g_autoptr (GstElement) bin = gst_element_factory_make ("integralhistkeepmetas", nullptr);
  for (const char *element : { "identity", "gdppay ! gdpdepay", "" }) {
    g_object_set (bin, "element", element, nullptr);
    g_autofree gchar *is = nullptr;
    g_object_get (bin, "element", &is, nullptr);
    fail_unless_equals_string (is, element);
    fail_unless_equals_int (GST_BIN_NUMCHILDREN (bin), *element ? 1 : 0);
    fail_unless_equals_int (
        gst_element_set_state (bin, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE, bool (*element));
    gst_element_set_state (bin, GST_STATE_NULL);
  }
}

TEST (refused)
{
  expect_parts (refusal ("integralhistkeepmetas"), { "set element to one that drops metas" });
  expect_parts (refusal (keep ("nosuchelement")), { "nosuchelement" });
  expect_parts (refusal (keep ("videocrop left=2")), { "videocrop0 crops the picture" });
  expect_parts (refusal (keep ("gdppay ! gdpdepay ! videobox top=4")),
                { "videobox0 crops the picture" });
  expect_parts (refusal (keep ("videoflip video-direction=90r")),
                { "videoflip0 turns the picture" });
}

/// A frame goes to GL memory and back. The test is skipped, with a message, without GL.
TEST (gl)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  printf ("SKIP: gldownload: drivers of OpenGL leak, and a sanitizer would say so\n");
  return;
#endif
  g_setenv ("GST_GL_PLATFORM", "egl", FALSE);
  g_setenv ("GST_GL_WINDOW", "egl-device", FALSE);  // which needs no display
  g_autoptr (GError) error = nullptr;
  GstElement *probe = gst_parse_launch ("videotestsrc num-buffers=1 ! glupload ! fakesink", &error);
  const bool can_run =
      probe && !error && gst_element_set_state (probe, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE
      && gst_element_get_state (probe, nullptr, nullptr, 20 * GST_SECOND)
             == GST_STATE_CHANGE_SUCCESS;
  if (probe) {
    gst_element_set_state (probe, GST_STATE_NULL);
    gst_object_unref (probe);
  }
  if (!can_run) {
    printf ("SKIP: gldownload: no element glupload, or no OpenGL (package gstreamer1.0-gl)\n");
    return;
  }
  Stream without ("glupload ! gldownload");
  printf ("glupload and gldownload alone leave %d of 3 metas\n", n_metas (without.pull ()));
  Stream stream (keep ("glupload ! gldownload"));
  fail_unless_equals_int (compare (stream, kFrames + 1, 1, 320, 240), kFrames);
  Stream apart (keep ("glupload") + " ! " + keep ("gldownload"));
  fail_unless_equals_int (compare (apart, kFrames + 1, 1, 320, 240), kFrames);
}
