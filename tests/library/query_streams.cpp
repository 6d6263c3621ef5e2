// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Many threads ask every question at once, or ask it on CUDA streams. An answer in device memory
// is, bit for bit, the answer to the same question that waits.
#include <deque>

#if INTHIST_CUDA
#include "device_words.hpp"
#endif
#include "questions.hpp"
#include "test.hpp"

namespace {

enum class Kind { regions, grids, likelihoods, likelihood_maps, quantile_maps, vote_maps };
constexpr int kKinds = 6;

/// A question with all of its arguments.
struct Asked {
  Kind kind;
  Measure measure;
  double quantile;
  std::vector<Rectangle> rectangles;
  std::vector<Grid> grids;
  Model model;
  std::vector<Target> targets;
  std::size_t n_answers = 0, n_bests = 0;  // of 4 bytes each; and none where it has no best

  Asked (const Frame &frame, int number, Random &random)
      : kind (Kind (number % kKinds)), measure (Measure (random () % kMeasures)),
        quantile (between (random, 0, 10) / 10.0),
        rectangles (rectangles_of (frame.picture, between (random, 1, 40), random)),
        grids (grids_of (frame.picture)), model (frame.models (random)[random () % 3])
  {
    std::ranges::shuffle (grids, random);
    grids.resize (random () % grids.size () + 1);
    for (std::size_t g = 0; g < grids.size (); g++)
      targets.emplace_back (frame, between (random, 1, 7), random);
    const bool listed = kind == Kind::regions || kind == Kind::likelihoods,
               counted = kind == Kind::regions || kind == Kind::grids;
    n_answers = (listed ? rectangles.size () : windows_of (frame, grids).size ())
                * (counted ? frame.bins : 1);
    if (!counted && kind != Kind::quantile_maps)
      n_bests = listed ? 1 : grids.size ();
  }

  /// The bests lie behind the answers, if the question has any.
  Best *bests_behind (guint32 *answers) const
  {
    return n_bests ? reinterpret_cast<Best *> (answers + n_answers) : nullptr;
  }

  /// Asks, and waits if there is no stream.
  bool ask (GstIntegralHistogram *histogram, guint32 *answers, Best *bests, const gpointer *stream,
            GError **error) const
  {
    const auto ask_by = [&] (auto question, auto on_stream, auto... about) {
      return stream ? on_stream (histogram, about..., *stream, error)
                    : question (histogram, about..., error);
    };
    const guint n = guint (rectangles.size ()), n_grids = guint (grids.size ());
    auto *const values = reinterpret_cast<gfloat *> (answers);
    switch (kind) {
      case Kind::regions:
        return ask_by (gst_integral_histogram_regions, gst_integral_histogram_regions_on_stream,
                       rectangles.data (), n, answers);
      case Kind::grids:
        return ask_by (gst_integral_histogram_grids, gst_integral_histogram_grids_on_stream,
                       grids.data (), n_grids, answers);
      case Kind::likelihoods:
        return ask_by (gst_integral_histogram_likelihoods,
                       gst_integral_histogram_likelihoods_on_stream, rectangles.data (), n,
                       model.data (), measure, values, bests);
      case Kind::likelihood_maps:
        return ask_by (gst_integral_histogram_likelihood_maps,
                       gst_integral_histogram_likelihood_maps_on_stream, grids.data (), n_grids,
                       model.data (), measure, values, bests);
      case Kind::quantile_maps:
        return ask_by (gst_integral_histogram_quantile_maps,
                       gst_integral_histogram_quantile_maps_on_stream, grids.data (), n_grids,
                       quantile, reinterpret_cast<gint32 *> (answers));
      case Kind::vote_maps: break;
    }
    std::vector<Search> searches;
    for (guint g = 0; g < n_grids; g++)
      searches.push_back (targets[g].on (grids[g]));
    return ask_by (gst_integral_histogram_vote_maps, gst_integral_histogram_vote_maps_on_stream,
                   searches.data (), n_grids, measure, values, bests);
  }

  /// Overwrites all arguments of the question.
  void scramble ()
  {
    const auto overwrite = [] (auto &list) {
      std::memset (static_cast<void *> (list.data ()), 0x77, list.size () * sizeof *list.data ());
    };
    overwrite (rectangles);
    overwrite (grids);
    overwrite (model);
    for (Target &target : targets) {
      overwrite (target.patches);
      overwrite (target.models);
    }
  }
};

/// Answers, and the bests behind them.
using Answers = std::vector<guint32>;
static_assert (sizeof (Best) == 2 * sizeof (guint32));

std::size_t words_of (const Asked &asked)
{
  return asked.n_answers + 2 * asked.n_bests;
}

Answers answers_of (const Frame &frame, const Asked &asked)
{
  Answers answers (words_of (asked));
  expect_answer ([&] (GError **error) {
    return asked.ask (frame.histogram, answers.data (), asked.bests_behind (answers.data ()),
                      nullptr, error);
  });
  return answers;
}

}  // namespace

BACKEND_TEST (threads)
{
  constexpr int kThreads = 8, kQuestions = 50, kDifferent = 4 * kKinds;
  Random random (seed ());
  const Frame frame (kSources[0], backend);
  std::vector<Asked> asked;
  std::vector<Answers> wanted;  // other tests see to it that they are right
  for (int i = 0; i < kDifferent; i++)
    wanted.push_back (answers_of (frame, asked.emplace_back (frame, i, random)));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back ([&, own = Random (seed () + unsigned (t))] () mutable {
      for (int i = 0; i < kQuestions; i++) {
        const std::size_t q = own () % kDifferent;
        Answers answers (wanted[q].size ());
        wrong += !asked[q].ask (frame.histogram, answers.data (),
                                asked[q].bests_behind (answers.data ()), nullptr, nullptr)
                 || answers != wanted[q];
      }
    });
  for (std::thread &thread : threads)
    thread.join ();
  fail_unless_equals_int (wrong, 0);
}

