// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Each backend answers the questions of gstintegralhistogramquery.h. The truth is counted in the
// pixels of a frame, and comes from the textbooks' formulas in double precision.
#include "questions.hpp"
#include "test.hpp"

/// Compares the counts of all windows of some grids.
static void check_grids (const Frame &frame, const std::vector<Grid> &grids)
{
  const std::vector<Rectangle> windows = windows_of (frame, grids);
  Room<guint32> counts (windows.size () * frame.bins);
  expect_answer (gst_integral_histogram_grids, frame.histogram, grids.data (),
                 guint (grids.size ()), counts.data ());
  expect_counts (frame, windows, counts);
}

BACKEND_TEST (grids)
{
  for (const Source &source : kSources) {
    const Frame frame (source, backend);
    check_grids (frame, grids_of (frame.picture));
  }
}

// A GPU writes small answers to the host itself, and has larger ones copied: of 16 KB and of one
// window more, of two queries at once.
BACKEND_TEST (answer_sizes)
{
  const Frame frame (kSources[0], backend);
  const int n_16k = int ((16 << 10) / (frame.bins * sizeof (guint32)));
  for (const int n : { 2, n_16k - 4, n_16k - 1, n_16k, n_16k + 1, 3 * n_16k })
    check_grids (frame, { { 20, 9, -7, -3, 1, 2, 1, 1 }, { 5, 6, -2, 1, 1, 1, n - 1, 1 } });
}

BACKEND_TEST (likelihoods)
{
  Random random (seed ());
  for (const Source &source : kSources) {
    const Frame frame (source, backend);
    const std::vector<Rectangle> rectangles = rectangles_of (frame.picture, 30, random);
    const guint n = guint (rectangles.size ());
    for (const Model &any : frame.models (random))
      for (int m = 0; m < kMeasures; m++) {
        const auto measure = Measure (m);
        const Model model = tried_with (name_of (measure), any);
        Room<gfloat> values (n), again (n);
        Room<Best> best (1);
        expect_answer (gst_integral_histogram_likelihoods, frame.histogram, rectangles.data (), n,
                       model.data (), measure, values.data (), best.data ());
        for (guint i = 0; i < n; i++) {
          const auto &[x, y, w, h] = rectangles[i];
          expect_near (measure, rectangles[i], values[i],
                       formula (name_of (measure), frame.histogram_of (frame.clip (x, y, w, h)),
                                model_of (name_of (measure), model)));
        }
        expect_best (measure, nullptr, int (n), values.data (), best[0]);
        expect_answer (gst_integral_histogram_likelihoods, frame.histogram, rectangles.data (), n,
                       model.data (), measure, again.data (), nullptr);
        fail_unless (std::memcmp (values.data (), again.data (), n * sizeof (gfloat)) == 0);
      }
  }
}

BACKEND_TEST (likelihood_maps)
{
  Random random (seed ());
  for (const Source &source : kSources) {
    const Frame frame (source, backend);
    const std::vector<Grid> grids = grids_of (frame.picture);
    const guint n_grids = guint (grids.size ());
    const std::vector<Rectangle> windows = windows_of (frame, grids);
    std::vector<Weights> held;
    for (const Rectangle &window : windows)
      held.push_back (frame.histogram_of (window));
    for (const Model &any : frame.models (random))
      for (int m = 0; m < kMeasures; m++) {
        const auto measure = Measure (m);
        const Model model = tried_with (name_of (measure), any);
        Room<gfloat> maps (windows.size ()), maps_alone (windows.size ());
        Room<Best> bests (n_grids), bests_alone (n_grids);
        const auto ask = [&] (const Model &what, gfloat *to, Best *best) {
          expect_answer (gst_integral_histogram_likelihood_maps, frame.histogram, grids.data (),
                         n_grids, what.data (), measure, to, best);
        };
        ask (model, maps.data (), bests.data ());
        for (std::size_t i = 0; i < windows.size (); i++)
          expect_near (measure, windows[i], maps[i],
                       formula (name_of (measure), held[i], model_of (name_of (measure), model)));
        expect_bests (measure, grids, maps.data (), bests);

        ask (model, maps_alone.data (), nullptr);
        fail_unless (
            std::memcmp (maps.data (), maps_alone.data (), windows.size () * sizeof (gfloat)) == 0);
        ask (model, nullptr, bests_alone.data ());
        fail_unless (
            std::equal (bests.data (), bests.data () + n_grids, bests_alone.data (), same));

        // the sum of a model does not matter: scaled without rounding the model gives the same
        // bits, and divided by its sum the same values
        Model scaled = model;
        for (gfloat &share : scaled)
          share *= 0x1p-20f;
        ask (scaled, maps_alone.data (), bests_alone.data ());
        if (measure == GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR) {  // whose values scale with it
          for (std::size_t i = 0; i < windows.size (); i++)
            fail_unless (maps_alone[i] == maps[i] * 0x1p-20f);
          continue;
        }
        fail_unless (
            std::memcmp (maps.data (), maps_alone.data (), windows.size () * sizeof (gfloat)) == 0);
        const Weights normalized = shares (model);
        ask ({ normalized.begin (), normalized.end () }, maps_alone.data (), nullptr);
        for (std::size_t i = 0; i < windows.size (); i++)
          expect_near (measure, windows[i], maps_alone[i], maps[i]);
      }
  }
}

