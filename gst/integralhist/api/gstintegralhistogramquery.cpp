// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The C API of questions about windows. Each function checks what it is given, builds queries
// (kernels/query.hpp), and asks the tensor.
#include <gst/integralhist/gstintegralhistogramquery.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <optional>

#include "c_api.hpp"
#include "histogram.hpp"

using namespace integralhist;
using inthist::Measure;
using inthist::QueryKind;
using Grid = GstIntegralHistogramGrid;
using Best = GstIntegralHistogramBest;
using Search = GstIntegralHistogramSearch;

namespace {

template <class... Parts>
tl::unexpected<Error> refuse (const Parts &...why)
{
  return error (Error::Kind::bad_question, why...);
}

Expected<inthist::Windows> windows_of_grid (const Grid &grid)
{
  for (const auto &[name, value] :
       { std::pair ("window_width", grid.window_width),
         std::pair ("window_height", grid.window_height), std::pair ("step_x", grid.step_x),
         std::pair ("step_y", grid.step_y), std::pair ("columns", grid.columns),
         std::pair ("rows", grid.rows) })
    if (value < 1)
      return refuse ("a grid's ", name, " is ", value, ": set it to 1 or more");
  if (gint64 (grid.columns) * grid.rows > kMaxWindows)
    return refuse ("a grid of ", grid.columns, "x", grid.rows,
                   " windows is too large: ask for at most ", kMaxWindows, " windows");
  return inthist::Windows{ nullptr,
                           0,
                           { grid.window_width, grid.window_height, grid.x, grid.y, grid.step_x,
                             grid.step_y, grid.columns, grid.rows } };
}

/// Reads a C caller's enumerator as a number, because an invalid enumerator is undefined behaviour.
guint number_of (const GstIntegralHistogramMeasure &measure)
{
  guint number;
  static_assert (sizeof number == sizeof measure);
  std::memcpy (&number, &measure, sizeof number);
  return number;
}

Expected<Measure> measure_of (guint number)
{
  if (number >= inthist::kMeasures)
    return refuse ("there is no measure number ", number, ": pass a GstIntegralHistogramMeasure");
  return Measure (number);  // the C and C++ enumerations of measures have the same order
}

static_assert (int (Measure::intersection) == GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION
               && int (Measure::chi_square_alt) == GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE_ALT
               && int (Measure::kolmogorov_smirnov)
                      == GST_INTEGRAL_HISTOGRAM_MEASURE_KOLMOGOROV_SMIRNOV
               && int (Measure::linear) == GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR
               && inthist::kMeasures == GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR + 1);
static_assert (sizeof (Best) == sizeof (inthist::Best)
               && offsetof (Best, index) == offsetof (inthist::Best, index));

/// Prepares a model for a measure, and divides it by its sum, so that it can be compared with
/// windows of any size. A model of a linear measure stays as it is.
Expected<> prepare_model (Measure measure, std::span<float> model)
{
  if (!inthist::compares_histograms (measure)) {
    for (const float bin : model)
      if (!std::isfinite (bin))
        return refuse ("a model has the bin ", bin, ": pass finite numbers");
    return {};
  }
  double sum = 0;
  for (const float bin : model) {
    if (!(bin >= 0) || !std::isfinite (bin))
      return refuse ("a model has the bin ", bin,
                     ": pass numbers of 0 or more, or use the measure linear");
    sum += bin;
  }
  if (sum <= 0)
    return refuse (
        "a model is empty, because all of its bins are 0: pass one with pixels in a bin");
  for (float &bin : model)
    bin = float (bin / sum);
  inthist::prepare (measure, model);
  return {};
}

/// Builds the queries for one call of the C API, and owns the models that the queries point to.
class QueryBuilder {
public:
  explicit QueryBuilder (Tensor &tensor) : tensor_ (tensor) {}

  /// Returns copies of `n` model histograms, prepared for a measure.
  Expected<const float *> models_for (Measure measure, const gfloat *models, std::size_t n)
  {
    const std::size_t bins = tensor_.shape.bins;
    auto &all = models_.emplace_back (models, models + n * bins);
    for (std::size_t m = 0; m < n; m++)
      TRY (prepare_model (measure, std::span (all).subspan (m * bins, bins)));
    return all.data ();
  }

