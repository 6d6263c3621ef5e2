// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstintegralhistogramquery.h"

#include <cmath>

#include "c_api.hpp"

using namespace integralhist;
using inthist::Measure;
using inthist::Question;
using Grid = GstIntegralHistogramGrid;
using Best = GstIntegralHistogramBest;
using Search = GstIntegralHistogramSearch;

namespace {

[[noreturn]] void
refuse (const std::string &why)
{
  throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION, why);
}

inthist::Windows
windows_of (const Grid &grid)
{
  for (const auto &[name, value] :
       { std::pair ("window_width", grid.window_width), std::pair ("window_height", grid.window_height), std::pair ("step_x", grid.step_x),
         std::pair ("step_y", grid.step_y), std::pair ("columns", grid.columns), std::pair ("rows", grid.rows) })
    if (value < 1)
      refuse (std::string ("a grid's ") + name + " is at least 1, not " + std::to_string (value));
  if (gint64 (grid.columns) * grid.rows > kMostWindows)
    refuse ("a grid of " + std::to_string (grid.columns) + "x" + std::to_string (grid.rows)
            + " windows is too large: " + std::to_string (kMostWindows) + " are the most");
  return { nullptr, 0, { grid.window_width, grid.window_height, grid.x, grid.y, grid.step_x, grid.step_y, grid.columns, grid.rows } };
}

Measure
measure_of (GstIntegralHistogramMeasure measure)
{
  if (guint (measure) >= inthist::kMeasures)
    refuse ("there is no measure number " + std::to_string (guint (measure)));
  return Measure (measure);  // the same order, see below
}

static_assert (int (Measure::intersection) == GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION
               && int (Measure::chi_square_alt) == GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE_ALT
               && int (Measure::kolmogorov_smirnov) == GST_INTEGRAL_HISTOGRAM_MEASURE_KOLMOGOROV_SMIRNOV
               && inthist::kMeasures == GST_INTEGRAL_HISTOGRAM_MEASURE_KOLMOGOROV_SMIRNOV + 1);
static_assert (sizeof (Best) == sizeof (inthist::Best) && offsetof (Best, index) == offsetof (inthist::Best, index));

/// Queries on their way to a tensor, with what they point to.
class Asking {
public:
  explicit Asking (GstIntegralHistogram *histogram) : tensor_ (tensor_of (histogram))
  {
    if (tensor_.shape.content != inthist::Content::bins)
      refuse ("this is no integral histogram but a summed-area table: ask gst_integral_histogram_regions_sums, or use cudaintegralhist");
  }

  /// `models` models that sum up to 1.
  const float *normalized (const gfloat *models, std::size_t n)
  {
    const std::size_t bins = tensor_.shape.bins;
    auto &all = models_.emplace_back (models, models + n * bins);
    for (std::size_t m = 0; m < n; m++) {
      const std::span model (all.data () + m * bins, bins);
      double sum = 0;
      for (float &share : model) {
        if (!(share >= 0) || !std::isfinite (share))
          refuse ("a model's bins are numbers of 0 or more, not " + std::to_string (share));
        sum += share;
      }
      if (sum <= 0)
        refuse ("a model is empty: all of its bins are 0");
      for (float &share : model)
        share = float (share / sum);
    }
    return all.data ();
  }

  /// Where the next `n` answers of `Answer` go.
  template <class Answer>
  void add (Query query, Answer *&answers, Best *best)
  {
    query.answers = answers;
    query.best = reinterpret_cast<inthist::Best *> (best);
    if (answers)
      answers += inthist::answer_bytes (tensor_.shape, query) / sizeof (Answer);
    queries_.push_back (query);
  }

  /// With `stream` on it.
  void ask (const gpointer *stream)
  {
    if (queries_.empty ())
      return;
    if (stream)
      tensor_.ask_on (*stream, queries_);
    else
      tensor_.ask (queries_);
  }

private:
  Tensor &tensor_;
  std::deque<std::vector<float>> models_;
  std::vector<Query> queries_;
};

/// Both forms of each question; `stream` is null for the one that waits.
template <class Body>
gboolean
ask (GstIntegralHistogram *histogram, const gpointer *stream, GError **error, Body &&body)
{
  return guarded (error, FALSE, [&] {
    Asking asking (histogram);
    body (asking);
    asking.ask (stream);
    return TRUE;
  });
}

gboolean
ask_regions (GstIntegralHistogram *histogram, const GstVideoRectangle *rectangles, guint n, guint32 *counts, const gpointer *stream,
             GError **error)
{
  if (n == 0)
    return TRUE;
  return ask (histogram, stream, error, [&] (Asking &asking) {
    asking.add ({ .question = Question::counts, .windows = integralhist::windows_of (rectangles, n) }, counts, nullptr);
  });
}