BACKEND_TEST (quantile_maps)
{
  for (const Source &source : kSources) {
    const Frame frame (source, backend);
    const std::vector<Grid> grids = grids_of (frame.picture);
    const std::vector<Rectangle> windows = windows_of (frame, grids);
    for (const double quantile : { 0.0, 0.25, 0.5, 0.9, 1.0 }) {
      Room<gint32> maps (windows.size ());
      expect_answer (gst_integral_histogram_quantile_maps, frame.histogram, grids.data (),
                     guint (grids.size ()), quantile, maps.data ());
      for (std::size_t i = 0; i < windows.size (); i++) {
        std::vector<int> sorted;  // the bins of the pixels, -1 of those that are in none
        const Sums counts = frame.count (windows[i]);
        for (guint b = 0; b < frame.bins; b++)
          sorted.insert (sorted.end (), counts[b], int (b));
        sorted.resize (std::size_t (windows[i].w) * std::size_t (windows[i].h), -1);
        const double k = std::max (1.0, std::ceil (quantile * double (sorted.size ())));
        const int wanted = sorted.empty () ? -1 : sorted[std::size_t (k) - 1];
        fail_unless (maps[i] == wanted, "%s: quantile %g of window %zu is %d, must be %d",
                     source.pattern, quantile, i, maps[i], wanted);
      }
    }
  }
}

BACKEND_TEST (vote_maps)
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
        expect_answer (gst_integral_histogram_vote_maps, frame.histogram, searches.data (),
                       n_searches, measure, to, best);
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

/// As many patches as there may be, more than fit in the shared memory of a GPU's block at once.
BACKEND_TEST (many_patches)
{
  Random random (seed ());
  const Frame frame ({ "snow", 24, 20, 2, "u32" }, backend);
  const Grid grid = { 1, 1, -3, -2, 4, 5, 3, 5 };
  for (const int n : { 1536, 1537, 3073, 4096 }) {
    const Target target (frame, n, random);
    const Search search = target.on (grid);
    Room<gfloat> map (15);
    expect_answer (gst_integral_histogram_vote_maps, frame.histogram, &search, 1,
                   GST_INTEGRAL_HISTOGRAM_MEASURE_L1, map.data (), nullptr);
    for (int i = 0; i < 15; i++)
      expect_near (
          GST_INTEGRAL_HISTOGRAM_MEASURE_L1, { i % 3 * 4 - 3, i / 3 * 5 - 2, 0, 0 }, map[i],
          target.vote (frame, GST_INTEGRAL_HISTOGRAM_MEASURE_L1, i % 3 * 4 - 3, i / 3 * 5 - 2));
  }
}

/// Coordinates and sizes are as large as they may be.
BACKEND_TEST (far_away)
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
  Room<gfloat> maps (windows.size ());
  Room<Best> bests (n_grids);
  check_grids (frame, grids);
  expect_answer (gst_integral_histogram_likelihood_maps, frame.histogram, grids.data (), n_grids,
                 model.data (), GST_INTEGRAL_HISTOGRAM_MEASURE_L2, maps.data (), bests.data ());
  for (std::size_t i = 0; i < windows.size (); i++)
    expect_near (GST_INTEGRAL_HISTOGRAM_MEASURE_L2, windows[i], maps[i],
                 formula ("l2", shares (frame.count (windows[i])), shares (model)));
  expect_bests (GST_INTEGRAL_HISTOGRAM_MEASURE_L2, grids, maps.data (), bests);

  const Rectangle patches[] = { { G_MAXINT, G_MAXINT, G_MAXINT, G_MAXINT },
                                { G_MININT, G_MININT, G_MAXINT, G_MAXINT },
                                { 0, 0, -5, 5 } };
  const Model models = { 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4 };
  const Search search = {
    { 1, 1, G_MININT, G_MININT, G_MAXINT, G_MAXINT, 3, 3 }, patches, 3, models.data (), 1
  };
  Room<gfloat> map (9);
  expect_answer (gst_integral_histogram_vote_maps, frame.histogram, &search, 1,
                 GST_INTEGRAL_HISTOGRAM_MEASURE_L1, map.data (), nullptr);
  for (int i = 0; i < 9; i++)
    expect_near (GST_INTEGRAL_HISTOGRAM_MEASURE_L1, {}, map[i],
                 1);  // the median of three, two of which at least have no pixels
}

/// So many windows that, with a warp for each, numbers of threads take more than 32 bits. All but
/// the last are outside of the frame. The CPU has no threads to number, and would take its time.
BACKEND_TEST_FROM (many_windows, 1)
{
  const Frame frame ({ "snow", 16, 16, 1, "u32" }, backend);
  constexpr int kColumns = 16384, kRows = 8200;
  const Grid grid = { 2, 3, -2 * (kColumns - 1), -4 * (kRows - 1), 2, 4, kColumns, kRows };
  const gfloat model = 1;
  Best best;
  expect_answer (gst_integral_histogram_likelihood_maps, frame.histogram, &grid, 1, &model,
                 GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION, nullptr, &best);
  fail_unless (best.index == kColumns * kRows - 1 && best.value == 1, "%d: %g", best.index,
               best.value);
  // more windows than a device has memory for
  const std::vector<Grid> too_many (2000, grid);
  std::vector<Best> bests (too_many.size ());
  expect_failure (GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY, "ask for fewer",
                  gst_integral_histogram_likelihood_maps, frame.histogram, too_many.data (),
                  guint (too_many.size ()), &model, GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION,
                  nullptr, bests.data ());
}
