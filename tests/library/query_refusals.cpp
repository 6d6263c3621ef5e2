// SPDX-License-Identifier: LGPL-2.1-or-later
//
// gstintegralhistogramquery.h refuses wrong models, grids, searches, quantiles and measures, and
// questions of a table, and says why. An empty list is no error.
#include <limits>

#include "questions.hpp"

namespace {

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

}  // namespace

BACKEND_TEST (refusals)
BACKEND_TEST (nothing)

static Suite *query_refusals_suite ()
{
  Suite *const suite = suite_create ("query_refusals");
  TCase *const tcase = tcase_create ("query_refusals");
  setvbuf (stdout, nullptr, _IOLBF, 0);  // a test that fails ends its process without a flush
  suite_add_tcase (suite, tcase);
  tcase_set_timeout (tcase, 120);
  constexpr int kEnd = int (std::size (kBackends));
  tcase_add_loop_test (tcase, refusals, 0, kEnd);
  tcase_add_loop_test (tcase, nothing, 0, kEnd);
  return suite;
}

GST_CHECK_MAIN (query_refusals);
