// SPDX-License-Identifier: LGPL-2.1-or-later
#include <gst/integralhist/gstintegralhistogrammeta.h>

#include <cstring>
#include <utility>

#include <gst/integralhist/api/c_api.hpp>
#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/base/log.hpp>

#include "placed.hpp"

using namespace integralhist;

namespace {

GstIntegralHistogramMeta *cast (GstMeta *meta)
{
  return reinterpret_cast<GstIntegralHistogramMeta *> (meta);
}

Placement placement_of (const GstIntegralHistogramMeta *meta)
{
  const auto *const geometry = static_cast<const FrameGeometry *> (meta->geometry);
  return { meta->width, meta->height,
           geometry ? std::optional<FrameGeometry> (*geometry) : std::nullopt };
}

gboolean init (GstMeta *meta, gpointer, GstBuffer *)
{
  cast (meta)->histogram = nullptr;
  cast (meta)->width = cast (meta)->height = 0;
  cast (meta)->geometry = nullptr;
  return TRUE;
}

void free (GstMeta *meta, GstBuffer *)
{
  g_clear_pointer (&cast (meta)->histogram, gst_integral_histogram_unref);
  delete static_cast<FrameGeometry *> (std::exchange (cast (meta)->geometry, nullptr));
}

bool share_memory (GstBuffer *a, GstBuffer *b)
{
  return gst_buffer_n_memory (a) > 0 && gst_buffer_n_memory (b) > 0
         && gst_buffer_peek_memory (a, 0) == gst_buffer_peek_memory (b, 0);
}

gboolean transform (GstBuffer *target, GstMeta *meta, GstBuffer *buffer, GQuark type, gpointer data)
{
  GstIntegralHistogram *const histogram = cast (meta)->histogram;
  if (!histogram)
    return FALSE;  // a meta that other code added has no histogram
  const auto placed =
      transformed (placement_of (cast (meta)), int (gst_integral_histogram_get_width (histogram)),
                   int (gst_integral_histogram_get_height (histogram)), type, data);
  if (!placed) {
    if (!placed.error ().empty ())
      GST_INFO ("dropping the integral histogram: %s", placed.error ().c_str ());
    return FALSE;
  }
  if (auto &flags = *tensor_of (histogram).flags;
      GST_META_TRANSFORM_IS_COPY (type) && flags.buffer_held && share_memory (target, buffer))
    flags.buffer_copied = true;
  GstIntegralHistogramMeta *copy = gst_buffer_add_integral_histogram_meta (target, histogram);
  copy->width = placed->width;
  copy->height = placed->height;
  if (placed->geometry)
    copy->geometry = new FrameGeometry (*placed->geometry);
  return TRUE;
}

}  // namespace

namespace integralhist {

FrameGeometry geometry_of (const GstIntegralHistogramMeta *meta)
{
  return placement_of (meta).geometry_of (
      int (gst_integral_histogram_get_width (meta->histogram)),
      int (gst_integral_histogram_get_height (meta->histogram)));
}

}  // namespace integralhist

GType gst_integral_histogram_meta_api_get_type (void)
{
  static const gchar *tags[] = { GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                 GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr };
  static const GType type = gst_meta_api_type_register ("GstIntegralHistogramMetaAPI", tags);
  return type;
}

const GstMetaInfo *gst_integral_histogram_meta_get_info (void)
{
  static const GstMetaInfo *const info =
      gst_meta_register (GST_INTEGRAL_HISTOGRAM_META_API_TYPE, "GstIntegralHistogramMeta",
                         sizeof (GstIntegralHistogramMeta), init, free, transform);
  return info;
}

GstIntegralHistogramMeta *gst_buffer_add_integral_histogram_meta (GstBuffer *buffer,
                                                                  GstIntegralHistogram *histogram)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer) && histogram, nullptr);
  g_return_val_if_fail (gst_buffer_is_writable (buffer), nullptr);
  auto *meta =
      cast (gst_buffer_add_meta (buffer, gst_integral_histogram_meta_get_info (), nullptr));
  meta->histogram = gst_integral_histogram_ref (histogram);
  meta->width = gst_integral_histogram_get_width (histogram);
  meta->height = gst_integral_histogram_get_height (histogram);
  return meta;
}

GstIntegralHistogramMeta *gst_buffer_get_integral_histogram_meta (GstBuffer *buffer)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer), nullptr);
  for (const auto content :
       { GST_INTEGRAL_HISTOGRAM_CONTENT_BINS, GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS,
         GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS })
    if (GstIntegralHistogramMeta *meta =
            gst_buffer_get_integral_histogram_meta_of (buffer, content))
      return meta;
  return nullptr;
}

/// Compares enumerators by their bytes, because a C caller may pass an invalid number.
template <class Enum>
static bool are_equal (Enum has, Enum wanted)
{
  return std::memcmp (&has, &wanted, sizeof has) == 0;
}

GstIntegralHistogramMeta *
gst_buffer_get_integral_histogram_meta_of (GstBuffer *buffer, GstIntegralHistogramContent content)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer), nullptr);
  return find_meta (buffer, [content] (GstIntegralHistogramMeta *meta) {
    return are_equal (gst_integral_histogram_get_content (meta->histogram), content);
  });
}

GstIntegralHistogramMeta *
gst_buffer_get_integral_histogram_meta_of_feature (GstBuffer *buffer,
                                                   GstIntegralHistogramFeature feature)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer), nullptr);
  return find_meta (buffer, [feature] (GstIntegralHistogramMeta *meta) {
    GstIntegralHistogram *const histogram = meta->histogram;
    return are_equal (gst_integral_histogram_get_feature (histogram), feature)
           && gst_integral_histogram_get_content (histogram) != GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS
           && !histogram->spec.range;
  });
}

guint32 *gst_integral_histogram_meta_region (GstIntegralHistogramMeta *meta, gint x, gint y,
                                             gint width, gint height, gsize *n_counts,
                                             GError **error)
{
  g_return_val_if_fail (meta, nullptr);
  const GstVideoRectangle r = geometry_of (meta).in_original (x, y, width, height);
  return gst_integral_histogram_query_region (meta->histogram, r.x, r.y, r.w, r.h, n_counts, error);
}

guint64 *gst_integral_histogram_meta_region_sums (GstIntegralHistogramMeta *meta, gint x, gint y,
                                                  gint width, gint height, gsize *n_sums,
                                                  GError **error)
{
  g_return_val_if_fail (meta, nullptr);
  const GstVideoRectangle r = geometry_of (meta).in_original (x, y, width, height);
  return gst_integral_histogram_query_region_sums (meta->histogram, r.x, r.y, r.w, r.h, n_sums,
                                                   error);
}

gboolean gst_integral_histogram_meta_get_original (GstIntegralHistogramMeta *meta, gint x, gint y,
                                                   gint width, gint height, gint *original_x,
                                                   gint *original_y, gint *original_width,
                                                   gint *original_height)
{
  g_return_val_if_fail (meta, FALSE);
  const GstVideoRectangle r = geometry_of (meta).in_original (x, y, width, height);
  store (original_x, r.x);
  store (original_y, r.y);
  store (original_width, r.w);
  store (original_height, r.h);
  return r.w > 0;
}
