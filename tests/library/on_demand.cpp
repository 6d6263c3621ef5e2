// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tensors that are computed only for a question give the right answers. The truth is counted in the
// pixels. For likelihoods, votes and quantiles it is an eager tensor's answer, bit for bit, which
// query_answers compares with the formulas.
#include "questions.hpp"
#include "test.hpp"

namespace {

constexpr Source kFrames[] = {
  { "snow", 640, 360, 16, "u16" },  { "snow", 331, 257, 32, "u32" },
  { "smpte", 320, 240, 7, "u16" },  { "snow", 1, 1, 3, "u32" },
  { "ball", 160, 120, 256, "u32" }, { "snow", 331, 257, 9, "u8-tiled" },
};

constexpr const char *kEager = "cpu compute=eager", *kOnDemand = "cpu compute=on-demand",
                     // frames on demand with a whole-tensor engine
    *kBehind[] = { "cpu compute=on-demand task-bins=3 cuda-device-ids=0,1,2",
                   "cpu compute=on-demand max-device-memory=2000000" };

/// An element whose frames lie in a GPU's memory.
constexpr const char *kUploaded = "cudaupload ! video/x-raw(memory:CUDAMemory) ! cudaintegralhist";

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

/// A rectangle of up to `part` of a side, also over the borders.
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
  const guint n = guint (rectangles.size ());
  Room<guint32> counts (n * pair.frame.bins);
  expect_answer (gst_integral_histogram_regions, pair.frame.histogram, rectangles.data (), n,
                 counts.data ());
  expect_counts (pair.frame, rectangles, counts);
}

/// Asks both frames, and fails unless they answer the same bits.
template <class Answer>
void expect_same (const Pair &pair, std::size_t n, auto &&question)
{
  Room<Answer> got (n), wanted (n);
  expect_answer (question, pair.frame.histogram, got.data ());
  expect_answer (question, pair.eager.histogram, wanted.data ());
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
      return expect_same<gfloat> (pair, n, [&] (auto *histogram, gfloat *to, GError **error) {
        return gst_integral_histogram_likelihood_maps (histogram, &where, 1, model.data (), measure,
                                                       to, nullptr, error);
      });
    case 5:
      return expect_same<gint32> (pair, n, [&] (auto *histogram, gint32 *to, GError **error) {
        return gst_integral_histogram_quantile_maps (histogram, &where, 1, 0.4, to, error);
      });
    case 6: {
      Random targets (random ());
      const Target target (pair.frame, 3, targets);
      const Search search = target.on (where);
      return expect_same<gfloat> (pair, n, [&] (auto *histogram, gfloat *to, GError **error) {
        return gst_integral_histogram_vote_maps (histogram, &search, 1, measure, to, nullptr,
                                                 error);
      });
    }
    default: break;
  }
  if (random () % 8 != 0)  // everything afterwards is answered from the whole tensor
    return;
  const std::vector<guint8> got = TensorCopy (pair.frame.histogram).bytes,
                            wanted = TensorCopy (pair.eager.histogram).bytes;
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

/// Frames answer questions of all kinds, one after another, after their element has gone.
TEST (sequences)
{
  Random random (seed ());
  for (const Source &source : kFrames)
    for (int round = 0; round < 6; round++) {
      const Pair pair (source);
      for (int i = 0; i < 25; i++)
        ask_at_random (pair, random);
    }
}

/// The same questions, if an engine of several devices, of rounds, or of a GPU computes whole
/// tensors.
TEST (sequences_behind)
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

/// The same questions about frames in a GPU's memory, of which the GPU computes parts.
TEST (sequences_on_gpu)
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

/// Several threads ask one frame.
TEST (threads)
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

/// Tables of values and squares.
TEST (tables)
{
  Random random (seed ());
  for (const bool squared : { false, true }) {
    const Setup setup = { "cudaintegralimage", squared ? "squared=true" : "", "", kOnDemand };
    for (const char *format : { "GRAY8", "RGB" }) {
      Harness harness (line_of (setup, ""));
      const std::string caps = caps_of (format, 211, 133);
      const GstVideoInfo info = info_of (caps);
      harness.set_caps (caps);
      for (int frame = 0; frame < 5; frame++) {
        const Buffer buffer = harness.pass (noise (info, unsigned (frame)));
        GstIntegralHistogram *const tables = histogram_of (buffer);
        for (int i = 0; i < 20; i++) {
          expect_none (complaint (tables, picture_of (buffer.get (), info), random), format);
        }
      }
    }
  }
}

/// A tracker follows the same track on demand, to the last digit in its messages.
TEST (track)
{
  const auto tracks = [] (const char *compute) {
    constexpr int kCount = 30;
    Pipeline pipeline ("videotestsrc pattern=ball num-buffers=" + std::to_string (kCount)
                       + " ! video/x-raw,format=GRAY8,width=320,height=240 ! "
                         "cudaintegralhist bins=16 backend=cpu compute="
                       + compute
                       + " ! integralhisttrack method=fragments targets=20,100,60,60 ! fakesink");
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
  expect_parts (eager, { "confidence" });
  fail_unless (tracks ("on-demand") == eager);
}