  /// Adds a query that writes its answers at `answers`, and moves that pointer behind the answers.
  template <class Answer>
  void add (Query query, Answer *&answers, Best *best)
  {
    query.answers = answers;
    query.best = reinterpret_cast<inthist::Best *> (best);
    if (answers)
      answers += inthist::answer_bytes (tensor_.shape, query) / sizeof (Answer);
    queries_.push_back (query);
  }

  /// Adds a query for 32-bit counts; an error if the weights in a window may exceed 32 bits.
  Expected<> add_counts (const inthist::Windows &windows, guint32 *&counts)
  {
    const inthist::Shape &shape = tensor_.shape;
    const int most = inthist::exact_pixels (shape, 0);
    const auto fits = [&] (int width, int height) {
      return gint64 (std::min (width, shape.width)) * std::min (height, shape.height) <= most;
    };
    const inthist::Grid &grid = windows.grid;
    const bool all_fit =
        shape.content != inthist::Content::weights
        || (windows.list
                ? std::all_of (windows.list, windows.list + windows.n,
                               [&] (const inthist::Region &r) { return fits (r.width, r.height); })
                : fits (grid.window_width, grid.window_height));
    if (!all_fit)
      return refuse ("weights of windows of more than ", most,
                     " pixels may not fit 32 bits: ask gst_integral_histogram_regions_sums, or use "
                     "smaller windows");
    add ({ .kind = QueryKind::counts, .windows = windows }, counts, nullptr);
    return {};
  }

