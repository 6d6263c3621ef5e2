// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tensors that the CPU computes when somebody asks. The truth is what is counted in the pixels; of
// likelihoods, votes and quantiles it is an eager tensor's answer, bit for bit, which query_answers
// compares with the formulas.
//
// Environment:
//   INTHIST_SEED=n  the seed, printed at the start (a fixed one by default)
#include "questions.hpp"

namespace {

constexpr Source kFrames[] = {
  { "snow", 640, 360, 16, "u16" },          { "snow", 331, 257, 32, "u32" },
  { "smpte", 320, 240, 7, "u16-anchored" }, { "snow", 1, 1, 3, "u32" },
  { "ball", 160, 120, 256, "u32" },         { "snow", 331, 257, 9, "u8-tiled" },
};

constexpr const char *kEager = "cpu compute=eager", *kOnDemand = "cpu compute=on-demand";

/// One frame, on demand and eager.
struct Pair {
  Pair (const Source &source)
      : frame (source, kOnDemand), eager (source, kEager), models (make_models (frame))
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

/// Threads that ask one frame.
GST_START_TEST (threads)
{
  for (int round = 0; round < 4; round++) {
    const Pair pair (kFrames[round % 3]);
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

  explicit Counted (GstHarness *harness)
  {
    g_autoptr (GstElement) element = gst_harness_find_element (harness, "cudaintegralhist");
    g_autoptr (GstStructure) stats = nullptr;
    g_object_get (element, "stats", &stats, nullptr);
    compute = gst_structure_get_string (stats, "compute");
    gst_structure_get (stats, "frames", G_TYPE_UINT64, &frames, "pixel-answers", G_TYPE_UINT64,
                       &pixels, "part-tensors", G_TYPE_UINT64, &parts, "tensors", G_TYPE_UINT64,
                       &tensors, "bytes-on-demand", G_TYPE_UINT64, &bytes, nullptr);
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

/// Consumers that keep asking for whole tensors get them at once, as long as they do.
GST_START_TEST (automatic)
{
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
  fail_unless (compute_after (300, Ask::corner) == "on-demand");
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
  tcase_add_test (tcase, threads);
  tcase_add_test (tcase, tables);
  tcase_add_test (tcase, track);
  tcase_add_test (tcase, cost);
  tcase_add_test (tcase, automatic);
  return suite;
}

GST_CHECK_MAIN (on_demand);
