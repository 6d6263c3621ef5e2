// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tensors that are computed when somebody asks. The truth is what is counted in the pixels; of
// likelihoods, votes and quantiles it is an eager tensor's answer, bit for bit, which query_answers
// compares with the formulas.
//
// Environment:
//   INTHIST_SEED=n  the seed, printed at the start (a fixed one by default)
#include <numeric>

#include "questions.hpp"

namespace {

constexpr Source kFrames[] = {
  { "snow", 640, 360, 16, "u16" },          { "snow", 331, 257, 32, "u32" },
  { "smpte", 320, 240, 7, "u16-anchored" }, { "snow", 1, 1, 3, "u32" },
  { "ball", 160, 120, 256, "u32" },         { "snow", 331, 257, 9, "u8-tiled" },
};

constexpr const char *kEager = "cpu compute=eager", *kOnDemand = "cpu compute=on-demand",
                     // with an engine behind it, which computes whole tensors
    *kBehind[] = { "cpu compute=on-demand task-bins=3 cuda-device-ids=0,1,2",
                   "cpu compute=on-demand max-device-memory=2000000" };

/// An element whose frames lie in a GPU's memory.
constexpr const char *kUploaded = "cudaupload ! video/x-raw(memory:CUDAMemory) ! cudaintegralhist";

/// Returns whether there is a GPU, and cudaupload; says loudly what is missing.
bool have_upload ()
{
  if (!have ("cuda"))
    return false;
  g_autoptr (GstElementFactory) factory = gst_element_factory_find ("cudaupload");
  if (!factory)
    printf ("SKIP: frames in CUDA memory: no element cudaupload\n");
  return factory != nullptr;
}

/// One frame, on demand and eager.
struct Pair {
  Pair (const Source &source, const char *on_demand = kOnDemand, const char *at_once = kEager,
        const char *element = "cudaintegralhist")
      : frame (source, on_demand, element), eager (source, at_once, element),
        models (make_models (frame))
  {
    fail_unless (frame.picture.luma == eager.picture.luma, "the source makes other frames");
  }

