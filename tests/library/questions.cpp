// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The questions of gstintegralhistogramquery.h, asked of frames that come out of pipelines, on each
// backend: against what is counted in the frame's pixels and the formulas of textbooks in double
// precision. What a question on a stream answers in device memory is what the same question answers
// when it waits, bit for bit.
//
// Environment:
//   INTHIST_SEED=n  the seed, printed at the start (a fixed one by default)
#include <cstring>
#include <limits>
#include <span>

#if INTHIST_CUDA
#include <cuda_runtime.h>
#endif

#include "formulas.hpp"
#include "pipelines.hpp"

namespace {

using Measure = GstIntegralHistogramMeasure;
using Grid = GstIntegralHistogramGrid;
using Best = GstIntegralHistogramBest;
using Search = GstIntegralHistogramSearch;
using Rectangle = GstVideoRectangle;
using Model = std::vector<gfloat>;

constexpr int kMeasures = 10;

constexpr struct Source {
  const char *pattern;
  int width, height;
  guint bins;
  const char *counter;
} kSources[] = {
  { "snow", 97, 61, 16, "u32" },
  { "smpte", 320, 240, 32, "u16" },  // which has windows of more than 65535 pixels
  { "snow", 133, 97, 7, "u16-anchored" },
  { "ball", 160, 120, 256, "u32" },
  { "snow", 1, 1, 3, "u32" },
  { "gradient", 64, 48, 1, "u16" },
};

/// A frame that has come out of a pipeline.
class Frame {
public:
  Frame (const Source &source, const char *backend, const char *element = "cudaintegralhist")
      : sample_ (sample (source, backend, element)), picture (picture_of (sample_)),
        histogram (meta_of (sample_)->histogram), bins (gst_integral_histogram_get_bins (histogram))
  {
  }

  /// The part of a window that is inside the frame.
  Rectangle clip (gint64 x, gint64 y, int width, int height) const
  {
    const gint64 left = std::max<gint64> (x, 0), top = std::max<gint64> (y, 0);
    const gint64 right = std::min<gint64> (x + width, picture.width),
                 bottom = std::min<gint64> (y + height, picture.height);
    return right > left && bottom > top
               ? Rectangle{ int (left), int (top), int (right - left), int (bottom - top) }
               : Rectangle{};
  }

  /// How many pixels of each bin are in a window.
  Sums count (const Rectangle &clipped) const
  {
    return added (picture, clipped, GST_INTEGRAL_HISTOGRAM_CONTENT_BINS, bins);
  }

  /// What to look for: a window of the picture, counted and not divided by anything; a few bins of
  /// all; and all alike.
  std::vector<Model> models (Random &random) const
  {
    const Sums seen = count (clip (picture.width / 4, picture.height / 4, picture.width / 3 + 1,
                                   picture.height / 3 + 1));
    Model few (bins), even (bins, 0.7f);
    few[random () % bins] += 30;
    few[random () % bins] += 10;
    return { { seen.begin (), seen.end () }, few, even };
  }

private:
  static Sample sample (const Source &source, const char *backend, const std::string &element)
  {
    std::string line = std::string ("videotestsrc num-buffers=1 pattern=") + source.pattern
                       + " ! video/x-raw,format=GRAY8,width=" + std::to_string (source.width)
                       + ",height=" + std::to_string (source.height) + " ! " + element
                       + " backend=" + backend;
    if (element == "cudaintegralhist")
      line += " bins=" + std::to_string (source.bins) + " counter=" + source.counter;
    Pipeline pipeline (line + " ! appsink name=sink");
    pipeline.set_state (GST_STATE_PLAYING);
    return pipeline.pull ();
  }

  const Sample sample_;

public:
  const Picture picture;
  GstIntegralHistogram *const histogram;
  const guint bins;
};

/// Of several sizes, over the borders of the frame and nowhere near it.
std::vector<Grid> grids_of (const Picture &picture)
{
  const int w = picture.width, h = picture.height;
  return { { w / 4 + 1, h / 3 + 1, 0, 0, 1 + w / 9, 1 + h / 7, 7, 5 },
           { w / 2 + 1, h / 2 + 1, -w, -h, w / 5 + 1, h / 2 + 1, 11, 5 },
           { w, h, 0, 0, 1, 1, 1, 1 },
           { 1, 1, w - 3, h - 2, 1, 1, 7, 4 },
           { 9, 6, -7, -9, 3, 2, 13, 9 } };
}

std::vector<Rectangle> rectangles_of (const Picture &picture, int n, Random &random)
{
  const int w = picture.width, h = picture.height;
  std::vector<Rectangle> rectangles = {
    { 0, 0, w, h }, { -5, -7, w + 20, h + 20 }, { w, 0, 5, 5 }, { 3, 3, 0, 4 }, { w / 2, 0, w, h }
  };
  while (int (rectangles.size ()) < n)
    rectangles.push_back ({ between (random, -w / 2, w), between (random, -h / 2, h),
                            between (random, 0, w), between (random, 0, h) });
  return rectangles;
}

/// Their windows inside the frame, one grid after another.
std::vector<Rectangle> windows_of (const Frame &frame, const std::vector<Grid> &grids)
{
  std::vector<Rectangle> windows;
  for (const Grid &grid : grids)
    for (int j = 0; j < grid.rows; j++)
      for (int i = 0; i < grid.columns; i++)
        windows.push_back (frame.clip (grid.x + gint64 (i) * grid.step_x,
                                       grid.y + gint64 (j) * grid.step_y, grid.window_width,
                                       grid.window_height));
  return windows;
}

/// What they hold, each divided by its sum.
Weights shares (const auto &numbers)
{
  Weights weights (numbers.begin (), numbers.end ());
  const double sum = std::accumulate (weights.begin (), weights.end (), 0.0);
  for (double &weight : weights)
    weight = sum > 0 ? weight / sum : 0;
  return weights;
}

/// As users say it.
const char *name_of (Measure measure)
{
  auto *const names =
      static_cast<GEnumClass *> (g_type_class_ref (GST_TYPE_INTEGRAL_HISTOGRAM_MEASURE));
  fail_unless_equals_int (int (names->n_values), kMeasures);
  const char *const name = g_enum_get_value (names, measure)->value_nick;
  g_type_class_unref (names);
  return name;
}

bool is_similarity (Measure measure)
{
  return measure == GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION
         || measure == GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION;
}

/// Room for answers, with something behind them that must stay.
template <class Answer>
class Room {
public:
  explicit Room (std::size_t n) : n_ (n), all_ (n + kBehind)
  {
    std::memset (static_cast<void *> (all_.data ()), 0xa5, all_.size () * sizeof (Answer));
  }
  ~Room ()
  {
    const auto *const end = reinterpret_cast<const guint8 *> (all_.data () + n_);
    fail_unless (std::all_of (end, end + kBehind * sizeof (Answer),
                              [] (guint8 byte) { return byte == 0xa5; }),
                 "wrote behind the answers");
  }

