// SPDX-License-Identifier: LGPL-2.1-or-later
//
// gstintegralhistogramquery.h refuses wrong models, grids, searches, quantiles and measures, and
// questions about a table, and says why. An empty list is not an error.
#include <limits>

#include "questions.hpp"
#include "test.hpp"

namespace {

constexpr Grid kGrid = { 8, 8, 0, 0, 1, 1, 2, 2 };
constexpr Rectangle kRectangle = { 0, 0, 8, 8 };
const Model kModel = { 1, 2, 3, 4 };
constexpr auto kMeasure = GST_INTEGRAL_HISTOGRAM_MEASURE_L1;
const Search kSearch = { kGrid, &kRectangle, 1, kModel.data (), 0 };
constexpr Source kFourBins = { "snow", 64, 48, 4, "u32" };

/// Memory for answers, which refused questions must not write.
struct {
  gfloat values[16] = {};
  gint32 quantiles[4] = {};
  guint32 counts[16] = {};
  Best best = {};
} to;

}  // namespace

BACKEND_TEST (models)
{
  const Frame frame (kFourBins, backend);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN (),
                  kInfinity = std::numeric_limits<float>::infinity ();
  for (const auto &[model, why] :
       { std::pair (Model{ 0, 0, 0, 0 }, "empty"),
         std::pair (Model{ 1, -1, 1, 1 }, "-1.000000: pass numbers of 0 or more"),
         std::pair (Model{ 1, 1, 1, kNan }, "nan"),
         std::pair (Model{ 1, kInfinity, 1, 1 }, "inf") }) {
    expect_refusal (why, gst_integral_histogram_likelihoods, frame.histogram, &kRectangle, 1,
                    model.data (), kMeasure, to.values, nullptr);
    expect_refusal (why, gst_integral_histogram_likelihood_maps, frame.histogram, &kGrid, 1,
                    model.data (), kMeasure, to.values, &to.best);
    Model models = kModel;
    models.insert (models.end (), model.begin (), model.end ());
    const Rectangle patches[] = { kRectangle, kRectangle };
    const Search search = { kGrid, patches, 2, models.data (), 0 };
    expect_refusal (why, gst_integral_histogram_vote_maps, frame.histogram, &search, 1, kMeasure,
                    to.values, nullptr);
  }
}

/// Weights of a linear score may be any numbers, except NaN and infinities.
BACKEND_TEST (weights)
{
  const Frame frame (kFourBins, backend);
  constexpr auto kLinear = GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR;
  for (const Model &model : { Model{ 0, 0, 0, 0 }, Model{ -1, -2, -3, -4 } }) {
    expect_answer (gst_integral_histogram_likelihoods, frame.histogram, &kRectangle, 1,
                   model.data (), kLinear, to.values, nullptr);
    fail_unless (model[0] == 0 ? to.values[0] == 0 : to.values[0] < 0);
  }
  for (const float bad :
       { std::numeric_limits<float>::quiet_NaN (), -std::numeric_limits<float>::infinity () }) {
    const Model model = { 1, bad, 1, 1 };
    expect_refusal ("pass finite numbers", gst_integral_histogram_likelihoods, frame.histogram,
                    &kRectangle, 1, model.data (), kLinear, to.values, nullptr);
  }
}

/// A list is refused if its second grid is wrong.
BACKEND_TEST (grids)
{
  const Frame frame (kFourBins, backend);
  const auto with = [&] (auto &&change) {
    Grid changed = kGrid;
    change (changed);
    return changed;
  };
  for (const auto &[bad, why] :
       { std::pair (with ([] (Grid &g) { g.window_width = 0; }), "window_width is 0: set it to 1"),
         std::pair (with ([] (Grid &g) { g.window_height = -1; }),
                    "window_height is -1: set it to 1"),
         std::pair (with ([] (Grid &g) { g.step_x = 0; }), "step_x"),
         std::pair (with ([] (Grid &g) { g.step_y = 0; }), "step_y"),
         std::pair (with ([] (Grid &g) { g.columns = 0; }), "columns is 0: set it to 1"),
         std::pair (with ([] (Grid &g) { g.rows = G_MININT; }), "rows"),
         std::pair (with ([] (Grid &g) { g.columns = 1 << 14, g.rows = 1 << 14; }), "too large"),
         std::pair (with ([] (Grid &g) { g.columns = G_MAXINT, g.rows = G_MAXINT; }),
                    "too large") }) {
    const Grid grids[] = { kGrid, bad };
    expect_refusal (why, gst_integral_histogram_grids, frame.histogram, grids, 2, to.counts);
    expect_refusal (why, gst_integral_histogram_likelihood_maps, frame.histogram, grids, 2,
                    kModel.data (), kMeasure, nullptr, &to.best);
    expect_refusal (why, gst_integral_histogram_quantile_maps, frame.histogram, grids, 2, 0.5,
                    to.quantiles);
    const Search search = { bad, &kRectangle, 1, kModel.data (), 0 };
    expect_refusal (why, gst_integral_histogram_vote_maps, frame.histogram, &search, 1, kMeasure,
                    to.values, nullptr);
    expect_refusal (why, gst_integral_histogram_query_grid, frame.histogram, &bad);
  }
  expect_refusal ("ask for fewer", gst_integral_histogram_likelihoods, frame.histogram, &kRectangle,
                  G_MAXUINT, kModel.data (), kMeasure, to.values, nullptr);
}