  const Frame frame, eager;
  const std::vector<Model> models;

private:
  static std::vector<Model> make_models (const Frame &frame)
  {
    Random random (seed ());
    return frame.models (random);
  }
};

/// A rectangle of up to `part` of a side, over the borders too.
Rectangle rectangle (const Picture &picture, double part, Random &random)
{
  const int w = picture.width, h = picture.height;
  return { between (random, -w / 4, w), between (random, -h / 4, h),
           between (random, 0, int (part * w) + 1), between (random, 0, int (part * h) + 1) };
}

Grid grid (const Picture &picture, Random &random)
{
  const Rectangle window = rectangle (picture, 0.3, random);
  return { std::max (1, window.w),
           std::max (1, window.h),
           window.x,
           window.y,
           between (random, 1, 9),
           between (random, 1, 9),
           between (random, 1, 12),
           between (random, 1, 12) };
}

void expect_counts (const Pair &pair, const std::vector<Rectangle> &rectangles)
{
  const guint bins = pair.frame.bins, n = guint (rectangles.size ());
  Room<guint32> counts (n * bins);
  expect_answer ([&] (GError **error) {
    return gst_integral_histogram_regions (pair.frame.histogram, rectangles.data (), n,
                                           counts.data (), error);
  });
  for (guint i = 0; i < n; i++) {
    const auto &[x, y, w, h] = rectangles[i];
    fail_unless (std::ranges::equal (pair.frame.count (pair.frame.clip (x, y, w, h)),
                                     std::span (counts.data () + i * bins, bins)),
                 "wrong counts in %d,%d %dx%d", x, y, w, h);
  }
}

/// Asks both frames, and expects the same bits.
template <class Answer>
void expect_same (const Pair &pair, std::size_t n, auto &&question)
{
  Room<Answer> got (n), wanted (n);
  expect_answer ([&] (GError **error) { return question (pair.frame, got.data (), error); });
  expect_answer ([&] (GError **error) { return question (pair.eager, wanted.data (), error); });
  fail_unless (std::memcmp (got.data (), wanted.data (), n * sizeof (Answer)) == 0,
               "other bits than an eager tensor's");
}

void ask_at_random (const Pair &pair, Random &random)
{
  const Picture &picture = pair.frame.picture;
  const Model &model = pair.models[random () % pair.models.size ()];
  const auto measure = Measure (random () % kMeasures);
  const Grid where = grid (picture, random);
  const std::size_t n = std::size_t (where.columns) * where.rows;
  switch (random () % 8) {
    case 0:
    case 1:
    case 2: {
      std::vector<Rectangle> rectangles (std::size_t (between (random, 1, 3)));
      for (Rectangle &r : rectangles)
        r = rectangle (picture, 0.1, random);
      return expect_counts (pair, rectangles);
    }
    case 3: {
      std::vector<Rectangle> rectangles (200);
      for (Rectangle &r : rectangles)
        r = rectangle (picture, 1, random);
      return expect_counts (pair, rectangles);
    }
    case 4:
      return expect_same<gfloat> (pair, n, [&] (const Frame &frame, gfloat *to, GError **error) {
        return gst_integral_histogram_likelihood_maps (frame.histogram, &where, 1, model.data (),
                                                       measure, to, nullptr, error);
      });
    case 5:
      return expect_same<gint32> (pair, n, [&] (const Frame &frame, gint32 *to, GError **error) {
        return gst_integral_histogram_quantile_maps (frame.histogram, &where, 1, 0.4, to, error);
      });
    case 6: {
      Random targets (random ());
      const Target target (pair.frame, 3, targets);
      const Search search = target.on (where);
      return expect_same<gfloat> (pair, n, [&] (const Frame &frame, gfloat *to, GError **error) {
        return gst_integral_histogram_vote_maps (frame.histogram, &search, 1, measure, to, nullptr,
                                                 error);
      });
    }
    default: break;
  }
  if (random () % 8 != 0)  // everything afterwards is answered from the whole tensor
    return;
  const auto tensor = [] (const Frame &frame) {
    g_autoptr (GError) error = nullptr;
    g_autoptr (GstBuffer) buffer = gst_integral_histogram_get_buffer (frame.histogram, &error);
    fail_unless (buffer, "%s", error ? error->message : "");
    GstMapInfo map;
    fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
    std::vector<guint8> bytes (map.data, map.data + map.size);
    gst_buffer_unmap (buffer, &map);
    return bytes;
  };
  const std::vector<guint8> got = tensor (pair.frame), wanted = tensor (pair.eager);
  const Rows rows = rows_of (pair.frame.histogram);
  fail_unless (got.size () == wanted.size ());
  for (guint b = 0; b < pair.frame.bins; b++)
    for (guint y = 0; y < rows.n; y++) {
      const gsize at = b * rows.plane_pitch + y * rows.pitch;
      fail_unless (std::memcmp (&got[at], &wanted[at], rows.used) == 0,
                   "bin %u, row %u differ from an eager tensor", b, y);
    }
}

}  // namespace

/// Questions of all kinds, one after another, of frames whose element is long gone.
GST_START_TEST (sequences)
{
  Random random (seed ());
  for (const Source &source : kFrames)
    for (int round = 0; round < 6; round++) {
      const Pair pair (source);
      for (int i = 0; i < 25; i++)
        ask_at_random (pair, random);
    }
}
GST_END_TEST;

/// The same where an engine of several devices, of rounds, or of a GPU computes whole tensors.
GST_START_TEST (sequences_behind)
{
  Random random (seed ());
  std::vector<const char *> backends (std::begin (kBehind), std::end (kBehind));
  if (have ("cuda"))
    backends.push_back ("cuda compute=on-demand");
  for (const char *const backend : backends)
    for (const Source &source : kFrames) {
      const Pair pair (source, backend);
      for (int i = 0; i < 25; i++)
        ask_at_random (pair, random);
    }
}
GST_END_TEST;