  Answer *data () { return all_.data (); }
  const Answer &operator[] (std::size_t i) const { return all_[i]; }

private:
  static constexpr std::size_t kBehind = 16;
  const std::size_t n_;
  std::vector<Answer> all_;
};

/// `question (error)` must be answered.
void expect_answer (auto &&question)
{
  g_autoptr (GError) error = nullptr;
  const bool answered = question (&error);
  fail_unless (answered == !error);
  fail_unless (answered, "%s", error ? error->message : "");
}

/// It must be refused, and the message says `why`.
void expect_refusal (const char *why, auto &&question,
                     GstIntegralHistogramError code = GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION)
{
  g_autoptr (GError) error = nullptr;
  fail_unless (!question (&error), "answered, and must say: %s", why);
  fail_unless (error, "no error, and must say: %s", why);
  fail_unless (g_error_matches (error, GST_INTEGRAL_HISTOGRAM_ERROR, code)
                   && strstr (error->message, why),
               "%s %d: %s; must say: %s", g_quark_to_string (error->domain), error->code,
               error->message, why);
  question (nullptr);
}

void expect_near (Measure measure, const Rectangle &window, double got, double wanted)
{
  fail_unless (std::fabs (got - wanted) <= 1e-5 * std::max (1.0, std::fabs (wanted)),
               "%s of %d,%d %dx%d is %.8g, must be %.8g", name_of (measure), window.x, window.y,
               window.w, window.h, got, wanted);
}

/// It is the one that nothing is better than, and of equals the one nearest to the middle of the
/// grid, or in a list (null) the first.
void expect_best (Measure measure, const Grid *grid, int n, const gfloat *values, const Best &best)
{
  fail_unless (best.index >= 0 && best.index < n && best.value == values[best.index]);
  const auto distance = [&] (int i) {
    return grid ? std::hypot (i % grid->columns - (grid->columns - 1) / 2.0,
                              i / grid->columns - (grid->rows - 1) / 2.0)
                : 0;
  };
  for (int i = 0; i < n; i++) {
    const bool better = is_similarity (measure) ? values[i] > best.value : values[i] < best.value;
    const double gap = distance (i) - distance (best.index);
    const bool nearer = values[i] == best.value && (gap < -1e-9 || (gap < 1e-9 && i < best.index));
    fail_unless (!better && !nearer, "%s: %d (%g) is better than %d (%g)", name_of (measure), i,
                 values[i], best.index, best.value);
  }
}

/// The same for the maps of several grids.
void expect_bests (Measure measure, const std::vector<Grid> &grids, const gfloat *maps,
                   const Room<Best> &bests)
{
  for (std::size_t g = 0; g < grids.size (); g++) {
    const int n = grids[g].columns * grids[g].rows;
    expect_best (measure, &grids[g], n, maps, bests[g]);
    maps += n;
  }
}

bool same (const Best &a, const Best &b)
{
  return a.value == b.value && a.index == b.index;
}

void run_grids (const char *backend)
{
  for (const Source &source : kSources) {
    const Frame frame (source, backend);
    const std::vector<Grid> grids = grids_of (frame.picture);
    const std::vector<Rectangle> windows = windows_of (frame, grids);
    Room<guint32> counts (windows.size () * frame.bins);
    expect_answer ([&] (GError **error) {
      return gst_integral_histogram_grids (frame.histogram, grids.data (), guint (grids.size ()),
                                           counts.data (), error);
    });
    for (std::size_t i = 0; i < windows.size (); i++)
      fail_unless (std::ranges::equal (frame.count (windows[i]),
                                       std::span (counts.data () + i * frame.bins, frame.bins)),
                   "%s: wrong counts in window %zu", source.pattern, i);
  }
}

void run_likelihoods (const char *backend)
{
  Random random (seed ());
  for (const Source &source : kSources) {
    const Frame frame (source, backend);
    const std::vector<Rectangle> rectangles = rectangles_of (frame.picture, 30, random);
    const guint n = guint (rectangles.size ());
    for (const Model &model : frame.models (random))
      for (int m = 0; m < kMeasures; m++) {
        const auto measure = Measure (m);
        Room<gfloat> values (n), again (n);
        Room<Best> best (1);
        expect_answer ([&] (GError **error) {
          return gst_integral_histogram_likelihoods (frame.histogram, rectangles.data (), n,
                                                     model.data (), measure, values.data (),
                                                     best.data (), error);
        });
        for (guint i = 0; i < n; i++) {
          const auto &[x, y, w, h] = rectangles[i];
          expect_near (measure, rectangles[i], values[i],
                       formula (name_of (measure), shares (frame.count (frame.clip (x, y, w, h))),
                                shares (model)));
        }
        expect_best (measure, nullptr, int (n), values.data (), best[0]);
        expect_answer ([&] (GError **error) {
          return gst_integral_histogram_likelihoods (frame.histogram, rectangles.data (), n,
                                                     model.data (), measure, again.data (), nullptr,
                                                     error);
        });
        fail_unless (std::memcmp (values.data (), again.data (), n * sizeof (gfloat)) == 0);
      }
  }
}

void run_likelihood_maps (const char *backend)
{
  Random random (seed ());
  for (const Source &source : kSources) {
    const Frame frame (source, backend);
    const std::vector<Grid> grids = grids_of (frame.picture);
    const guint n_grids = guint (grids.size ());
    const std::vector<Rectangle> windows = windows_of (frame, grids);
    std::vector<Weights> held;
    for (const Rectangle &window : windows)
      held.push_back (shares (frame.count (window)));
    for (const Model &model : frame.models (random))
      for (int m = 0; m < kMeasures; m++) {
        const auto measure = Measure (m);
        Room<gfloat> maps (windows.size ()), maps_alone (windows.size ());
        Room<Best> bests (n_grids), bests_alone (n_grids);
        const auto ask = [&] (const Model &what, gfloat *to, Best *best) {
          expect_answer ([&] (GError **error) {
            return gst_integral_histogram_likelihood_maps (frame.histogram, grids.data (), n_grids,
                                                           what.data (), measure, to, best, error);
          });
        };
        ask (model, maps.data (), bests.data ());
        for (std::size_t i = 0; i < windows.size (); i++)
          expect_near (measure, windows[i], maps[i],
                       formula (name_of (measure), held[i], shares (model)));
        expect_bests (measure, grids, maps.data (), bests);

        ask (model, maps_alone.data (), nullptr);
        fail_unless (
            std::memcmp (maps.data (), maps_alone.data (), windows.size () * sizeof (gfloat)) == 0);
        ask (model, nullptr, bests_alone.data ());
        fail_unless (
            std::equal (bests.data (), bests.data () + n_grids, bests_alone.data (), same));

        // what a model sums up to does not matter: scaled without rounding it has the same bits,
        // and divided by its sum the same values
        Model scaled = model;
        for (gfloat &share : scaled)
          share *= 0x1p-20f;
        ask (scaled, maps_alone.data (), bests_alone.data ());
        fail_unless (
            std::memcmp (maps.data (), maps_alone.data (), windows.size () * sizeof (gfloat)) == 0);
        const Weights normalized = shares (model);
        ask ({ normalized.begin (), normalized.end () }, maps_alone.data (), nullptr);
        for (std::size_t i = 0; i < windows.size (); i++)
          expect_near (measure, windows[i], maps_alone[i], maps[i]);
      }
  }
}

void run_quantile_maps (const char *backend)
{
  for (const Source &source : kSources) {
    const Frame frame (source, backend);
    const std::vector<Grid> grids = grids_of (frame.picture);
    const std::vector<Rectangle> windows = windows_of (frame, grids);
    for (const double quantile : { 0.0, 0.25, 0.5, 0.9, 1.0 }) {
      Room<gint32> maps (windows.size ());
      expect_answer ([&] (GError **error) {
        return gst_integral_histogram_quantile_maps (
            frame.histogram, grids.data (), guint (grids.size ()), quantile, maps.data (), error);
      });
      for (std::size_t i = 0; i < windows.size (); i++) {
        std::vector<int> sorted;  // the bins of the pixels
        const Sums counts = frame.count (windows[i]);
        for (guint b = 0; b < frame.bins; b++)
          sorted.insert (sorted.end (), counts[b], int (b));
        const double k = std::max (1.0, std::ceil (quantile * double (sorted.size ())));
        const int wanted = sorted.empty () ? -1 : sorted[std::size_t (k) - 1];
        fail_unless (maps[i] == wanted, "%s: quantile %g of window %zu is %d, must be %d",
                     source.pattern, quantile, i, maps[i], wanted);
      }
    }
  }
}

/// Patches in and around a window, some of no pixels, each with a model.
struct Target {
  std::vector<Rectangle> patches;
  Model models;
  guint rank;