  Expected<> ask (std::optional<gpointer> stream)
  {
    if (queries_.empty ())
      return {};
    return stream ? tensor_.ask_on (static_cast<inthist::Stream> (*stream), queries_)
                  : tensor_.ask (queries_);
  }

private:
  Tensor &tensor_;
  std::deque<std::vector<float>> models_;
  std::vector<Query> queries_;
};

Expected<> check_bins_for_query (const GstIntegralHistogram *histogram)
{
  if (!histogram->spec.range)
    return {};
  return refuse ("this histogram has ", describe (*histogram->spec.range),
                 ", and likelihoods, quantiles and votes take all: set first-bin=0 n-bins=0 of "
                 "cudaintegralhist, or ask each range for counts and put these together");
}

/// Asks a histogram's tensor the queries that `build` adds to a QueryBuilder. Without a
/// `stream`, waits for the answers; with one, enqueues the work on that CUDA stream.
template <class Build>
gboolean ask (GstIntegralHistogram *histogram, std::optional<gpointer> stream, GError **error,
              Build &&build)
{
  const auto answer = [&] () -> Expected<> {
    Tensor &tensor = tensor_of (histogram);
    if (tensor.shape.content == inthist::Content::sums)
      return refuse ("this is not an integral histogram but a summed-area table: ask "
                     "gst_integral_histogram_regions_sums, or use cudaintegralhist");
    QueryBuilder builder (tensor);
    TRY (build (builder));
    return builder.ask (stream);
  };
  return to_c (answer (), error);
}

gboolean ask_grids (GstIntegralHistogram *histogram, const Grid *grids, guint n_grids,
                    guint32 *counts, std::optional<gpointer> stream, GError **error)
{
  return ask (histogram, stream, error, [&] (QueryBuilder &builder) -> Expected<> {
    for (guint i = 0; i < n_grids; i++)
      TRY (builder.add_counts (TRY (windows_of_grid (grids[i])), counts));
    return {};
  });
}

gboolean ask_likelihoods (GstIntegralHistogram *histogram, const GstVideoRectangle *rectangles,
                          guint n, const gfloat *model, guint measure, gfloat *values, Best *best,
                          std::optional<gpointer> stream, GError **error)
{
  return ask (histogram, stream, error, [&] (QueryBuilder &builder) -> Expected<> {
    TRY (check_bins_for_query (histogram));
    const Measure how = TRY (measure_of (measure));
    builder.add ({ .kind = QueryKind::likelihoods,
                   .windows = TRY (windows_of (rectangles, n)),
                   .measure = how,
                   .models = TRY (builder.models_for (how, model, 1)) },
                 values, best);
    return {};
  });
}

gboolean ask_likelihood_maps (GstIntegralHistogram *histogram, const Grid *grids, guint n_grids,
                              const gfloat *model, guint measure, gfloat *maps, Best *bests,
                              std::optional<gpointer> stream, GError **error)
{
  return ask (histogram, stream, error, [&] (QueryBuilder &builder) -> Expected<> {
    TRY (check_bins_for_query (histogram));
    const Measure how = TRY (measure_of (measure));
    const float *const models = TRY (builder.models_for (how, model, 1));
    for (guint i = 0; i < n_grids; i++)
      builder.add ({ .kind = QueryKind::likelihoods,
                     .windows = TRY (windows_of_grid (grids[i])),
                     .measure = how,
                     .models = models },
                   maps, bests ? &bests[i] : nullptr);
    return {};
  });
}

gboolean ask_quantile_maps (GstIntegralHistogram *histogram, const Grid *grids, guint n_grids,
                            gdouble quantile, gint32 *maps, std::optional<gpointer> stream,
                            GError **error)
{
  return ask (histogram, stream, error, [&] (QueryBuilder &builder) -> Expected<> {
    TRY (check_bins_for_query (histogram));
    if (!(quantile >= 0 && quantile <= 1))
      return refuse ("the quantile is ", quantile, ": pass 0 to 1");
    for (guint i = 0; i < n_grids; i++)
      builder.add ({ .kind = QueryKind::quantiles,
                     .windows = TRY (windows_of_grid (grids[i])),
                     .quantile = quantile },
                   maps, nullptr);
    return {};
  });
}

Expected<> check (const Search &search)
{
  if (search.n_patches < 1 || search.n_patches > inthist::kMaxPatches)
    return refuse ("a search has ", search.n_patches, " patches: pass 1 to ", inthist::kMaxPatches);
  if (search.rank >= search.n_patches)
    return refuse ("a search of ", search.n_patches, " patches has the rank ", search.rank,
                   ": pass 0 to ", search.n_patches - 1);
  if (!search.patches || !search.models)
    return refuse ("a search has no ", search.patches ? "models" : "patches",
                   ": pass patches and models");
  return {};
}

gboolean ask_vote_maps (GstIntegralHistogram *histogram, const Search *searches, guint n_searches,
                        guint measure, gfloat *maps, Best *bests, std::optional<gpointer> stream,
                        GError **error)
{
  return ask (histogram, stream, error, [&] (QueryBuilder &builder) -> Expected<> {
    TRY (check_bins_for_query (histogram));
    const Measure how = TRY (measure_of (measure));
    for (guint i = 0; i < n_searches; i++) {
      const Search &search = searches[i];
      TRY (check (search));
      const inthist::Windows patches = TRY (windows_of (search.patches, search.n_patches));
      builder.add ({ .kind = QueryKind::votes,
                     .windows = TRY (windows_of_grid (search.grid)),
                     .measure = how,
                     .models = TRY (builder.models_for (how, search.models, search.n_patches)),
                     .patches = patches.list,
                     .n_patches = patches.n,
                     .rank = int (search.rank) },
                   maps, bests ? &bests[i] : nullptr);
    }
    return {};
  });
}

/// Returns the answers for a grid's windows, for language bindings. The function `fill` writes the
/// answers, `a_window` bytes for each window.
template <class Fill>
GBytes *bytes_of (const Grid &grid, gsize a_window, GError **error, Fill &&fill)
{
  const auto windows = windows_of_grid (grid);
  const gsize bytes = windows ? windows->size () * a_window : 0;
  g_autofree guint8 *answers =
      to_c (windows ? answers_for<guint8> (bytes) : tl::make_unexpected (windows.error ()), error);
  return answers && fill (answers) ? g_bytes_new_take (g_steal_pointer (&answers), bytes) : nullptr;
}

gboolean check_length (bool is_right, gsize n, const char *what, const std::string &wanted,
                       GError **error)
{
  if (!is_right)
    set_gerror (error, Error (Error::Kind::bad_question,
                              joined (n, " numbers are not a ", what, ": pass ", wanted)));
  return is_right;
}

}  // namespace

GType gst_integral_histogram_measure_get_type (void)
{
  static constexpr GEnumValue values[] = {
    { GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION, "Intersection", "intersection" },
    { GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA, "Bhattacharyya's, or Hellinger's, distance",
      "bhattacharyya" },
    { GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE, "Chi-square distance, divided by the model",
      "chi-square" },
    { GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE_ALT, "Chi-square distance, divided by the sum",
      "chi-square-alt" },
    { GST_INTEGRAL_HISTOGRAM_MEASURE_L1, "Sum of differences", "l1" },
    { GST_INTEGRAL_HISTOGRAM_MEASURE_L2, "Euclidean distance", "l2" },
    { GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION, "Correlation", "correlation" },
    { GST_INTEGRAL_HISTOGRAM_MEASURE_KULLBACK_LEIBLER, "Kullback-Leibler divergence from the model",
      "kullback-leibler" },
    { GST_INTEGRAL_HISTOGRAM_MEASURE_EMD, "Earth mover's distance in one dimension, in bins",
      "emd" },
    { GST_INTEGRAL_HISTOGRAM_MEASURE_KOLMOGOROV_SMIRNOV,
      "Largest difference of the cumulative histograms", "kolmogorov-smirnov" },
    { GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR,
      "Score that is the sum of the model's numbers times the histogram's shares", "linear" },
  };
  return enum_type<values> ("GstIntegralHistogramMeasure");
}