/// The same of frames in a GPU's memory, which computes parts of them.
GST_START_TEST (sequences_on_gpu)
{
  if (!have_upload ())
    return;
  Random random (seed ());
  for (const Source &source : kFrames)
    for (int round = 0; round < 3; round++) {
      const Pair pair (source, "cuda compute=on-demand", "cuda compute=eager", kUploaded);
      for (int i = 0; i < 25; i++)
        ask_at_random (pair, random);
    }
}
GST_END_TEST;

/// Threads that ask one frame.
GST_START_TEST (threads)
{
  const bool upload = have_upload ();
  for (int round = 0; round < (upload ? 8 : 6); round++) {
    const Source &source = kFrames[round % 3];
    const Pair pair =
        round < 6 ? Pair (source, round < 4 ? kOnDemand : kBehind[0])
                  : Pair (source, "cuda compute=on-demand", "cuda compute=eager", kUploaded);
    std::vector<std::thread> all;
    for (unsigned t = 0; t < 8; t++)
      all.emplace_back ([&, t] {
        Random random (seed () + 100 * unsigned (round) + t);
        for (int i = 0; i < 15; i++)
          ask_at_random (pair, random);
      });
    for (std::thread &thread : all)
      thread.join ();
  }
}
GST_END_TEST;

/// Tables of values and squares.
GST_START_TEST (tables)
{
  Random random (seed ());
  for (const bool squared : { false, true }) {
    const Setup setup = { "cudaintegralimage", squared ? "squared=true" : "", "", kOnDemand };
    for (const char *format : { "GRAY8", "RGB" }) {
      Harness harness (setup, "");
      const std::string caps = caps_text (format, 211, 133);
      const GstVideoInfo info = video_info (caps);
      harness.set_caps (caps);
      for (int frame = 0; frame < 5; frame++) {
        const Buffer buffer = harness.pass (noise (info, unsigned (frame)));
        GstIntegralHistogram *const tables =
            gst_buffer_get_integral_histogram_meta (buffer.get ())->histogram;
        for (int i = 0; i < 20; i++) {
          const std::string wrong = complaint (tables, picture_of (buffer.get (), info), random);
          fail_unless (wrong.empty (), "%s: %s", format, wrong.c_str ());
        }
      }
    }
  }
}
GST_END_TEST;

/// A tracker follows the same track, to the last digit, as its messages have it.
GST_START_TEST (track)
{
  const auto tracks = [] (const char *compute) {
    constexpr int kCount = 30;
    Pipeline pipeline ("videotestsrc pattern=ball num-buffers=" + std::to_string (kCount)
                       + " ! video/x-raw,format=GRAY8,width=320,height=240 ! "
                         "cudaintegralhist bins=16 backend=cpu compute="
                       + compute + " ! integralhisttrack targets=20,100,60,60 ! fakesink");
    pipeline.set_state (GST_STATE_PLAYING);
    std::string all;
    for (int i = 0; i < kCount; i++) {
      g_autoptr (GstMessage) message = pipeline.message (GST_MESSAGE_ELEMENT);
      g_autofree char *text = gst_value_serialize (
          gst_structure_get_value (gst_message_get_structure (message), "tracks"));
      all += std::string (text) + "\n";
    }
    return all;
  };
  const std::string eager = tracks ("eager");
  fail_unless (eager.find ("confidence") != std::string::npos, "%s", eager.c_str ());
  fail_unless (tracks ("on-demand") == eager);
}
GST_END_TEST;

namespace {

struct Counted {
  std::string compute;
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
    gst_structure_get (stats, "frames", G_TYPE_UINT64, &frames, "pixel-answers", G_TYPE_UINT64,
                       &pixels, "part-tensors", G_TYPE_UINT64, &parts, "tensors", G_TYPE_UINT64,
                       &tensors, "bytes-on-demand", G_TYPE_UINT64, &bytes, nullptr);
    if (const GValue *all = gst_structure_get_value (stats, "parts"))
      for (guint i = 0; i < gst_value_array_get_size (all); i++)
        behind += g_value_get_uint64 (gst_value_array_get_value (all, i));
  }
};