  Target (const Frame &frame, int n, Random &random) : rank (random () % unsigned (n))
  {
    const int w = frame.picture.width, h = frame.picture.height;
    const auto all = frame.models (random);
    for (int p = 0; p < n; p++) {
      patches.push_back ({ between (random, -2, w / 2), between (random, -2, h / 2),
                           between (random, 0, w / 2), between (random, 0, h / 2) });
      const Model &model = all[random () % all.size ()];
      models.insert (models.end (), model.begin (), model.end ());
    }
  }

  Search on (const Grid &grid) const
  {
    return { grid, patches.data (), guint (patches.size ()), models.data (), rank };
  }

  /// The vote for a window with this first pixel.
  double vote (const Frame &frame, Measure measure, gint64 x, gint64 y) const
  {
    Weights votes;
    for (std::size_t p = 0; p < patches.size (); p++) {
      const auto &[dx, dy, w, h] = patches[p];
      const std::span model (models.data () + p * frame.bins, frame.bins);
      votes.push_back (formula (name_of (measure),
                                shares (frame.count (frame.clip (x + dx, y + dy, w, h))),
                                shares (model)));
    }
    std::ranges::sort (votes);
    return is_similarity (measure) ? votes[votes.size () - 1 - rank] : votes[rank];
  }
};

void run_vote_maps (const char *backend)
{
  Random random (seed ());
  for (const Source &source : kSources) {
    const Frame frame (source, backend);
    const std::vector<Grid> grids = grids_of (frame.picture);
    const guint n_searches = guint (grids.size ());
    std::vector<Target> targets;
    std::vector<Search> searches;
    targets.reserve (n_searches);
    std::size_t n = 0;
    for (const int patches : { 5, 1, 9, 2, 3 }) {
      const Grid &grid = grids[targets.size ()];
      searches.push_back (targets.emplace_back (frame, patches, random).on (grid));
      n += std::size_t (grid.columns * grid.rows);
    }
    for (int m = 0; m < kMeasures; m++) {
      const auto measure = Measure (m);
      Room<gfloat> maps (n), maps_alone (n);
      Room<Best> bests (n_searches), bests_alone (n_searches);
      const auto ask = [&] (gfloat *to, Best *best) {
        expect_answer ([&] (GError **error) {
          return gst_integral_histogram_vote_maps (frame.histogram, searches.data (), n_searches,
                                                   measure, to, best, error);
        });
      };
      ask (maps.data (), bests.data ());
      std::size_t window = 0;
      for (guint s = 0; s < n_searches; s++)
        for (int i = 0; i < grids[s].columns * grids[s].rows; i++) {
          const int x = grids[s].x + i % grids[s].columns * grids[s].step_x,
                    y = grids[s].y + i / grids[s].columns * grids[s].step_y;
          expect_near (measure, { x, y, 0, 0 }, maps[window++],
                       targets[s].vote (frame, measure, x, y));
        }
      expect_bests (measure, grids, maps.data (), bests);
      ask (maps_alone.data (), nullptr);
      fail_unless (std::memcmp (maps.data (), maps_alone.data (), n * sizeof (gfloat)) == 0);
      ask (nullptr, bests_alone.data ());
      fail_unless (
          std::equal (bests.data (), bests.data () + n_searches, bests_alone.data (), same));
    }
  }
}

/// As many patches as there may be, more than a GPU's block has shared memory for without care.
void run_many_patches (const char *backend)
{
  Random random (seed ());
  const Frame frame ({ "snow", 24, 20, 2, "u32" }, backend);
  const Grid grid = { 1, 1, -3, -2, 4, 5, 3, 5 };
  for (const int n : { 1536, 1537, 3073, 4096 }) {
    const Target target (frame, n, random);
    const Search search = target.on (grid);
    Room<gfloat> map (15);
    expect_answer ([&] (GError **error) {
      return gst_integral_histogram_vote_maps (frame.histogram, &search, 1,
                                               GST_INTEGRAL_HISTOGRAM_MEASURE_L1, map.data (),
                                               nullptr, error);
    });
    for (int i = 0; i < 15; i++)
      expect_near (
          GST_INTEGRAL_HISTOGRAM_MEASURE_L1, { i % 3 * 4 - 3, i / 3 * 5 - 2, 0, 0 }, map[i],
          target.vote (frame, GST_INTEGRAL_HISTOGRAM_MEASURE_L1, i % 3 * 4 - 3, i / 3 * 5 - 2));
  }
}

/// Numbers as large as they may be.
void run_far_away (const char *backend)
{
  const Frame frame ({ "snow", 64, 48, 4, "u32" }, backend);
  const std::vector<Grid> grids = {
    { 1, G_MAXINT, 0, 0, 1, 1, 70, 50 },  // each window ends far below the next
    { 7, G_MAXINT, -3, -10, 2, 1, 9, 20 },
    { G_MAXINT, G_MAXINT, G_MININT, G_MININT, G_MAXINT, G_MAXINT, 3, 3 },
    { G_MAXINT, 1, G_MININT, 0, G_MAXINT, 3, 4, 5 },
    { 3, 3, G_MAXINT, G_MAXINT, G_MAXINT, G_MAXINT, 5, 5 },
  };
  const guint n_grids = guint (grids.size ());
  const std::vector<Rectangle> windows = windows_of (frame, grids);
  const Model model = { 1, 2, 3, 4 };
  Room<guint32> counts (windows.size () * frame.bins);
  Room<gfloat> maps (windows.size ());
  Room<Best> bests (n_grids);
  expect_answer ([&] (GError **error) {
    return gst_integral_histogram_grids (frame.histogram, grids.data (), n_grids, counts.data (),
                                         error);
  });
  expect_answer ([&] (GError **error) {
    return gst_integral_histogram_likelihood_maps (frame.histogram, grids.data (), n_grids,
                                                   model.data (), GST_INTEGRAL_HISTOGRAM_MEASURE_L2,
                                                   maps.data (), bests.data (), error);
  });
  for (std::size_t i = 0; i < windows.size (); i++) {
    const Sums wanted = frame.count (windows[i]);
    fail_unless (
        std::ranges::equal (wanted, std::span (counts.data () + i * frame.bins, frame.bins)),
        "wrong counts in window %zu", i);
    expect_near (GST_INTEGRAL_HISTOGRAM_MEASURE_L2, windows[i], maps[i],
                 formula ("l2", shares (wanted), shares (model)));
  }
  expect_bests (GST_INTEGRAL_HISTOGRAM_MEASURE_L2, grids, maps.data (), bests);

  const Rectangle patches[] = { { G_MAXINT, G_MAXINT, G_MAXINT, G_MAXINT },
                                { G_MININT, G_MININT, G_MAXINT, G_MAXINT },
                                { 0, 0, -5, 5 } };
  const Model models = { 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4 };
  const Search search = {
    { 1, 1, G_MININT, G_MININT, G_MAXINT, G_MAXINT, 3, 3 }, patches, 3, models.data (), 1
  };
  Room<gfloat> map (9);
  expect_answer ([&] (GError **error) {
    return gst_integral_histogram_vote_maps (frame.histogram, &search, 1,
                                             GST_INTEGRAL_HISTOGRAM_MEASURE_L1, map.data (),
                                             nullptr, error);
  });
  for (int i = 0; i < 9; i++)
    expect_near (GST_INTEGRAL_HISTOGRAM_MEASURE_L1, {}, map[i],
                 1);  // the median of three, two of which at least have no pixels
}

/// So many windows that a warp for each has threads whose numbers take more than 32 bits; all but
/// the last are outside of the frame.
void run_many_windows (const char *backend)
{
  if (g_str_equal (backend, "cpu"))
    return;  // it has no threads to number, and would take its time
  const Frame frame ({ "snow", 16, 16, 1, "u32" }, backend);
  constexpr int kColumns = 16384, kRows = 8200;
  const Grid grid = { 2, 3, -2 * (kColumns - 1), -4 * (kRows - 1), 2, 4, kColumns, kRows };
  const gfloat model = 1;
  Best best;
  expect_answer ([&] (GError **error) {
    return gst_integral_histogram_likelihood_maps (frame.histogram, &grid, 1, &model,
                                                   GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION,
                                                   nullptr, &best, error);
  });
  fail_unless (best.index == kColumns * kRows - 1 && best.value == 1, "%d: %g", best.index,
               best.value);
  // more than a device has
  const std::vector<Grid> too_many (2000, grid);
  std::vector<Best> bests (too_many.size ());
  expect_refusal (
      "ask in parts",
      [&] (GError **error) {
        return gst_integral_histogram_likelihood_maps (
            frame.histogram, too_many.data (), guint (too_many.size ()), &model,
            GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION, nullptr, bests.data (), error);
      },
      GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY);
}

void run_refusals (const char *backend)
{
  const Frame frame ({ "snow", 64, 48, 4, "u32" }, backend),
      tables ({ "snow", 64, 48, 1, "u32" }, backend, "cudaintegralimage");
  GstIntegralHistogram *const histogram = frame.histogram;
  const Grid grid = { 8, 8, 0, 0, 1, 1, 2, 2 };
  const Rectangle rectangle = { 0, 0, 8, 8 };
  const Model good = { 1, 2, 3, 4 };
  constexpr auto kMeasure = GST_INTEGRAL_HISTOGRAM_MEASURE_L1;
  gfloat values[16] = {};
  gint32 quantiles[4] = {};
  guint32 counts[16] = {};
  Best best = {};

  // models
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN (),
                  kInfinity = std::numeric_limits<float>::infinity ();
  for (const auto &[model, why] : { std::pair (Model{ 0, 0, 0, 0 }, "empty"),
                                    std::pair (Model{ 1, -1, 1, 1 }, "0 or more, not -1"),
                                    std::pair (Model{ 1, 1, 1, kNan }, "nan"),
                                    std::pair (Model{ 1, kInfinity, 1, 1 }, "inf") }) {
    expect_refusal (why, [&] (GError **error) {
      return gst_integral_histogram_likelihoods (histogram, &rectangle, 1, model.data (), kMeasure,
                                                 values, nullptr, error);
    });
    expect_refusal (why, [&] (GError **error) {
      return gst_integral_histogram_likelihood_maps (histogram, &grid, 1, model.data (), kMeasure,
                                                     values, &best, error);
    });
    Model models = good;
    models.insert (models.end (), model.begin (), model.end ());
    const Rectangle patches[] = { rectangle, rectangle };
    const Search search = { grid, patches, 2, models.data (), 0 };
    expect_refusal (why, [&] (GError **error) {
      return gst_integral_histogram_vote_maps (histogram, &search, 1, kMeasure, values, nullptr,
                                               error);
    });
  }

  // grids, the second of two
  const auto with = [&] (auto &&change) {
    Grid changed = grid;
    change (changed);
    return changed;
  };
  for (const auto &[bad, why] :
       { std::pair (with ([] (Grid &g) { g.window_width = 0; }),
                    "window_width is at least 1, not 0"),
         std::pair (with ([] (Grid &g) { g.window_height = -1; }),
                    "window_height is at least 1, not -1"),
         std::pair (with ([] (Grid &g) { g.step_x = 0; }), "step_x"),
         std::pair (with ([] (Grid &g) { g.step_y = 0; }), "step_y"),
         std::pair (with ([] (Grid &g) { g.columns = 0; }), "columns is at least 1, not 0"),
         std::pair (with ([] (Grid &g) { g.rows = G_MININT; }), "rows"),
         std::pair (with ([] (Grid &g) { g.columns = 1 << 14, g.rows = 1 << 14; }), "too large"),
         std::pair (with ([] (Grid &g) { g.columns = G_MAXINT, g.rows = G_MAXINT; }),
                    "too large") }) {
    const Grid grids[] = { grid, bad };
    expect_refusal (why, [&] (GError **error) {
      return gst_integral_histogram_grids (histogram, grids, 2, counts, error);
    });
    expect_refusal (why, [&] (GError **error) {
      return gst_integral_histogram_likelihood_maps (histogram, grids, 2, good.data (), kMeasure,
                                                     nullptr, &best, error);
    });
    expect_refusal (why, [&] (GError **error) {
      return gst_integral_histogram_quantile_maps (histogram, grids, 2, 0.5, quantiles, error);
    });
    const Search search = { bad, &rectangle, 1, good.data (), 0 };
    expect_refusal (why, [&] (GError **error) {
      return gst_integral_histogram_vote_maps (histogram, &search, 1, kMeasure, values, nullptr,
                                               error);
    });
    expect_refusal (why, [&] (GError **error) {
      return gst_integral_histogram_query_grid (histogram, &bad, error) != nullptr;
    });
  }
  expect_refusal ("too many", [&] (GError **error) {
    return gst_integral_histogram_likelihoods (histogram, &rectangle, G_MAXUINT, good.data (),
                                               kMeasure, values, nullptr, error);
  });

  // searches
  for (const auto &[search, why] :
       { std::pair (Search{ grid, &rectangle, 0, good.data (), 0 }, "1 to 4096 patches, not 0"),
         std::pair (Search{ grid, &rectangle, 4097, good.data (), 0 },
                    "1 to 4096 patches, not 4097"),
         std::pair (Search{ grid, &rectangle, 1, good.data (), 1 }, "rank 1"),
         std::pair (Search{ grid, &rectangle, 1, good.data (), G_MAXUINT }, "rank 4294967295"),
         std::pair (Search{ grid, nullptr, 1, good.data (), 0 }, "no patches"),
         std::pair (Search{ grid, &rectangle, 1, nullptr, 0 }, "no models") })
    expect_refusal (why, [&] (GError **error) {
      return gst_integral_histogram_vote_maps (histogram, &search, 1, kMeasure, values, nullptr,
                                               error);
    });

  for (const double quantile : { -0.01, 1.01, double (kNan) })
    expect_refusal ("a quantile is 0 to 1, not", [&] (GError **error) {
      return gst_integral_histogram_quantile_maps (histogram, &grid, 1, quantile, quantiles, error);
    });

  const auto measure = Measure (kMeasures);
  const Search search = { grid, &rectangle, 1, good.data (), 0 };
  expect_refusal ("no measure number 10", [&] (GError **error) {
    return gst_integral_histogram_likelihoods (histogram, &rectangle, 1, good.data (), measure,
                                               values, nullptr, error);
  });
  expect_refusal ("no measure number 10", [&] (GError **error) {
    return gst_integral_histogram_likelihood_maps (histogram, &grid, 1, good.data (), measure,
                                                   values, nullptr, error);
  });
  expect_refusal ("no measure number 10", [&] (GError **error) {
    return gst_integral_histogram_vote_maps (histogram, &search, 1, measure, values, nullptr,
                                             error);
  });

  // tables
  constexpr const char *kWhy = "summed-area table";
  expect_refusal (kWhy, [&] (GError **error) {
    return gst_integral_histogram_grids (tables.histogram, &grid, 1, counts, error);
  });
  expect_refusal (kWhy, [&] (GError **error) {
    return gst_integral_histogram_likelihoods (tables.histogram, &rectangle, 1, good.data (),
                                               kMeasure, values, nullptr, error);
  });
  expect_refusal (kWhy, [&] (GError **error) {
    return gst_integral_histogram_likelihood_maps (tables.histogram, &grid, 1, good.data (),
                                                   kMeasure, values, nullptr, error);
  });
  expect_refusal (kWhy, [&] (GError **error) {
    return gst_integral_histogram_quantile_maps (tables.histogram, &grid, 1, 0.5, quantiles, error);
  });
  expect_refusal (kWhy, [&] (GError **error) {
    return gst_integral_histogram_vote_maps (tables.histogram, &search, 1, kMeasure, values,
                                             nullptr, error);
  });
  expect_refusal (kWhy, [&] (GError **error) {
    return gst_integral_histogram_regions_on_stream (tables.histogram, &rectangle, 1, counts,
                                                     nullptr, error);
  });

  // bindings
  for (const gsize n : { 0, 3, 5 })
    expect_refusal ("numbers are no model: it takes 4", [&] (GError **error) {
      return gst_integral_histogram_query_likelihood_map (
                 histogram, &grid, n ? good.data () : nullptr, n, kMeasure, nullptr, error)
             != nullptr;
    });
  const gint numbers[8] = {};
  expect_refusal ("6 numbers are no list of patches: it takes 4", [&] (GError **error) {
    return gst_integral_histogram_query_vote_map (histogram, &grid, numbers, 6, good.data (), 4, 0,
                                                  kMeasure, nullptr, error)
           != nullptr;
  });
  expect_refusal ("4 numbers are no list of models: it takes 8", [&] (GError **error) {
    return gst_integral_histogram_query_vote_map (histogram, &grid, numbers, 8, good.data (), 4, 0,
                                                  kMeasure, nullptr, error)
           != nullptr;
  });
  expect_refusal ("1 to 4096 patches, not 0", [&] (GError **error) {
    return gst_integral_histogram_query_vote_map (histogram, &grid, nullptr, 0, nullptr, 0, 0,
                                                  kMeasure, nullptr, error)
           != nullptr;
  });
}

/// No windows have no answers.
void run_nothing (const char *backend)
{
  const Frame frame ({ "snow", 64, 48, 4, "u32" }, backend);
  const Model model = { 1, 2, 3, 4 };
  constexpr auto kMeasure = GST_INTEGRAL_HISTOGRAM_MEASURE_L1;
  GstIntegralHistogram *const histogram = frame.histogram;
  expect_answer ([&] (GError **error) {
    return gst_integral_histogram_grids (histogram, nullptr, 0, nullptr, error);
  });
  expect_answer ([&] (GError **error) {
    return gst_integral_histogram_likelihood_maps (histogram, nullptr, 0, model.data (), kMeasure,
                                                   nullptr, nullptr, error);
  });
  expect_answer ([&] (GError **error) {
    return gst_integral_histogram_quantile_maps (histogram, nullptr, 0, 0.5, nullptr, error);
  });
  expect_answer ([&] (GError **error) {
    return gst_integral_histogram_vote_maps (histogram, nullptr, 0, kMeasure, nullptr, nullptr,
                                             error);
  });
  expect_answer ([&] (GError **error) {
    return gst_integral_histogram_regions_on_stream (histogram, nullptr, 0, nullptr, nullptr,
                                                     error);
  });
}

// every question, with or without a stream

enum class Kind { regions, grids, likelihoods, likelihood_maps, quantile_maps, vote_maps };
constexpr int kKinds = 6;

/// All that a question may want.
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

