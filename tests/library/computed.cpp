// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Engines compute the right parts of frames on demand, from the right source and on the right
// device: with questions of all sizes, flushes, failures and full devices.
#include <numeric>

#include "questions.hpp"
#include "test.hpp"

namespace {

struct Counted {
  std::string compute, reason;
  guint64 frames = 0, pixels = 0, parts = 0, tensors = 0, bytes = 0;
  guint64 behind = 0;  // parts that devices computed

  explicit Counted (GstHarness *harness)
  {
    g_autoptr (GstElement) element = gst_harness_find_element (harness, "cudaintegralhist");
    read (element);
  }
  explicit Counted (GstElement *element) { read (element); }

private:
  void read (GstElement *element)
  {
    g_autoptr (GstStructure) stats = nullptr;
    g_object_get (element, "stats", &stats, nullptr);
    compute = gst_structure_get_string (stats, "compute");
    reason = gst_structure_get_string (stats, "compute-reason");
    gst_structure_get (stats, "frames", G_TYPE_UINT64, &frames, "pixel-answers", G_TYPE_UINT64,
                       &pixels, "part-tensors", G_TYPE_UINT64, &parts, "tensors", G_TYPE_UINT64,
                       &tensors, "bytes-on-demand", G_TYPE_UINT64, &bytes, nullptr);
    if (const GValue *all = gst_structure_get_value (stats, "parts"))
      for (guint i = 0; i < gst_value_array_get_size (all); i++)
        behind += g_value_get_uint64 (gst_value_array_get_value (all, i));
  }
};

constexpr Setup kHistogram = { "cudaintegralhist", "bins=32", "", "cpu" };

/// Asks for a map of likelihoods, or for its best window alone.
void ask_map (GstIntegralHistogram *histogram, const Grid &grid, bool best_alone = false)
{
  const std::vector<gfloat> model (gst_integral_histogram_get_bins (histogram), 1);
  std::vector<gfloat> values (std::size_t (grid.columns) * std::size_t (grid.rows));
  Best best;
  expect_answer (gst_integral_histogram_likelihood_maps, histogram, &grid, 1, model.data (),
                 GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION, best_alone ? nullptr : values.data (),
                 best_alone ? &best : nullptr);
}

}  // namespace

/// Only what a question needs is computed.
TEST (cost)
{
  constexpr guint64 kCount = 10;
  const std::string caps = caps_of ("GRAY8", 640, 480);
  const GstVideoInfo info = info_of (caps);
  std::vector<Buffer> held;
  const auto run = [&] (auto &&ask, bool hold = false) {
    Harness harness (line_of (kHistogram, "compute=on-demand"));
    harness.set_caps (caps);
    for (guint i = 0; i < kCount; i++) {
      Buffer buffer = harness.pass (noise (info, i));
      ask (histogram_of (buffer));
      if (hold)
        held.push_back (std::move (buffer));
    }
    return Counted (harness.get ());
  };
  const Counted nobody = run ([] (GstIntegralHistogram *) {});
  fail_unless (nobody.frames == kCount && nobody.compute == "on-demand" && nobody.pixels == 0
               && nobody.parts == 0 && nobody.tensors == 0);
  fail_unless (nobody.reason.starts_with ("set"), "%s", nobody.reason.c_str ());
  constexpr guint64 kFrame = 640 * 480;
  fail_unless (nobody.bytes >= kFrame && nobody.bytes <= 3 * kFrame, "%" G_GUINT64_FORMAT,
               nobody.bytes);
  fail_unless (run ([] (GstIntegralHistogram *) {}, true).bytes == kCount * kFrame);
  const Counted region = run ([] (GstIntegralHistogram *histogram) {
    guint32 counts[32];
    fail_unless (gst_integral_histogram_region (histogram, 100, 90, 64, 128, counts, nullptr));
  });
  fail_unless (region.pixels == kCount && region.parts == 0 && region.tensors == 0);
  const Counted map = run ([] (GstIntegralHistogram *histogram) {
    for (int i = 0; i < 3; i++)
      ask_map (histogram, { 40, 40, 200, 100, 2, 2, 16, 16 });
  });
  fail_unless (map.pixels == 0 && map.parts == kCount && map.tensors == 0);
  fail_unless (map.bytes > nobody.bytes + 4 * 32 * 70 * 70, "the part is not counted");
}

