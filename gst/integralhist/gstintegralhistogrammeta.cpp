// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstintegralhistogrammeta.h"

#include <cmath>
#include <cstring>

#include "histogram.hpp"
#include "log.hpp"

namespace {

GstIntegralHistogramMeta *cast (GstMeta *meta)
{
  return reinterpret_cast<GstIntegralHistogramMeta *> (meta);
}

/// Returns whether a scaled frame shows the whole original and nothing else. Scalers that keep the
/// picture's shape add borders where the aspect ratio changes, and do not say so.
bool same_aspect (const GstVideoInfo *in, const GstVideoInfo *out)
{
  const double height = double (out->width) * in->height * in->par_d * out->par_n
                        / (double (in->width) * in->par_n * out->par_d);
  const double width = double (out->height) * in->width * in->par_n * out->par_d
                       / (double (in->height) * in->par_d * out->par_n);
  return std::abs (height - out->height) <= 1 || std::abs (width - out->width) <= 1;
}

gboolean init (GstMeta *meta, gpointer, GstBuffer *)
{
  cast (meta)->histogram = nullptr;
  cast (meta)->width = cast (meta)->height = 0;
  return TRUE;
}

void free (GstMeta *meta, GstBuffer *)
{
  g_clear_pointer (&cast (meta)->histogram, gst_integral_histogram_unref);
}

/// Returns whether the buffers have the same memory, as a writable copy of a held buffer has.
bool share_memory (GstBuffer *a, GstBuffer *b)
{
  return gst_buffer_n_memory (a) > 0 && gst_buffer_n_memory (b) > 0
         && gst_buffer_peek_memory (a, 0) == gst_buffer_peek_memory (b, 0);
}

gboolean transform (GstBuffer *target, GstMeta *meta, GstBuffer *buffer, GQuark type, gpointer data)
{
  guint width = cast (meta)->width, height = cast (meta)->height;
  if (GST_VIDEO_META_TRANSFORM_IS_SCALE (type)) {
    const auto *scale = static_cast<const GstVideoMetaTransform *> (data);
    if (!same_aspect (scale->in_info, scale->out_info)) {
      GST_INFO ("dropping the integral histogram: %dx%d to %dx%d changes the aspect ratio, so "
                "there may be borders",
                scale->in_info->width, scale->in_info->height, scale->out_info->width,
                scale->out_info->height);
      return FALSE;
    }
    width = scale->out_info->width;
    height = scale->out_info->height;
  } else if (!GST_META_TRANSFORM_IS_COPY (type)
             || static_cast<const GstMetaTransformCopy *> (data)->region) {
    return FALSE;  // some bytes are no frame
  } else if (auto &flags = *integralhist::tensor_of (cast (meta)->histogram).flags;
             flags.buffer_held && share_memory (target, buffer)) {
    flags.buffer_copied = true;
  }
  GstIntegralHistogramMeta *copy =
      gst_buffer_add_integral_histogram_meta (target, cast (meta)->histogram);
  copy->width = width;
  copy->height = height;
  return TRUE;
}

/// Returns the rectangle of the computed frame that is nearest to one of the meta's frame.
GstVideoRectangle in_original (const GstIntegralHistogramMeta *meta, gint x, gint y, gint width,
                               gint height)
{
  const gint64 w = gst_integral_histogram_get_width (meta->histogram),
               h = gst_integral_histogram_get_height (meta->histogram);
  const auto edge = [] (gint64 at, gint64 original, gint64 now) {
    return gint (
        CLAMP (std::llround (double (at) * double (original) / double (now)), -1, original + 1));
  };
  const gint x0 = edge (x, w, meta->width), x1 = edge (gint64 (x) + width, w, meta->width);
  const gint y0 = edge (y, h, meta->height), y1 = edge (gint64 (y) + height, h, meta->height);
  return { x0, y0, x1 - x0, y1 - y0 };
}

}  // namespace

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

/// Returns the first meta whose histogram is of what is visible, and is wanted.
template <class IsWanted>
static GstIntegralHistogramMeta *first_meta (GstBuffer *buffer, IsWanted &&is_wanted)
{
  const GstVideoCropMeta *const crop = gst_buffer_get_video_crop_meta (buffer);
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered (buffer, &state,
                                                           GST_INTEGRAL_HISTOGRAM_META_API_TYPE)) {
    // the frame was cropped since then, so its pixels do not match
    if (crop && (crop->width != cast (meta)->width || crop->height != cast (meta)->height))
      continue;
    if (is_wanted (cast (meta)->histogram))
      return cast (meta);
  }
  return nullptr;
}

/// Compares two enumerators, of which a C caller may give any number.
template <class Enum>
static bool are_equal (Enum has, Enum wanted)
{
  return std::memcmp (&has, &wanted, sizeof has) == 0;
}

GstIntegralHistogramMeta *
gst_buffer_get_integral_histogram_meta_of (GstBuffer *buffer, GstIntegralHistogramContent content)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer), nullptr);
  return first_meta (buffer, [content] (GstIntegralHistogram *histogram) {
    return are_equal (gst_integral_histogram_get_content (histogram), content);
  });
}

GstIntegralHistogramMeta *
gst_buffer_get_integral_histogram_meta_of_feature (GstBuffer *buffer,
                                                   GstIntegralHistogramFeature feature)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer), nullptr);
  return first_meta (buffer, [feature] (GstIntegralHistogram *histogram) {
    return are_equal (gst_integral_histogram_get_feature (histogram), feature)
           && gst_integral_histogram_get_content (histogram) != GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS;
  });
}

guint32 *gst_integral_histogram_meta_region (GstIntegralHistogramMeta *meta, gint x, gint y,
                                             gint width, gint height, gsize *n_counts,
                                             GError **error)
{
  g_return_val_if_fail (meta, nullptr);
  const GstVideoRectangle r = in_original (meta, x, y, width, height);
  return gst_integral_histogram_query_region (meta->histogram, r.x, r.y, r.w, r.h, n_counts, error);
}

guint64 *gst_integral_histogram_meta_region_sums (GstIntegralHistogramMeta *meta, gint x, gint y,
                                                  gint width, gint height, gsize *n_sums,
                                                  GError **error)
{
  g_return_val_if_fail (meta, nullptr);
  const GstVideoRectangle r = in_original (meta, x, y, width, height);
  return gst_integral_histogram_query_region_sums (meta->histogram, r.x, r.y, r.w, r.h, n_sums,
                                                   error);
}