  /// Without a stream it waits.
  bool ask (GstIntegralHistogram *histogram, void *answers, Best *bests, const gpointer *stream,
            GError **error) const
  {
    const guint n = guint (rectangles.size ()), n_grids = guint (grids.size ());
    auto *const counts = static_cast<guint32 *> (answers);
    auto *const values = static_cast<gfloat *> (answers);
    auto *const quantiles = static_cast<gint32 *> (answers);
    switch (kind) {
      case Kind::regions:
        return stream ? gst_integral_histogram_regions_on_stream (histogram, rectangles.data (), n,
                                                                  counts, *stream, error)
                      : gst_integral_histogram_regions (histogram, rectangles.data (), n, counts,
                                                        error);
      case Kind::grids:
        return stream ? gst_integral_histogram_grids_on_stream (histogram, grids.data (), n_grids,
                                                                counts, *stream, error)
                      : gst_integral_histogram_grids (histogram, grids.data (), n_grids, counts,
                                                      error);
      case Kind::likelihoods:
        return stream ? gst_integral_histogram_likelihoods_on_stream (histogram, rectangles.data (),
                                                                      n, model.data (), measure,
                                                                      values, bests, *stream, error)
                      : gst_integral_histogram_likelihoods (histogram, rectangles.data (), n,
                                                            model.data (), measure, values, bests,
                                                            error);
      case Kind::likelihood_maps:
        return stream ? gst_integral_histogram_likelihood_maps_on_stream (
                   histogram, grids.data (), n_grids, model.data (), measure, values, bests,
                   *stream, error)
                      : gst_integral_histogram_likelihood_maps (histogram, grids.data (), n_grids,
                                                                model.data (), measure, values,
                                                                bests, error);
      case Kind::quantile_maps:
        return stream ? gst_integral_histogram_quantile_maps_on_stream (
                   histogram, grids.data (), n_grids, quantile, quantiles, *stream, error)
                      : gst_integral_histogram_quantile_maps (histogram, grids.data (), n_grids,
                                                              quantile, quantiles, error);
      case Kind::vote_maps: break;
    }
    std::vector<Search> searches;
    for (guint g = 0; g < n_grids; g++)
      searches.push_back (targets[g].on (grids[g]));
    return stream ? gst_integral_histogram_vote_maps_on_stream (
               histogram, searches.data (), n_grids, measure, values, bests, *stream, error)
                  : gst_integral_histogram_vote_maps (histogram, searches.data (), n_grids, measure,
                                                      values, bests, error);
  }