gboolean gst_integral_histogram_grids (GstIntegralHistogram *histogram, const Grid *grids,
                                       guint n_grids, guint32 *counts, GError **error)
{
  g_return_val_if_fail (histogram && (n_grids == 0 || (grids && counts)), FALSE);
  return ask_grids (histogram, grids, n_grids, counts, {}, error);
}

gboolean gst_integral_histogram_likelihoods (GstIntegralHistogram *histogram,
                                             const GstVideoRectangle *rectangles, guint n,
                                             const gfloat *model,
                                             GstIntegralHistogramMeasure measure, gfloat *values,
                                             Best *best, GError **error)
{
  g_return_val_if_fail (histogram && rectangles && n > 0 && model && values, FALSE);
  return ask_likelihoods (histogram, rectangles, n, model, number_of (measure), values, best, {},
                          error);
}

gboolean gst_integral_histogram_likelihood_maps (GstIntegralHistogram *histogram, const Grid *grids,
                                                 guint n_grids, const gfloat *model,
                                                 GstIntegralHistogramMeasure measure, gfloat *maps,
                                                 Best *bests, GError **error)
{
  g_return_val_if_fail (histogram && model && (n_grids == 0 || (grids && (maps || bests))), FALSE);
  return ask_likelihood_maps (histogram, grids, n_grids, model, number_of (measure), maps, bests,
                              {}, error);
}

gboolean gst_integral_histogram_quantile_maps (GstIntegralHistogram *histogram, const Grid *grids,
                                               guint n_grids, gdouble quantile, gint32 *maps,
                                               GError **error)
{
  g_return_val_if_fail (histogram && (n_grids == 0 || (grids && maps)), FALSE);
  return ask_quantile_maps (histogram, grids, n_grids, quantile, maps, {}, error);
}

gboolean gst_integral_histogram_vote_maps (GstIntegralHistogram *histogram, const Search *searches,
                                           guint n_searches, GstIntegralHistogramMeasure measure,
                                           gfloat *maps, Best *bests, GError **error)
{
  g_return_val_if_fail (histogram && (n_searches == 0 || (searches && (maps || bests))), FALSE);
  return ask_vote_maps (histogram, searches, n_searches, number_of (measure), maps, bests, {},
                        error);
}

gboolean gst_integral_histogram_regions_on_stream (GstIntegralHistogram *histogram,
                                                   const GstVideoRectangle *rectangles, guint n,
                                                   guint32 *counts, gpointer stream, GError **error)
{
  g_return_val_if_fail (histogram && (n == 0 || (rectangles && counts)), FALSE);
  if (n == 0)
    return TRUE;
  return ask (histogram, stream, error, [&] (QueryBuilder &builder) -> Expected<> {
    return builder.add_counts (TRY (windows_of (rectangles, n)), counts);
  });
}

gboolean gst_integral_histogram_grids_on_stream (GstIntegralHistogram *histogram, const Grid *grids,
                                                 guint n_grids, guint32 *counts, gpointer stream,
                                                 GError **error)
{
  g_return_val_if_fail (histogram && (n_grids == 0 || (grids && counts)), FALSE);
  return ask_grids (histogram, grids, n_grids, counts, stream, error);
}

gboolean gst_integral_histogram_likelihoods_on_stream (GstIntegralHistogram *histogram,
                                                       const GstVideoRectangle *rectangles, guint n,
                                                       const gfloat *model,
                                                       GstIntegralHistogramMeasure measure,
                                                       gfloat *values, Best *best, gpointer stream,
                                                       GError **error)
{
  g_return_val_if_fail (histogram && rectangles && n > 0 && model && values, FALSE);
  return ask_likelihoods (histogram, rectangles, n, model, number_of (measure), values, best,
                          stream, error);
}