/// A histogram in host memory takes no streams.
BACKEND_TEST (no_stream)
{
  if (!g_str_equal (backend, "cpu"))
    return;
  Random random (seed ());
  const Frame frame (kSources[0], backend);
  for (int i = 0; i < kKinds; i++) {
    const Asked asked (frame, i, random);
    Answers answers (words_of (asked), 7);
    const gpointer stream = nullptr;
    expect_failure (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, "in host memory", [&] (GError **error) {
      return asked.ask (frame.histogram, answers.data (), nullptr, &stream, error);
    });
    fail_unless (answers == Answers (answers.size (), 7));
    // with a stream all answers are wanted
    Best bests[5];
    ASSERT_CRITICAL (fail_unless (!asked.ask (frame.histogram, nullptr, bests, &stream, nullptr)));
  }
}

namespace {

#if INTHIST_CUDA
/// Asks `n` questions, one right behind the other, on streams in turn that are busy with other work
/// first. The memory of each question is overwritten at once.
void ask_on_streams (const Frame &frame, int n, int n_streams, const char *what)
{
  check_cuda (cudaSetDevice (gst_integral_histogram_get_cuda_device (
      frame.histogram)));  // the frame comes from host memory: the context is the primary one
  Random random (seed ());
  std::vector<Asked> asked;
  std::vector<Answers> wanted;
  std::vector<std::size_t> offsets;
  std::size_t words = 0;
  for (int i = 0; i < n; i++) {
    wanted.push_back (answers_of (frame, asked.emplace_back (frame, i, random)));
    offsets.push_back (words);
    words +=
        (wanted.back ().size () + 3) / 2 * 2;  // one to three words between them stay as they are
  }
  DeviceWords answers (words), busy (std::size_t (64) << 20);
  std::deque<DeviceStream> streams (static_cast<std::size_t> (n_streams));
  cudaEvent_t begun;
  check_cuda (cudaEventCreateWithFlags (&begun, cudaEventDisableTiming));
  for (int i = 0; i < 400; i++)
    check_cuda (cudaMemsetAsync (busy.data, i, std::size_t (256) << 20, streams[0].get ()));
  check_cuda (cudaEventRecord (begun, streams[0].get ()));
  for (const DeviceStream &stream : streams)
    check_cuda (cudaStreamWaitEvent (stream.get (), begun, 0));
  for (int i = 0; i < n; i++) {
    const gpointer stream = streams[std::size_t (i) % streams.size ()].get ();
    guint32 *const to = answers.data + offsets[std::size_t (i)];
    Asked &question = asked[std::size_t (i)];
    // bests need the alignment of a float, which any word has
    expect_answer ([&] (GError **error) {
      return question.ask (frame.histogram, to, question.bests_behind (to), &stream, error);
    });
    question.scramble ();
  }
  printf ("%s: %d questions were asked %s the first was answered\n", what, n,
          cudaEventQuery (begun) == cudaSuccess ? "when" : "before");
  for (const DeviceStream &stream : streams)
    stream.wait ();
  check_cuda (cudaEventDestroy (begun));
  const Answers got = answers.read ();
  for (int i = 0; i < n; i++) {
    const std::size_t first = offsets[std::size_t (i)], size = wanted[std::size_t (i)].size ();
    const std::size_t end = i + 1 < n ? offsets[std::size_t (i) + 1] : words;
    for (std::size_t k = 0; k < end - first; k++)
      fail_unless (got[first + k] == (k < size ? wanted[std::size_t (i)][k] : 0xa5a5a5a5),
                   "%s: question %d of kind %d, word %zu of %zu", what, i, i % kKinds, k, size);
  }
  // free lanes of earlier questions serve calls that wait
  for (int i = 0; i < kKinds; i++)
    answers_of (frame, Asked (frame, i, random));
}
#endif

}  // namespace

BACKEND_TEST_FROM (on_stream, 1)
{
#if INTHIST_CUDA
  for (const Source &source : kSources)
    ask_on_streams (Frame (source, backend), 2 * kKinds, 1, source.pattern);
#endif
}

BACKEND_TEST_FROM (outstanding, 1)
{
#if INTHIST_CUDA
  ask_on_streams (Frame (kSources[1], backend), 200, 2, "200 on two streams");
#endif
}

/// Asks on the legacy default stream, which has no handle.
BACKEND_TEST_FROM (default_stream, 1)
{
#if INTHIST_CUDA
  Random random (seed ());
  const Frame frame (kSources[0], backend);
  check_cuda (cudaSetDevice (gst_integral_histogram_get_cuda_device (frame.histogram)));
  for (int i = 0; i < kKinds; i++) {
    const Asked asked (frame, i, random);
    const gpointer stream = nullptr;
    DeviceWords answers (words_of (asked));
    expect_answer ([&] (GError **error) {
      return asked.ask (frame.histogram, answers.data, asked.bests_behind (answers.data), &stream,
                        error);
    });
    fail_unless (answers.read () == answers_of (frame, asked));
  }
#endif
}