  /// Overwrites all that has been asked.
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
  auto *const bests = reinterpret_cast<Best *> (answers.data () + asked.n_answers);
  expect_answer ([&] (GError **error) {
    return asked.ask (frame.histogram, answers.data (), asked.n_bests ? bests : nullptr, nullptr,
                      error);
  });
  return answers;
}

void run_threads (const char *backend)
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
        auto *const bests = reinterpret_cast<Best *> (answers.data () + asked[q].n_answers);
        wrong += !asked[q].ask (frame.histogram, answers.data (),
                                asked[q].n_bests ? bests : nullptr, nullptr, nullptr)
                 || answers != wanted[q];
      }
    });
  for (std::thread &thread : threads)
    thread.join ();
  fail_unless_equals_int (wrong, 0);
}

/// What lies in host memory has no streams.
void run_no_stream (const char *backend)
{
  if (!g_str_equal (backend, "cpu"))
    return;
  Random random (seed ());
  const Frame frame (kSources[0], backend);
  for (int i = 0; i < kKinds; i++) {
    const Asked asked (frame, i, random);
    Answers answers (words_of (asked), 7);
    const gpointer stream = nullptr;
    expect_refusal (
        "in host memory",
        [&] (GError **error) {
          return asked.ask (frame.histogram, answers.data (), nullptr, &stream, error);
        },
        GST_INTEGRAL_HISTOGRAM_ERROR_FAILED);
    fail_unless (answers == Answers (answers.size (), 7));
    // with a stream all answers are wanted
    Best bests[5];
    ASSERT_CRITICAL (fail_unless (!asked.ask (frame.histogram, nullptr, bests, &stream, nullptr)));
  }
}