gboolean gst_integral_histogram_likelihood_maps_on_stream (
    GstIntegralHistogram *histogram, const Grid *grids, guint n_grids, const gfloat *model,
    GstIntegralHistogramMeasure measure, gfloat *maps, Best *bests, gpointer stream, GError **error)
{
  g_return_val_if_fail (histogram && model && (n_grids == 0 || (grids && maps)), FALSE);
  return ask_likelihood_maps (histogram, grids, n_grids, model, number_of (measure), maps, bests,
                              stream, error);
}

gboolean gst_integral_histogram_quantile_maps_on_stream (GstIntegralHistogram *histogram,
                                                         const Grid *grids, guint n_grids,
                                                         gdouble quantile, gint32 *maps,
                                                         gpointer stream, GError **error)
{
  g_return_val_if_fail (histogram && (n_grids == 0 || (grids && maps)), FALSE);
  return ask_quantile_maps (histogram, grids, n_grids, quantile, maps, stream, error);
}

gboolean gst_integral_histogram_vote_maps_on_stream (GstIntegralHistogram *histogram,
                                                     const Search *searches, guint n_searches,
                                                     GstIntegralHistogramMeasure measure,
                                                     gfloat *maps, Best *bests, gpointer stream,
                                                     GError **error)
{
  g_return_val_if_fail (histogram && (n_searches == 0 || (searches && maps)), FALSE);
  return ask_vote_maps (histogram, searches, n_searches, number_of (measure), maps, bests, stream,
                        error);
}

GBytes *gst_integral_histogram_query_grid (GstIntegralHistogram *histogram, const Grid *grid,
                                           GError **error)
{
  g_return_val_if_fail (histogram && grid, nullptr);
  const gsize a_window = gst_integral_histogram_get_bins (histogram) * sizeof (guint32);
  return bytes_of (*grid, a_window, error, [&] (guint8 *answers) {
    return gst_integral_histogram_grids (histogram, grid, 1, reinterpret_cast<guint32 *> (answers),
                                         error);
  });
}

GBytes *gst_integral_histogram_query_likelihood_map (GstIntegralHistogram *histogram,
                                                     const Grid *grid, const gfloat *model,
                                                     gsize n_model,
                                                     GstIntegralHistogramMeasure measure,
                                                     Best *best, GError **error)
{
  g_return_val_if_fail (histogram && grid && (model || n_model == 0), nullptr);
  const gsize bins = gst_integral_histogram_get_bins (histogram);
  if (!check_length (n_model == bins, n_model, "model", std::to_string (bins), error))
    return nullptr;
  return bytes_of (*grid, sizeof (gfloat), error, [&] (guint8 *answers) {
    return ask_likelihood_maps (histogram, grid, 1, model, number_of (measure),
                                reinterpret_cast<gfloat *> (answers), best, {}, error);
  });
}

GBytes *gst_integral_histogram_query_quantile_map (GstIntegralHistogram *histogram,
                                                   const Grid *grid, gdouble quantile,
                                                   GError **error)
{
  g_return_val_if_fail (histogram && grid, nullptr);
  return bytes_of (*grid, sizeof (gint32), error, [&] (guint8 *answers) {
    return gst_integral_histogram_quantile_maps (histogram, grid, 1, quantile,
                                                 reinterpret_cast<gint32 *> (answers), error);
  });
}

GBytes *gst_integral_histogram_query_vote_map (GstIntegralHistogram *histogram, const Grid *grid,
                                               const gint *patches, gsize n_values,
                                               const gfloat *models, gsize n_models, guint rank,
                                               GstIntegralHistogramMeasure measure, Best *best,
                                               GError **error)
{
  g_return_val_if_fail (
      histogram && grid && (patches || n_values == 0) && (models || n_models == 0), nullptr);
  const gsize n_patches = n_values / 4,
              n_wanted = n_patches * gst_integral_histogram_get_bins (histogram);
  if (!check_length (n_values % 4 == 0, n_values, "list of patches",
                     "4 for each patch: x,y,width,height", error)
      || !check_length (n_models == n_wanted || n_patches == 0, n_models, "list of models",
                        joined (n_wanted, ", one for each bin of each patch"), error))
    return nullptr;
  const Search search = { *grid, reinterpret_cast<const GstVideoRectangle *> (patches),
                          guint (n_patches), models, rank };
  return bytes_of (*grid, sizeof (gfloat), error, [&] (guint8 *answers) {
    return ask_vote_maps (histogram, &search, 1, number_of (measure),
                          reinterpret_cast<gfloat *> (answers), best, {}, error);
  });
}