gboolean
ask_grids (GstIntegralHistogram *histogram, const Grid *grids, guint n_grids, guint32 *counts, const gpointer *stream, GError **error)
{
  return ask (histogram, stream, error, [&] (Asking &asking) {
    for (guint i = 0; i < n_grids; i++)
      asking.add ({ .question = Question::counts, .windows = windows_of (grids[i]) }, counts, nullptr);
  });
}

gboolean
ask_likelihoods (GstIntegralHistogram *histogram, const GstVideoRectangle *rectangles, guint n, const gfloat *model,
                 GstIntegralHistogramMeasure measure, gfloat *values, Best *best, const gpointer *stream, GError **error)
{
  return ask (histogram, stream, error, [&] (Asking &asking) {
    asking.add ({ .question = Question::likelihoods,
                  .windows = integralhist::windows_of (rectangles, n),
                  .measure = measure_of (measure),
                  .models = asking.normalized (model, 1) },
                values, best);
  });
}

gboolean
ask_likelihood_maps (GstIntegralHistogram *histogram, const Grid *grids, guint n_grids, const gfloat *model,
                     GstIntegralHistogramMeasure measure, gfloat *maps, Best *bests, const gpointer *stream, GError **error)
{
  return ask (histogram, stream, error, [&] (Asking &asking) {
    const float *const normalized = asking.normalized (model, 1);
    for (guint i = 0; i < n_grids; i++)
      asking.add (
          { .question = Question::likelihoods, .windows = windows_of (grids[i]), .measure = measure_of (measure), .models = normalized },
          maps, bests ? &bests[i] : nullptr);
  });
}

gboolean
ask_quantile_maps (GstIntegralHistogram *histogram, const Grid *grids, guint n_grids, gdouble quantile, gint32 *maps,
                   const gpointer *stream, GError **error)
{
  return ask (histogram, stream, error, [&] (Asking &asking) {
    if (!(quantile >= 0 && quantile <= 1))
      refuse ("a quantile is 0 to 1, not " + std::to_string (quantile));
    for (guint i = 0; i < n_grids; i++)
      asking.add ({ .question = Question::quantiles, .windows = windows_of (grids[i]), .quantile = quantile }, maps, nullptr);
  });
}

gboolean
ask_vote_maps (GstIntegralHistogram *histogram, const Search *searches, guint n_searches, GstIntegralHistogramMeasure measure, gfloat *maps,
               Best *bests, const gpointer *stream, GError **error)
{
  return ask (histogram, stream, error, [&] (Asking &asking) {
    for (guint i = 0; i < n_searches; i++) {
      const Search &search = searches[i];
      if (search.n_patches < 1 || search.n_patches > inthist::kMaxPatches)
        refuse ("a search has 1 to " + std::to_string (inthist::kMaxPatches) + " patches, not " + std::to_string (search.n_patches));
      if (search.rank >= search.n_patches)
        refuse ("of " + std::to_string (search.n_patches) + " patches none has rank " + std::to_string (search.rank)
                + ": ranks go from 0 to " + std::to_string (search.n_patches - 1));
      if (!search.patches || !search.models)
        refuse (std::string ("a search has no ") + (search.patches ? "models" : "patches"));
      const inthist::Windows patches = integralhist::windows_of (search.patches, search.n_patches);
      asking.add ({ .question = Question::votes,
                    .windows = windows_of (search.grid),
                    .measure = measure_of (measure),
                    .models = asking.normalized (search.models, search.n_patches),
                    .patches = patches.list,
                    .n_patches = patches.n,
                    .rank = int (search.rank) },
                  maps, bests ? &bests[i] : nullptr);
    }
  });
}

/// The answers of a grid for language bindings, `a_window` bytes for each of its windows: `fill` writes them.
template <class Fill>
GBytes *
bytes_of (const Grid &grid, gsize a_window, GError **error, Fill &&fill)
{
  gsize bytes = 0;
  g_autofree gpointer answers = guarded (error, gpointer (nullptr), [&] {
    bytes = windows_of (grid).size () * a_window;
    gpointer memory = g_try_malloc (bytes);
    return memory ? memory : throw std::bad_alloc ();
  });
  return answers && fill (answers) ? g_bytes_new_take (g_steal_pointer (&answers), bytes) : nullptr;
}