#if INTHIST_CUDA
void check_cuda (cudaError_t error)
{
  fail_unless (error == cudaSuccess, "CUDA: %s", cudaGetErrorString (error));
}

class OnDevice {
public:
  explicit OnDevice (std::size_t words) : words_ (words)
  {
    check_cuda (cudaMalloc (reinterpret_cast<void **> (&data), words * sizeof (guint32)));
    check_cuda (cudaMemset (data, 0xa5, words * sizeof (guint32)));
    check_cuda (cudaDeviceSynchronize ());
  }
  ~OnDevice () { cudaFree (data); }
  OnDevice (const OnDevice &) = delete;

  Answers read () const
  {
    Answers words (words_);
    check_cuda (
        cudaMemcpy (words.data (), data, words_ * sizeof (guint32), cudaMemcpyDeviceToHost));
    return words;
  }

  guint32 *data = nullptr;

private:
  const std::size_t words_;
};

/// Asks `n` questions, one right behind the other on streams in turn that have something else to do
/// first. What was asked is overwritten at once.
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
  OnDevice answers (words), busy (std::size_t (64) << 20);
  std::vector<cudaStream_t> streams (static_cast<std::size_t> (n_streams));
  cudaEvent_t begun;
  check_cuda (cudaEventCreateWithFlags (&begun, cudaEventDisableTiming));
  for (cudaStream_t &stream : streams)
    check_cuda (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking));
  for (int i = 0; i < 400; i++)
    check_cuda (cudaMemsetAsync (busy.data, i, std::size_t (256) << 20, streams[0]));
  check_cuda (cudaEventRecord (begun, streams[0]));
  for (const cudaStream_t stream : streams)
    check_cuda (cudaStreamWaitEvent (stream, begun, 0));
  for (int i = 0; i < n; i++) {
    const gpointer stream = streams[std::size_t (i) % streams.size ()];
    guint32 *const to = answers.data + offsets[std::size_t (i)];
    Asked &question = asked[std::size_t (i)];
    // bests need the alignment of a float, which any word has
    auto *const bests =
        question.n_bests ? reinterpret_cast<Best *> (to + question.n_answers) : nullptr;
    expect_answer (
        [&] (GError **error) { return question.ask (frame.histogram, to, bests, &stream, error); });
    question.scramble ();
  }
  printf ("%s: %d questions were asked %s the first was answered\n", what, n,
          cudaEventQuery (begun) == cudaSuccess ? "when" : "before");
  for (const cudaStream_t stream : streams) {
    check_cuda (cudaStreamSynchronize (stream));
    check_cuda (cudaStreamDestroy (stream));
  }
  check_cuda (cudaEventDestroy (begun));
  const Answers got = answers.read ();
  for (int i = 0; i < n; i++) {
    const std::size_t first = offsets[std::size_t (i)], size = wanted[std::size_t (i)].size ();
    const std::size_t end = i + 1 < n ? offsets[std::size_t (i) + 1] : words;
    for (std::size_t k = 0; k < end - first; k++)
      fail_unless (got[first + k] == (k < size ? wanted[std::size_t (i)][k] : 0xa5a5a5a5),
                   "%s: question %d of kind %d, word %zu of %zu", what, i, i % kKinds, k, size);
  }
  // lanes that were outstanding serve those who wait
  for (int i = 0; i < kKinds; i++)
    answers_of (frame, Asked (frame, i, random));
}
#endif

