// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The C API of counts and sums in rectangles. ask_sums () queries the tensor. add_up (),
// add_up_one () and add_up_bytes () check what a C caller passes, and set the caller's GError.
#include <gst/integralhist/gstintegralhistogramregion.h>

#include <algorithm>

#include "c_api.hpp"
#include "histogram.hpp"

using namespace integralhist;
using inthist::QueryKind;

namespace {

/// Computes the count (guint32) or the sum (guint64) of each rectangle in each plane of a tensor.
template <class Answer>
Expected<> ask_sums (Tensor &tensor, const GstVideoRectangle *rectangles, guint n, Answer *answers)
{
  if (n == 0)
    return {};
  const inthist::Windows windows = TRY (windows_of (rectangles, n));
  const bool sums_wanted = sizeof (Answer) == sizeof (guint64);
  if (sums_wanted || tensor.shape.content == inthist::Content::bins) {
    const Query query = { .kind = sums_wanted ? QueryKind::sums : QueryKind::counts,
                          .windows = windows,
                          .answers = answers };
    return tensor.ask ({ &query, 1 });
  }
  const gsize n_sums = gsize (n) * tensor.shape.bins;
  g_autofree guint64 *sums = TRY (answers_for<guint64> (n_sums));
  const Query query = { .kind = QueryKind::sums, .windows = windows, .answers = sums };
  TRY (tensor.ask ({ &query, 1 }));
  for (gsize i = 0; i < n_sums; i++) {
    if (sums[i] > G_MAXUINT32)
      return error (Error::Kind::overflow, "the sum ", sums[i],
                    " does not fit 32 bits: ask gst_integral_histogram_region_sums or "
                    "gst_integral_histogram_regions_sums");
    answers[i] = Answer (sums[i]);
  }
  return {};
}

template <class Answer>
Expected<GBytes *> ask_sums_as_bytes (Tensor &tensor, const gint *values, gsize n_values)
{
  if (n_values % 4 != 0)
    return error (Error::Kind::bad_question, n_values,
                  " numbers are not a list of rectangles: pass x, y, width, height of each");
  static_assert (sizeof (GstVideoRectangle) == 4 * sizeof (gint));
  const gsize n = n_values / 4, n_answers = n * tensor.shape.bins;
  g_autofree Answer *answers = TRY (answers_for<Answer> (n_answers));
  const auto n_asked = guint (std::min<gsize> (n, G_MAXUINT));  // ask_sums () refuses so many
  TRY (ask_sums (tensor, reinterpret_cast<const GstVideoRectangle *> (values), n_asked, answers));
  return g_bytes_new_take (g_steal_pointer (&answers), n_answers * sizeof (Answer));
}

template <class Answer>
gboolean add_up (GstIntegralHistogram *histogram, const GstVideoRectangle *rectangles, guint n,
                 Answer *answers, GError **error)
{
  g_return_val_if_fail (histogram && (n == 0 || (rectangles && answers)), FALSE);
  return to_c (ask_sums (*histogram->tensor, rectangles, n, answers), error);
}

template <class Answer>
Answer *add_up_one (GstIntegralHistogram *histogram, const GstVideoRectangle &rectangle,
                    gsize *n_answers, GError **error)
{
  g_return_val_if_fail (histogram, nullptr);
  const gsize planes = histogram->tensor->shape.bins;
  g_autofree Answer *answers = g_new (Answer, planes);
  const bool answered = add_up (histogram, &rectangle, 1, answers, error);
  store (n_answers, answered ? planes : 0);
  return answered ? static_cast<Answer *> (g_steal_pointer (&answers)) : nullptr;
}

template <class Answer>
GBytes *add_up_bytes (GstIntegralHistogram *histogram, const gint *values, gsize n_values,
                      GError **error)
{
  g_return_val_if_fail (histogram, nullptr);
  return to_c (ask_sums_as_bytes<Answer> (*histogram->tensor, values, n_values), error);
}

}  // namespace

gboolean gst_integral_histogram_regions (GstIntegralHistogram *histogram,
                                         const GstVideoRectangle *rectangles, guint n,
                                         guint32 *counts, GError **error)
{
  return add_up (histogram, rectangles, n, counts, error);
}

gboolean gst_integral_histogram_region (GstIntegralHistogram *histogram, gint x, gint y, gint width,
                                        gint height, guint32 *counts, GError **error)
{
  const GstVideoRectangle rectangle = { x, y, width, height };
  return add_up (histogram, &rectangle, 1, counts, error);
}

gboolean gst_integral_histogram_regions_sums (GstIntegralHistogram *histogram,
                                              const GstVideoRectangle *rectangles, guint n,
                                              guint64 *sums, GError **error)
{
  return add_up (histogram, rectangles, n, sums, error);
}

gboolean gst_integral_histogram_region_sums (GstIntegralHistogram *histogram, gint x, gint y,
                                             gint width, gint height, guint64 *sums, GError **error)
{
  const GstVideoRectangle rectangle = { x, y, width, height };
  return add_up (histogram, &rectangle, 1, sums, error);
}

guint32 *gst_integral_histogram_query_region (GstIntegralHistogram *histogram, gint x, gint y,
                                              gint width, gint height, gsize *n_counts,
                                              GError **error)
{
  return add_up_one<guint32> (histogram, { x, y, width, height }, n_counts, error);
}

GBytes *gst_integral_histogram_query_regions (GstIntegralHistogram *histogram,
                                              const gint *rectangles, gsize n_values,
                                              GError **error)
{
  return add_up_bytes<guint32> (histogram, rectangles, n_values, error);
}

guint64 *gst_integral_histogram_query_region_sums (GstIntegralHistogram *histogram, gint x, gint y,
                                                   gint width, gint height, gsize *n_sums,
                                                   GError **error)
{
  return add_up_one<guint64> (histogram, { x, y, width, height }, n_sums, error);
}

GBytes *gst_integral_histogram_query_regions_sums (GstIntegralHistogram *histogram,
                                                   const gint *rectangles, gsize n_values,
                                                   GError **error)
{
  return add_up_bytes<guint64> (histogram, rectangles, n_values, error);
}