namespace {

constexpr int kWidth = 320, kHeight = 240;

/// A stream of frames on demand that holds some of them, and the questions about them.
class Stream {
public:
  explicit Stream (const std::string &properties)
      : caps_ (caps_of ("GRAY8", kWidth, kHeight)), info_ (info_of (caps_)),
        harness_ (line_of (kHistogram, "compute=on-demand " + properties))
  {
    harness_.set_caps (caps_);
  }

  GstHarness *get () const { return harness_.get (); }
  Counted counted () const { return Counted (harness_.get ()); }
  /// Waits until the devices have counted so many parts, which they do just after a part is ready.
  Counted counted (guint64 behind) const
  {
    for (int i = 0; i < 500; i++) {
      if (const Counted now = counted (); now.behind >= behind)
        return now;
      g_usleep (10000);
    }
    return counted ();
  }

  GstIntegralHistogram *pass ()
  {
    held_.push_back (harness_.pass (noise (info_, n_++)));
    return histogram_of (held_.back ());
  }
  void flush (bool start)
  {
    gst_harness_push_event (get (),
                            start ? gst_event_new_flush_start () : gst_event_new_flush_stop (TRUE));
    if (!start)
      harness_.push_segment ();
  }
  /// Says what is wrong with the whole tensor of a frame, held or not.
  std::string complaint_of_tensor (GstIntegralHistogram *histogram) const
  {
    const auto buffer_of = [] (const Buffer &buffer) { return histogram_of (buffer); };
    const auto held = std::ranges::find (held_, histogram, buffer_of);
    const Picture picture = picture_of (held->get (), info_);
    const TensorCopy tensor (histogram);
    const Sums counts =
        added (picture, { 0, 0, kWidth, kHeight }, GST_INTEGRAL_HISTOGRAM_CONTENT_BINS, kBins);
    std::string wrong;
    for (guint b = 0; b < kBins; b++)
      if (tensor.at (b, kWidth - 1, kHeight - 1) != counts[b])
        wrong = "bin " + std::to_string (b) + " of the tensor is wrong";
    return wrong;
  }
  void ask_tensor (GstIntegralHistogram *histogram) const
  {
    expect_none (complaint_of_tensor (histogram));
  }
  /// Asks for a few pixels, and for all pixels of a region.
  static void ask_region (GstIntegralHistogram *histogram)
  {
    guint32 counts[kBins];
    fail_unless (gst_integral_histogram_region (histogram, 100, 90, 40, 50, counts, nullptr));
    fail_unless_equals_int (std::accumulate (counts, counts + kBins, 0u), 40 * 50);
  }
  static void ask_map (GstIntegralHistogram *histogram)
  {
    ::ask_map (histogram, { 20, 20, 100, 50, 2, 2, 16, 16 });
  }

private:
  static constexpr guint kBins = 32;

  const std::string caps_;
  const GstVideoInfo info_;
  Harness harness_;
  unsigned n_ = 0;
  std::vector<Buffer> held_;
};

struct Behind {
  const char *properties;
  guint shards;
} constexpr kEngines[] = {
  { "task-bins=8", 4 },
  { "task-bins=8 cuda-device-ids=0,1,2", 4 },
  { "task-bins=8 max-device-memory=6000000", 1 },  // in rounds; a tensor is 9.8 MB
};

}  // namespace

/// The whole-tensor engine of frames on demand computes whole tensors, and nothing else.
TEST_EACH (behind, std::size (kEngines))
{
  constexpr guint64 kCount = 5, kTasks = 4;
  const auto &[properties, shards] = kEngines[__i__];
  Stream stream (properties);
  std::vector<GstIntegralHistogram *> frames (kCount);
  for (auto &frame : frames)
    frame = stream.pass ();
  Counted counted = stream.counted ();
  fail_unless (counted.compute == "on-demand" && counted.frames == kCount && counted.tensors == 0
               && counted.behind == 0);
  std::ranges::for_each (frames, Stream::ask_region);
  counted = stream.counted ();
  fail_unless (counted.pixels == kCount && counted.parts == 0 && counted.behind == 0);
  std::ranges::for_each (frames, Stream::ask_map);
  counted = stream.counted ();
  fail_unless (counted.pixels == kCount && counted.parts == kCount && counted.tensors == 0
               && counted.behind == 0);
  for (GstIntegralHistogram *const frame : frames)
    stream.ask_tensor (frame);
  counted = stream.counted (kCount * kTasks);
  fail_unless (counted.tensors == kCount && counted.behind == kCount * kTasks,
               "%" G_GUINT64_FORMAT " parts", counted.behind);
  for (GstIntegralHistogram *const frame : frames) {
    Stream::ask_region (frame);
    Stream::ask_map (frame);
    fail_unless_equals_int (gst_integral_histogram_get_n_shards (frame), shards);
  }
  counted = stream.counted ();
  fail_unless (counted.pixels == kCount && counted.parts == kCount && counted.tensors == kCount
                   && counted.behind == kCount * kTasks && counted.frames == kCount,
               "something was computed again");
}