BACKEND_TEST (searches)
{
  const Frame frame (kFourBins, backend);
  for (const auto &[search, why] :
       { std::pair (Search{ kGrid, &kRectangle, 0, kModel.data (), 0 },
                    "0 patches: pass 1 to 4096"),
         std::pair (Search{ kGrid, &kRectangle, 4097, kModel.data (), 0 },
                    "4097 patches: pass 1 to 4096"),
         std::pair (Search{ kGrid, &kRectangle, 1, kModel.data (), 1 }, "rank 1"),
         std::pair (Search{ kGrid, &kRectangle, 1, kModel.data (), G_MAXUINT }, "rank 4294967295"),
         std::pair (Search{ kGrid, nullptr, 1, kModel.data (), 0 }, "no patches"),
         std::pair (Search{ kGrid, &kRectangle, 1, nullptr, 0 }, "no models") })
    expect_refusal (why, gst_integral_histogram_vote_maps, frame.histogram, &search, 1, kMeasure,
                    to.values, nullptr);
}

BACKEND_TEST (quantiles)
{
  const Frame frame (kFourBins, backend);
  for (const double quantile : { -0.01, 1.01, std::numeric_limits<double>::quiet_NaN () })
    expect_refusal ("pass 0 to 1", gst_integral_histogram_quantile_maps, frame.histogram, &kGrid, 1,
                    quantile, to.quantiles);
}

BACKEND_TEST (measures)
{
  const Frame frame (kFourBins, backend);
  const auto measure = Measure (kMeasures);
  expect_refusal ("no measure number 11", gst_integral_histogram_likelihoods, frame.histogram,
                  &kRectangle, 1, kModel.data (), measure, to.values, nullptr);
  expect_refusal ("no measure number 11", gst_integral_histogram_likelihood_maps, frame.histogram,
                  &kGrid, 1, kModel.data (), measure, to.values, nullptr);
  expect_refusal ("no measure number 11", gst_integral_histogram_vote_maps, frame.histogram,
                  &kSearch, 1, measure, to.values, nullptr);
}

BACKEND_TEST (tables)
{
  const Frame tables ({ "snow", 64, 48, 1, "u32" }, backend, "cudaintegralimage");
  constexpr const char *kWhy = "summed-area table";
  expect_refusal (kWhy, gst_integral_histogram_grids, tables.histogram, &kGrid, 1, to.counts);
  expect_refusal (kWhy, gst_integral_histogram_likelihoods, tables.histogram, &kRectangle, 1,
                  kModel.data (), kMeasure, to.values, nullptr);
  expect_refusal (kWhy, gst_integral_histogram_likelihood_maps, tables.histogram, &kGrid, 1,
                  kModel.data (), kMeasure, to.values, nullptr);
  expect_refusal (kWhy, gst_integral_histogram_quantile_maps, tables.histogram, &kGrid, 1, 0.5,
                  to.quantiles);
  expect_refusal (kWhy, gst_integral_histogram_vote_maps, tables.histogram, &kSearch, 1, kMeasure,
                  to.values, nullptr);
  expect_refusal (kWhy, gst_integral_histogram_regions_on_stream, tables.histogram, &kRectangle, 1,
                  to.counts, nullptr);
}

/// Language bindings may give lists of wrong lengths.
BACKEND_TEST (bindings)
{
  const Frame frame (kFourBins, backend);
  for (const gsize n : { 0, 3, 5 })
    expect_refusal ("numbers are not a model: pass 4", gst_integral_histogram_query_likelihood_map,
                    frame.histogram, &kGrid, n ? kModel.data () : nullptr, n, kMeasure, nullptr);
  const gint numbers[8] = {};
  expect_refusal ("6 numbers are not a list of patches: pass 4",
                  gst_integral_histogram_query_vote_map, frame.histogram, &kGrid, numbers, 6,
                  kModel.data (), 4, 0, kMeasure, nullptr);
  expect_refusal ("4 numbers are not a list of models: pass 8",
                  gst_integral_histogram_query_vote_map, frame.histogram, &kGrid, numbers, 8,
                  kModel.data (), 4, 0, kMeasure, nullptr);
  expect_refusal ("0 patches: pass 1 to 4096", gst_integral_histogram_query_vote_map,
                  frame.histogram, &kGrid, nullptr, 0, nullptr, 0, 0, kMeasure, nullptr);
}

/// A question without windows has no answers.
BACKEND_TEST (nothing)
{
  const Frame frame ({ "snow", 64, 48, 4, "u32" }, backend);
  const Model model = { 1, 2, 3, 4 };
  constexpr auto kMeasure = GST_INTEGRAL_HISTOGRAM_MEASURE_L1;
  GstIntegralHistogram *const histogram = frame.histogram;
  expect_answer (gst_integral_histogram_grids, histogram, nullptr, 0, nullptr);
  expect_answer (gst_integral_histogram_likelihood_maps, histogram, nullptr, 0, model.data (),
                 kMeasure, nullptr, nullptr);
  expect_answer (gst_integral_histogram_quantile_maps, histogram, nullptr, 0, 0.5, nullptr);
  expect_answer (gst_integral_histogram_vote_maps, histogram, nullptr, 0, kMeasure, nullptr,
                 nullptr);
  expect_answer (gst_integral_histogram_regions_on_stream, histogram, nullptr, 0, nullptr, nullptr);
}