gboolean
check_length (gsize n, gsize wanted, const char *what, GError **error)
{
  return guarded (error, FALSE, [&] {
    if (n != wanted)
      refuse (std::to_string (n) + " numbers are no " + what + ": it takes " + std::to_string (wanted));
    return TRUE;
  });
}

}  // namespace

GType
gst_integral_histogram_measure_get_type (void)
{
  static gsize type = 0;
  if (g_once_init_enter (&type)) {
    static const GEnumValue values[] = {
      { GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION, "Intersection", "intersection" },
      { GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA, "Bhattacharyya's, or Hellinger's, distance", "bhattacharyya" },
      { GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE, "Chi-square distance, over the model", "chi-square" },
      { GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE_ALT, "Chi-square distance, over the sum", "chi-square-alt" },
      { GST_INTEGRAL_HISTOGRAM_MEASURE_L1, "Sum of differences", "l1" },
      { GST_INTEGRAL_HISTOGRAM_MEASURE_L2, "Euclidean distance", "l2" },
      { GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION, "Correlation", "correlation" },
      { GST_INTEGRAL_HISTOGRAM_MEASURE_KULLBACK_LEIBLER, "Kullback-Leibler divergence from the model", "kullback-leibler" },
      { GST_INTEGRAL_HISTOGRAM_MEASURE_EMD, "Earth mover's distance in one dimension, in bins", "emd" },
      { GST_INTEGRAL_HISTOGRAM_MEASURE_KOLMOGOROV_SMIRNOV, "Largest difference of the cumulative histograms", "kolmogorov-smirnov" },
      { 0, nullptr, nullptr },
    };
    g_once_init_leave (&type, g_enum_register_static ("GstIntegralHistogramMeasure", values));
  }
  return type;
}

gboolean
gst_integral_histogram_grids (GstIntegralHistogram *histogram, const Grid *grids, guint n_grids, guint32 *counts, GError **error)
{
  g_return_val_if_fail (histogram && (n_grids == 0 || (grids && counts)), FALSE);
  return ask_grids (histogram, grids, n_grids, counts, nullptr, error);
}

gboolean
gst_integral_histogram_likelihoods (GstIntegralHistogram *histogram, const GstVideoRectangle *rectangles, guint n, const gfloat *model,
                                    GstIntegralHistogramMeasure measure, gfloat *values, Best *best, GError **error)
{
  g_return_val_if_fail (histogram && rectangles && n > 0 && model && values, FALSE);
  return ask_likelihoods (histogram, rectangles, n, model, measure, values, best, nullptr, error);
}

gboolean
gst_integral_histogram_likelihood_maps (GstIntegralHistogram *histogram, const Grid *grids, guint n_grids, const gfloat *model,
                                        GstIntegralHistogramMeasure measure, gfloat *maps, Best *bests, GError **error)
{
  g_return_val_if_fail (histogram && model && (n_grids == 0 || (grids && (maps || bests))), FALSE);
  return ask_likelihood_maps (histogram, grids, n_grids, model, measure, maps, bests, nullptr, error);
}

gboolean
gst_integral_histogram_quantile_maps (GstIntegralHistogram *histogram, const Grid *grids, guint n_grids, gdouble quantile, gint32 *maps,
                                      GError **error)
{
  g_return_val_if_fail (histogram && (n_grids == 0 || (grids && maps)), FALSE);
  return ask_quantile_maps (histogram, grids, n_grids, quantile, maps, nullptr, error);
}

gboolean
gst_integral_histogram_vote_maps (GstIntegralHistogram *histogram, const Search *searches, guint n_searches,
                                  GstIntegralHistogramMeasure measure, gfloat *maps, Best *bests, GError **error)
{
  g_return_val_if_fail (histogram && (n_searches == 0 || (searches && (maps || bests))), FALSE);
  return ask_vote_maps (histogram, searches, n_searches, measure, maps, bests, nullptr, error);
}

gboolean
gst_integral_histogram_regions_on_stream (GstIntegralHistogram *histogram, const GstVideoRectangle *rectangles, guint n, guint32 *counts,
                                          gpointer stream, GError **error)
{
  g_return_val_if_fail (histogram && (n == 0 || (rectangles && counts)), FALSE);
  return ask_regions (histogram, rectangles, n, counts, &stream, error);
}

gboolean
gst_integral_histogram_grids_on_stream (GstIntegralHistogram *histogram, const Grid *grids, guint n_grids, guint32 *counts, gpointer stream,
                                        GError **error)
{
  g_return_val_if_fail (histogram && (n_grids == 0 || (grids && counts)), FALSE);
  return ask_grids (histogram, grids, n_grids, counts, &stream, error);
}