/// A GPU computes parts of frames that lie in its memory, and then gives the buffers back.
TEST (on_gpu)
{
  if (!have_upload ())
    return;
  constexpr guint64 kCount = 6;
  Pipeline pipeline ("videotestsrc pattern=snow num-buffers=6 ! "
                     "video/x-raw,format=I420,width=1920,height=1080 ! cudaupload ! "
                     "video/x-raw(memory:CUDAMemory) ! "
                     "cudaintegralhist name=hist backend=cuda compute=on-demand bins=32 ! "
                     "appsink name=sink max-buffers=1");
  g_autoptr (GstElement) element = pipeline.element ("hist");
  pipeline.set_state (GST_STATE_PLAYING);
  std::vector<Sample> held;
  for (guint64 i = 0; i < kCount; i++) {
    held.push_back (pipeline.pull ());
    GstIntegralHistogram *const histogram = meta_of (held.back ())->histogram;
    const Picture picture = picture_of (held.back ());
    for (int part = 0; part < 3; part++) {
      guint32 counts[32];
      const GstVideoRectangle box = { 100 + part, 90, 40, 50 };
      fail_unless (
          gst_integral_histogram_region (histogram, box.x, box.y, box.w, box.h, counts, nullptr));
      fail_unless (std::ranges::equal (
          added (picture, box, GST_INTEGRAL_HISTOGRAM_CONTENT_BINS, 32), counts));
    }
  }
  const Counted asked (element);
  fail_unless (asked.compute == "on-demand" && asked.frames == kCount && asked.tensors == 0
                   && asked.pixels == 0,
               "%s, %" G_GUINT64_FORMAT " frames, %" G_GUINT64_FORMAT " tensors",
               asked.compute.c_str (), asked.frames, asked.tensors);
  fail_unless (asked.parts >= kCount && asked.parts <= 3 * kCount, "%" G_GUINT64_FORMAT " parts",
               asked.parts);
  fail_unless (asked.bytes >= kCount * 1920 * 1080, "what is kept is not counted");
  for (const Sample &sample : held) {
    GstIntegralHistogram *const histogram = meta_of (sample)->histogram;
    fail_unless (gst_integral_histogram_get_device_pointer (histogram) != 0);
    fail_unless (gst_integral_histogram_get_device_pointer (histogram) != 0);
  }
  const Counted all (element);
  fail_unless (all.tensors == kCount && all.parts == asked.parts);
  fail_unless (all.bytes >= asked.bytes + kCount * 32 * 1920 * 1080, "tensors are not counted");
}

namespace {

struct OnGpu {
  const char *caps;
  unsigned bins;
  const char *with_corners;  // how frames are computed if a question asks for a corner
} constexpr kOnGpu[] = {
  { "width=1920,height=1080", 32, "on-demand" },
  { "width=320,height=240", 16, "eager" },  // the tensor takes no longer than a box
};

}  // namespace