void run_on_stream (const char *backend)
{
  if (g_str_equal (backend, "cpu"))
    return;
#if INTHIST_CUDA
  for (const Source &source : kSources)
    ask_on_streams (Frame (source, backend), 2 * kKinds, 1, source.pattern);
#endif
}

void run_outstanding (const char *backend)
{
  if (g_str_equal (backend, "cpu"))
    return;
#if INTHIST_CUDA
  ask_on_streams (Frame (kSources[1], backend), 200, 2, "200 on two streams");
#endif
}

/// On the legacy default stream, which has no handle.
void run_default_stream (const char *backend)
{
  if (g_str_equal (backend, "cpu"))
    return;
#if INTHIST_CUDA
  Random random (seed ());
  const Frame frame (kSources[0], backend);
  check_cuda (cudaSetDevice (gst_integral_histogram_get_cuda_device (frame.histogram)));
  for (int i = 0; i < kKinds; i++) {
    const Asked asked (frame, i, random);
    const gpointer stream = nullptr;
    OnDevice answers (words_of (asked));
    auto *const bests =
        asked.n_bests ? reinterpret_cast<Best *> (answers.data + asked.n_answers) : nullptr;
    expect_answer ([&] (GError **error) {
      return asked.ask (frame.histogram, answers.data, bests, &stream, error);
    });
    fail_unless (answers.read () == answers_of (frame, asked));
  }
#endif
}

}  // namespace