constexpr Setup kHistogram = { "cudaintegralhist", "bins=32", "", "cpu" };

}  // namespace

/// What is not asked is not computed.
GST_START_TEST (cost)
{
  constexpr guint64 kCount = 10;
  const std::string caps = caps_text ("GRAY8", 640, 480);
  const GstVideoInfo info = video_info (caps);
  std::vector<Buffer> held;
  const auto run = [&] (auto &&ask, bool hold = false) {
    Harness harness (kHistogram, "compute=on-demand");
    harness.set_caps (caps);
    for (guint i = 0; i < kCount; i++) {
      Buffer buffer = harness.pass (noise (info, i));
      ask (gst_buffer_get_integral_histogram_meta (buffer.get ())->histogram);
      if (hold)
        held.push_back (std::move (buffer));
    }
    return Counted (harness.get ());
  };
  const Counted nobody = run ([] (GstIntegralHistogram *) {});
  fail_unless (nobody.frames == kCount && nobody.compute == "on-demand" && nobody.pixels == 0
               && nobody.parts == 0 && nobody.tensors == 0);
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
    const std::vector<gfloat> model (32, 1);
    const Grid grid = { 40, 40, 200, 100, 2, 2, 16, 16 };
    gfloat values[256];
    for (int i = 0; i < 3; i++)
      fail_unless (gst_integral_histogram_likelihood_maps (histogram, &grid, 1, model.data (),
                                                           GST_INTEGRAL_HISTOGRAM_MEASURE_L1,
                                                           values, nullptr, nullptr));
  });
  fail_unless (map.pixels == 0 && map.parts == kCount && map.tensors == 0);
  fail_unless (map.bytes > nobody.bytes + 4 * 32 * 70 * 70, "the part is not counted");
}
GST_END_TEST;

namespace {

constexpr int kWidth = 320, kHeight = 240;

/// Frames on demand, some of which are held, and what they are asked.
class Stream {
public:
  explicit Stream (const std::string &properties)
      : caps_ (caps_text ("GRAY8", kWidth, kHeight)), info_ (video_info (caps_)),
        harness_ (kHistogram, "compute=on-demand " + properties)
  {
    harness_.set_caps (caps_);
  }