/// On a GPU frames in its memory are computed at once, until consumers ask for less.
TEST_EACH (automatic_on_gpu, std::size (kOnGpu))
{
  if (!have_upload ())
    return;
  const auto &[caps, bins, with_corners] = kOnGpu[__i__];
  Pipeline pipeline ("videotestsrc pattern=ball ! video/x-raw,format=I420," + std::string (caps)
                     + " ! cudaupload ! video/x-raw(memory:CUDAMemory) ! cudaintegralhist "
                       "name=hist backend=cuda tuning-time=0 bins="
                     + std::to_string (bins) + " ! appsink name=sink max-buffers=1");
  g_autoptr (GstElement) element = pipeline.element ("hist");
  pipeline.set_state (GST_STATE_PLAYING);
  enum class Ask { nothing, corner, map, pointer };
  const auto compute_after = [&] (unsigned frames, Ask what) {
    for (unsigned i = 0; i < frames; i++) {
      const Sample sample = pipeline.pull ();
      GstIntegralHistogram *const histogram = meta_of (sample)->histogram;
      const int w = int (gst_integral_histogram_get_width (histogram)),
                h = int (gst_integral_histogram_get_height (histogram));
      const GstVideoRectangle corner = { w - 90, h - 70, 80, 60 };
      switch (what) {
        case Ask::nothing: continue;
        case Ask::corner: break;
        case Ask::map:
          ask_map (histogram, { 32, 32, 0, 0, 8, 8, w / 8 - 4, h / 8 - 4 }, true);
          break;
        case Ask::pointer: fail_unless (gst_integral_histogram_get_device_pointer (histogram) != 0);
      }
      std::vector<guint32> counts (bins);
      fail_unless (gst_integral_histogram_region (histogram, corner.x, corner.y, corner.w, corner.h,
                                                  counts.data (), nullptr));
      fail_unless (i % 8 != 0
                       || std::ranges::equal (added (picture_of (sample), corner,
                                                     GST_INTEGRAL_HISTOGRAM_CONTENT_BINS, bins),
                                              counts),
                   "wrong counts");
    }
    return Counted (element).compute;
  };
  fail_unless (compute_after (3, Ask::nothing) == "eager", "the first frames wait");
  fail_unless (Counted (element).reason == "the first frames");
  fail_unless (compute_after (30, Ask::corner) == with_corners, "corners: not %s", with_corners);
  fail_unless (compute_after (30, Ask::nothing) == "on-demand", "it does not begin to wait");
  fail_unless (compute_after (30, Ask::pointer) == "eager", "whole tensors do not end it");
  fail_unless (compute_after (30, Ask::map) == "eager", "maps end it");
  // the whole-tensor engine ends after 256 frames
  fail_unless (compute_after (300, Ask::nothing) == "on-demand");
  fail_unless (compute_after (30, Ask::corner) == with_corners, "corners: not %s", with_corners);
  fail_unless (compute_after (30, Ask::map) == "eager", "it does not return");
}

/// Held frames answer questions while the stream is flushed, because their pixels are kept.
TEST (flushed)
{
  constexpr guint64 kCount = 12, kTasks = 4;
  Stream stream (kEngines[1].properties);
  std::vector<GstIntegralHistogram *> frames (kCount);
  for (auto &frame : frames)
    frame = stream.pass ();
  stream.flush (true);
  stream.ask_tensor (frames[0]);
  fail_unless_equals_uint64 (stream.counted (kTasks).behind, kTasks);
  stream.flush (false);

  std::atomic<bool> done = false;
  std::string wrong;
  std::thread asker ([&] {
    for (guint64 i = 1; i < kCount && wrong.empty (); i++)
      wrong = stream.complaint_of_tensor (frames[i]);
    done = true;
  });
  for (bool start = true; !done || !start; start = !start) {
    stream.flush (start);
    g_usleep (1000);
  }
  asker.join ();
  fail_unless (wrong.empty (), "%s", wrong.c_str ());
  fail_unless_equals_uint64 (stream.counted (kCount * kTasks).behind, kCount * kTasks);
  stream.ask_tensor (stream.pass ());
}

/// If the whole-tensor engine fails, the CPU computes the tensor. The next frame has a new engine.
TEST (failure)
{
  constexpr guint64 kTasks = 4;
  g_setenv ("INTEGRALHIST_FAULT", "0:1", TRUE);  // the first part of each engine
  Stream stream (kEngines[0].properties);
  GstIntegralHistogram *const frames[] = { stream.pass (), stream.pass () };
  stream.ask_tensor (frames[0]);
  fail_unless (stream.counted ().tensors == 1 && stream.counted ().behind == 0);
  fail_unless_equals_int (gst_integral_histogram_get_n_shards (frames[0]), 1);
  Stream::ask_region (frames[0]);
  Stream::ask_map (frames[0]);
  g_unsetenv ("INTEGRALHIST_FAULT");
  stream.ask_tensor (frames[1]);
  fail_unless (stream.counted ().tensors == 2 && stream.counted (kTasks).behind == kTasks);
  fail_unless_equals_int (gst_integral_histogram_get_n_shards (frames[1]), 4);
  fail_unless_equals_int (gst_integral_histogram_get_n_shards (frames[0]), 1);
  fail_unless (stream.pass () && stream.counted ().frames == 3);
}