/// A test on each backend that there is; the loop's index is the backend's.
#define BACKEND_TEST(name) \
  GST_START_TEST (name) \
  { \
    if (have (kBackends[__i__])) \
      run_##name (kBackends[__i__]); \
  } \
  GST_END_TEST

BACKEND_TEST (grids)
BACKEND_TEST (likelihoods)
BACKEND_TEST (likelihood_maps)
BACKEND_TEST (quantile_maps)
BACKEND_TEST (vote_maps)
BACKEND_TEST (many_patches)
BACKEND_TEST (far_away)
BACKEND_TEST (many_windows)
BACKEND_TEST (refusals)
BACKEND_TEST (nothing)
BACKEND_TEST (threads)
BACKEND_TEST (no_stream)
BACKEND_TEST (on_stream)
BACKEND_TEST (outstanding)
BACKEND_TEST (default_stream)

static Suite *questions_suite ()
{
  Suite *const suite = suite_create ("questions");
  TCase *const tcase = tcase_create ("questions");
  setvbuf (stdout, nullptr, _IOLBF, 0);  // a test that fails ends its process without a flush
  printf ("INTHIST_SEED=%u\n", seed ());
  suite_add_tcase (suite, tcase);
  tcase_set_timeout (tcase, 120);
  constexpr int kEnd = int (std::size (kBackends));
  tcase_add_loop_test (tcase, grids, 0, kEnd);
  tcase_add_loop_test (tcase, likelihoods, 0, kEnd);
  tcase_add_loop_test (tcase, likelihood_maps, 0, kEnd);
  tcase_add_loop_test (tcase, quantile_maps, 0, kEnd);
  tcase_add_loop_test (tcase, vote_maps, 0, kEnd);
  tcase_add_loop_test (tcase, many_patches, 0, kEnd);
  tcase_add_loop_test (tcase, far_away, 0, kEnd);
  tcase_add_loop_test (tcase, many_windows, 0, kEnd);
  tcase_add_loop_test (tcase, refusals, 0, kEnd);
  tcase_add_loop_test (tcase, nothing, 0, kEnd);
  tcase_add_loop_test (tcase, threads, 0, kEnd);
  tcase_add_loop_test (tcase, no_stream, 0, kEnd);
  tcase_add_loop_test (tcase, on_stream, 0, kEnd);
  tcase_add_loop_test (tcase, outstanding, 0, kEnd);
  tcase_add_loop_test (tcase, default_stream, 0, kEnd);
  return suite;
}

GST_CHECK_MAIN (questions);