gboolean
gst_integral_histogram_likelihoods_on_stream (GstIntegralHistogram *histogram, const GstVideoRectangle *rectangles, guint n,
                                              const gfloat *model, GstIntegralHistogramMeasure measure, gfloat *values, Best *best,
                                              gpointer stream, GError **error)
{
  g_return_val_if_fail (histogram && rectangles && n > 0 && model && values, FALSE);
  return ask_likelihoods (histogram, rectangles, n, model, measure, values, best, &stream, error);
}

gboolean
gst_integral_histogram_likelihood_maps_on_stream (GstIntegralHistogram *histogram, const Grid *grids, guint n_grids, const gfloat *model,
                                                  GstIntegralHistogramMeasure measure, gfloat *maps, Best *bests, gpointer stream,
                                                  GError **error)
{
  g_return_val_if_fail (histogram && model && (n_grids == 0 || (grids && maps)), FALSE);
  return ask_likelihood_maps (histogram, grids, n_grids, model, measure, maps, bests, &stream, error);
}

gboolean
gst_integral_histogram_quantile_maps_on_stream (GstIntegralHistogram *histogram, const Grid *grids, guint n_grids, gdouble quantile,
                                                gint32 *maps, gpointer stream, GError **error)
{
  g_return_val_if_fail (histogram && (n_grids == 0 || (grids && maps)), FALSE);
  return ask_quantile_maps (histogram, grids, n_grids, quantile, maps, &stream, error);
}

gboolean
gst_integral_histogram_vote_maps_on_stream (GstIntegralHistogram *histogram, const Search *searches, guint n_searches,
                                            GstIntegralHistogramMeasure measure, gfloat *maps, Best *bests, gpointer stream, GError **error)
{
  g_return_val_if_fail (histogram && (n_searches == 0 || (searches && maps)), FALSE);
  return ask_vote_maps (histogram, searches, n_searches, measure, maps, bests, &stream, error);
}

GBytes *
gst_integral_histogram_query_grid (GstIntegralHistogram *histogram, const Grid *grid, GError **error)
{
  g_return_val_if_fail (histogram && grid, nullptr);
  const gsize a_window = gst_integral_histogram_get_bins (histogram) * sizeof (guint32);
  return bytes_of (*grid, a_window, error, [&] (gpointer answers) {
    return gst_integral_histogram_grids (histogram, grid, 1, static_cast<guint32 *> (answers), error);
  });
}

GBytes *
gst_integral_histogram_query_likelihood_map (GstIntegralHistogram *histogram, const Grid *grid, const gfloat *model, gsize n_model,
                                             GstIntegralHistogramMeasure measure, Best *best, GError **error)
{
  g_return_val_if_fail (histogram && grid && (model || n_model == 0), nullptr);
  if (!check_length (n_model, gst_integral_histogram_get_bins (histogram), "model", error))
    return nullptr;
  return bytes_of (*grid, sizeof (gfloat), error, [&] (gpointer answers) {
    return gst_integral_histogram_likelihood_maps (histogram, grid, 1, model, measure, static_cast<gfloat *> (answers), best, error);
  });
}

GBytes *
gst_integral_histogram_query_quantile_map (GstIntegralHistogram *histogram, const Grid *grid, gdouble quantile, GError **error)
{
  g_return_val_if_fail (histogram && grid, nullptr);
  return bytes_of (*grid, sizeof (gint32), error, [&] (gpointer answers) {
    return gst_integral_histogram_quantile_maps (histogram, grid, 1, quantile, static_cast<gint32 *> (answers), error);
  });
}

GBytes *
gst_integral_histogram_query_vote_map (GstIntegralHistogram *histogram, const Grid *grid, const gint *patches, gsize n_values,
                                       const gfloat *models, gsize n_models, guint rank, GstIntegralHistogramMeasure measure, Best *best,
                                       GError **error)
{
  g_return_val_if_fail (histogram && grid && (patches || n_values == 0) && (models || n_models == 0), nullptr);
  const gsize n_patches = n_values / 4;
  if (!check_length (n_values, n_patches * 4, "list of patches", error)
      || !check_length (n_models, n_patches * gst_integral_histogram_get_bins (histogram), "list of models", error))
    return nullptr;
  const Search search = { *grid, reinterpret_cast<const GstVideoRectangle *> (patches), guint (n_patches), models, rank };
  return bytes_of (*grid, sizeof (gfloat), error, [&] (gpointer answers) {
    return gst_integral_histogram_vote_maps (histogram, &search, 1, measure, static_cast<gfloat *> (answers), best, error);
  });
}