/// A caller that holds all the tensors for which the whole-tensor engine has room does not wait for
/// itself.
TEST (held)
{
  constexpr guint64 kCount = 5;
  Stream stream ("task-bins=8 max-device-memory=24000000");  // which has room for two
  std::vector<GstIntegralHistogram *> frames (kCount);
  for (auto &frame : frames) {
    frame = stream.pass ();
    stream.ask_tensor (frame);
  }
  fail_unless_equals_uint64 (stream.counted ().tensors, kCount);
  const guint64 behind = stream.counted (1).behind;
  fail_unless (behind > 0 && behind < 4 * kCount, "%" G_GUINT64_FORMAT " parts", behind);
}

namespace {

int dropped = 0;  // engines; the streaming thread, which is the test's, counts them

void note_drop (GstDebugCategory *, GstDebugLevel, const gchar *, const gchar *, gint, GObject *,
                GstDebugMessage *message, gpointer)
{
  if (g_str_equal (gst_debug_message_get (message), "dropping an engine"))
    dropped++;
}

}  // namespace

/// Consumers that keep asking for whole tensors get them at once, as long as they do. The engine
/// that computes them stays for 256 frames, and goes when no consumer needs it any more.
TEST (automatic)
{
  gst_debug_remove_log_function (gst_debug_log_default);
  gst_debug_add_log_function (note_drop, nullptr, nullptr);
  gst_debug_set_active (TRUE);
  gst_debug_set_threshold_from_string ("integralhist:5", TRUE);
  const std::string caps = caps_of ("GRAY8", 320, 240);
  const GstVideoInfo info = info_of (caps);
  Harness harness (line_of (kHistogram, ""));
  harness.set_caps (caps);
  unsigned n = 0;
  enum class Ask { nothing, corner, corner_maps, map, tensor };
  const auto compute_after = [&] (unsigned frames, Ask what) {
    for (const unsigned end = n + frames; n < end; n++) {
      const Buffer buffer = harness.pass (noise (info, n));
      GstIntegralHistogram *const histogram = histogram_of (buffer);
      const Rectangle corner = { 300, 220, 20, 20 };
      std::vector<guint32> counts (gst_integral_histogram_get_bins (histogram));
      g_autoptr (GstBuffer) tensor = nullptr;
      switch (what) {
        case Ask::nothing: continue;
        case Ask::corner:
          fail_unless (
              gst_integral_histogram_regions (histogram, &corner, 1, counts.data (), nullptr));
          continue;
        case Ask::corner_maps:  // all in one box
          for (int i = 0; i < 20; i++)
            ask_map (histogram, { 32, 32, 200, 150, 4, 4, 8, 8 }, true);
          fail_unless (
              gst_integral_histogram_regions (histogram, &corner, 1, counts.data (), nullptr));
          ask_map (histogram, { 32, 32, 0, 0, 4, 4, 8, 8 }, true);
          continue;
        case Ask::map: ask_map (histogram, { 32, 32, 0, 0, 8, 8, 37, 27 }, true); continue;
        case Ask::tensor: tensor = gst_integral_histogram_get_buffer (histogram, nullptr);
      }
      fail_unless (tensor);
      Random random (n);
      expect_none (complaint (histogram, picture_of (buffer.get (), info), random));
    }
    return Counted (harness.get ()).compute;
  };
  const auto reason = [&] { return Counted (harness.get ()).reason; };
  fail_unless (compute_after (3, Ask::nothing) == "on-demand");
  fail_unless (reason () == "less than all is asked", "%s", reason ().c_str ());
  fail_unless (compute_after (20, Ask::tensor) == "eager");
  fail_unless (reason () == "all is asked", "%s", reason ().c_str ());
  fail_unless (compute_after (5, Ask::nothing) == "eager", "a pause ends it");
  fail_unless (compute_after (100, Ask::tensor) == "eager");
  fail_unless (compute_after (20, Ask::nothing) == "on-demand", "it does not end");
  fail_unless (compute_after (20, Ask::map) == "eager");
  fail_unless (compute_after (20, Ask::corner) == "on-demand", "corners keep it");
  fail_unless (compute_after (20, Ask::tensor) == "eager");
  fail_unless (compute_after (20, Ask::corner_maps) == "on-demand", "boxes keep it");
  // with the 20 frames before
  fail_unless (compute_after (256 - 20, Ask::corner) == "on-demand" && dropped == 0,
               "the engine goes too early");
  fail_unless (compute_after (1, Ask::corner) == "on-demand" && dropped == 1, "the engine stays");
  fail_unless (compute_after (40, Ask::corner) == "on-demand" && dropped == 1);
  fail_unless (compute_after (20, Ask::tensor) == "eager" && Counted (harness.get ()).frames == n);
}