  GstHarness *get () const { return harness_.get (); }
  Counted counted () const { return Counted (harness_.get ()); }
  /// Waits until the devices have counted so many parts: they do just after those who wait for a
  /// part have heard of it.
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
    return gst_buffer_get_integral_histogram_meta (held_.back ().get ())->histogram;
  }
  void flush (bool start)
  {
    gst_harness_push_event (get (),
                            start ? gst_event_new_flush_start () : gst_event_new_flush_stop (TRUE));
    if (!start) {
      GstSegment segment;
      gst_segment_init (&segment, GST_FORMAT_TIME);
      gst_harness_push_event (get (), gst_event_new_segment (&segment));
    }
  }
  /// Says what is wrong with the whole tensor of a frame, held or not.
  std::string complaint_of_tensor (GstIntegralHistogram *histogram) const
  {
    const auto buffer_of = [] (const Buffer &buffer) {
      return gst_buffer_get_integral_histogram_meta (buffer.get ())->histogram;
    };
    const auto held = std::ranges::find (held_, histogram, buffer_of);
    const Picture picture = picture_of (held->get (), info_);
    g_autoptr (GError) error = nullptr;
    g_autoptr (GstBuffer) tensor = gst_integral_histogram_get_buffer (histogram, &error);
    if (!tensor)
      return error->message;
    GstMapInfo map;
    fail_unless (gst_buffer_map (tensor, &map, GST_MAP_READ));
    const Sums counts =
        added (picture, { 0, 0, kWidth, kHeight }, GST_INTEGRAL_HISTOGRAM_CONTENT_BINS, kBins);
    const gsize row = gst_integral_histogram_get_row_pitch (histogram),
                plane = gst_integral_histogram_get_plane_pitch (histogram);
    std::string wrong;
    for (guint b = 0; b < kBins; b++) {
      guint32 last;
      std::memcpy (&last, map.data + b * plane + (kHeight - 1) * row + (kWidth - 1) * sizeof last,
                   sizeof last);
      if (last != counts[b])
        wrong = "bin " + std::to_string (b) + " of the tensor is wrong";
    }
    gst_buffer_unmap (tensor, &map);
    return wrong;
  }
  void ask_tensor (GstIntegralHistogram *histogram) const
  {
    const std::string wrong = complaint_of_tensor (histogram);
    fail_unless (wrong.empty (), "%s", wrong.c_str ());
  }
  /// A few pixels, and all of a region.
  static void ask_region (GstIntegralHistogram *histogram)
  {
    guint32 counts[kBins];
    fail_unless (gst_integral_histogram_region (histogram, 100, 90, 40, 50, counts, nullptr));
    fail_unless_equals_int (std::accumulate (counts, counts + kBins, 0u), 40 * 50);
  }
  static void ask_map (GstIntegralHistogram *histogram)
  {
    const std::vector<gfloat> model (kBins, 1);
    const Grid grid = { 20, 20, 100, 50, 2, 2, 16, 16 };
    gfloat values[256];
    fail_unless (gst_integral_histogram_likelihood_maps (histogram, &grid, 1, model.data (),
                                                         GST_INTEGRAL_HISTOGRAM_MEASURE_L1, values,
                                                         nullptr, nullptr));
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

/// The engine behind frames on demand computes whole tensors, and nothing else.
GST_START_TEST (behind)
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
GST_END_TEST;

/// A GPU computes parts of frames that lie in its memory, and gives their buffers back.
GST_START_TEST (on_gpu)
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
GST_END_TEST;

/// Frames that are held are asked while the stream is flushed: their pixels are there.
GST_START_TEST (flushed)
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
GST_END_TEST;

/// Where the engine behind fails, the CPU computes what it was asked. The next frame has another.
GST_START_TEST (failure)
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
GST_END_TEST;

/// Whoever holds all the tensors that the engine behind has room for does not wait for itself.
GST_START_TEST (held)
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
GST_END_TEST;

namespace {

int dropped = 0;  // engines, by the streaming thread, which is the test's

void note_drop (GstDebugCategory *, GstDebugLevel, const gchar *, const gchar *, gint, GObject *,
                GstDebugMessage *message, gpointer)
{
  if (g_str_equal (gst_debug_message_get (message), "dropping an engine"))
    dropped++;
}

}  // namespace

/// Consumers that keep asking for whole tensors get them at once, as long as they do. The engine
/// that computes them stays for 256 frames, and goes when nobody needs it any more.
GST_START_TEST (automatic)
{
  gst_debug_remove_log_function (gst_debug_log_default);
  gst_debug_add_log_function (note_drop, nullptr, nullptr);
  gst_debug_set_active (TRUE);
  gst_debug_set_threshold_from_string ("integralhist:5", TRUE);
  const std::string caps = caps_text ("GRAY8", 320, 240);
  const GstVideoInfo info = video_info (caps);
  Harness harness (kHistogram, "");
  harness.set_caps (caps);
  unsigned n = 0;
  enum class Ask { nothing, corner, corner_maps, map, tensor };
  const auto compute_after = [&] (unsigned frames, Ask what) {
    for (const unsigned end = n + frames; n < end; n++) {
      const Buffer buffer = harness.pass (noise (info, n));
      GstIntegralHistogram *const histogram =
          gst_buffer_get_integral_histogram_meta (buffer.get ())->histogram;
      const Rectangle corner = { 300, 220, 20, 20 };
      const std::vector<gfloat> model (gst_integral_histogram_get_bins (histogram), 1);
      std::vector<guint32> counts (model.size ());
      const Grid grid = { 32, 32, 0, 0, 8, 8, 37, 27 };
      GstIntegralHistogramBest best;
      g_autoptr (GstBuffer) tensor = nullptr;
      switch (what) {
        case Ask::nothing: continue;
        case Ask::corner:
          fail_unless (
              gst_integral_histogram_regions (histogram, &corner, 1, counts.data (), nullptr));
          continue;
        case Ask::corner_maps: {  // all in one box
          const Grid near = { 32, 32, 200, 150, 4, 4, 8, 8 };
          for (int i = 0; i < 20; i++)
            fail_unless (gst_integral_histogram_likelihood_maps (
                histogram, &near, 1, model.data (), GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION,
                nullptr, &best, nullptr));
          fail_unless (
              gst_integral_histogram_regions (histogram, &corner, 1, counts.data (), nullptr));
          const Grid far = { 32, 32, 0, 0, 4, 4, 8, 8 };
          fail_unless (gst_integral_histogram_likelihood_maps (
              histogram, &far, 1, model.data (), GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION,
              nullptr, &best, nullptr));
          continue;
        }
        case Ask::map:
          fail_unless (gst_integral_histogram_likelihood_maps (
              histogram, &grid, 1, model.data (), GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION,
              nullptr, &best, nullptr));
          continue;
        case Ask::tensor: tensor = gst_integral_histogram_get_buffer (histogram, nullptr);
      }
      fail_unless (tensor);
      Random random (n);
      const std::string wrong = complaint (histogram, picture_of (buffer.get (), info), random);
      fail_unless (wrong.empty (), "%s", wrong.c_str ());
    }
    return Counted (harness.get ()).compute;
  };
  fail_unless (compute_after (3, Ask::nothing) == "on-demand");
  fail_unless (compute_after (20, Ask::tensor) == "eager");
  fail_unless (compute_after (5, Ask::nothing) == "eager", "a pause ends it");
  fail_unless (compute_after (100, Ask::tensor) == "eager");
  fail_unless (compute_after (20, Ask::nothing) == "on-demand", "it does not end");
  fail_unless (compute_after (20, Ask::map) == "eager");
  fail_unless (compute_after (20, Ask::corner) == "on-demand", "corners keep it");
  fail_unless (compute_after (20, Ask::tensor) == "eager");
  fail_unless (compute_after (20, Ask::corner_maps) == "on-demand", "boxes keep it");
  // with the 20 before
  fail_unless (compute_after (256 - 20, Ask::corner) == "on-demand" && dropped == 0,
               "the engine goes too early");
  fail_unless (compute_after (1, Ask::corner) == "on-demand" && dropped == 1, "the engine stays");
  fail_unless (compute_after (40, Ask::corner) == "on-demand" && dropped == 1);
  fail_unless (compute_after (20, Ask::tensor) == "eager" && Counted (harness.get ()).frames == n);
}
GST_END_TEST;

static Suite *on_demand_suite ()
{
  Suite *const suite = suite_create ("on_demand");
  TCase *const tcase = tcase_create ("on_demand");
  setvbuf (stdout, nullptr, _IOLBF, 0);  // a test that fails ends its process without a flush
  printf ("INTHIST_SEED=%u\n", seed ());
  suite_add_tcase (suite, tcase);
  tcase_set_timeout (tcase, 120);
  tcase_add_test (tcase, sequences);
  tcase_add_test (tcase, sequences_behind);
  tcase_add_test (tcase, sequences_on_gpu);
  tcase_add_test (tcase, on_gpu);
  tcase_add_test (tcase, threads);
  tcase_add_test (tcase, tables);
  tcase_add_test (tcase, track);
  tcase_add_test (tcase, cost);
  tcase_add_loop_test (tcase, behind, 0, G_N_ELEMENTS (kEngines));
  tcase_add_test (tcase, flushed);
  tcase_add_test (tcase, failure);
  tcase_add_test (tcase, held);
  tcase_add_test (tcase, automatic);
  return suite;
}

GST_CHECK_MAIN (on_demand);
