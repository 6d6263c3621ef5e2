// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstintegralhistogramregionsmeta.h"

#include <array>
#include <memory>
#include <mutex>

#include <kernels/region.hpp>

#include "c_api.hpp"
#include "histogram.hpp"
#include "log.hpp"
#include "meta_bytes.hpp"
#include "placed.hpp"

using namespace integralhist;

namespace {

constexpr guint8 kVersion = 1;
constexpr guint kMostBins = 256;

struct Unref {
  void operator() (GstIntegralHistogram *h) const { gst_integral_histogram_unref (h); }
};

/// What was asked of a frame, and the answer. Shared by the metas of a buffer's copies.
struct Answers {
  GstIntegralHistogramContent content;
  GstIntegralHistogramFeature feature;
  std::array<guint, 3> quantization;
  guint weight_unit, bins;
  int width, height;  // of the frame that was computed
  std::vector<GstVideoRectangle> regions;
  std::vector<guint64> pixels;  // of each region

  std::mutex mutex;                                        // guards the rest
  std::unique_ptr<GstIntegralHistogram, Unref> histogram;  // until it was asked
  std::vector<guint64> values;                             // of each region, one after another

  /// Asks for the values, once.
  Expected<const guint64 *> ask ()
  {
    const std::lock_guard lock (mutex);
    if (!histogram)
      return values.data ();
    values.resize (regions.size () * bins);
    GError *problem = nullptr;
    if (!gst_integral_histogram_regions_sums (histogram.get (), regions.data (),
                                              guint (regions.size ()), values.data (), &problem))
      return take_gerror (problem);
    histogram.reset ();
    return values.data ();
  }
};

struct Regions {
  std::shared_ptr<Answers> answers;
  Placed placed;

  GstVideoRectangle in_frame (std::size_t i) const
  {
    return placed.geometry_of (answers->width, answers->height).in_frame (answers->regions[i]);
  }
};

GstIntegralHistogramRegionsMeta *cast (GstMeta *meta)
{
  return reinterpret_cast<GstIntegralHistogramRegionsMeta *> (meta);
}

Regions &regions_of (const GstIntegralHistogramRegionsMeta *meta)
{
  return *static_cast<Regions *> (meta->priv);
}

GstIntegralHistogramRegionsMeta *add (GstBuffer *buffer, Regions regions)
{
  auto *const meta =
      cast (gst_buffer_add_meta (buffer, gst_integral_histogram_regions_meta_get_info (), nullptr));
  meta->priv = new Regions (std::move (regions));
  return meta;
}

gboolean init (GstMeta *meta, gpointer, GstBuffer *)
{
  cast (meta)->priv = nullptr;
  return TRUE;
}

void free (GstMeta *meta, GstBuffer *)
{
  delete static_cast<Regions *> (std::exchange (cast (meta)->priv, nullptr));
}

gboolean transform (GstBuffer *target, GstMeta *meta, GstBuffer *, GQuark type, gpointer data)
{
  const Regions &regions = regions_of (cast (meta));
  const auto placed =
      transformed (regions.placed, regions.answers->width, regions.answers->height, type, data);
  if (!placed)
    return FALSE;
  add (target, { regions.answers, *placed });
  return TRUE;
}

tl::unexpected<Error> bad_bytes (const char *why)
{
  return error (Error::Kind::bad_question,
                "these bytes are no regions of an integral histogram: ", why);
}

/// The bytes of the meta: see docs/pipelines.md.
struct Portable {
  static Expected<Bytes> bytes_of (const GstMeta *meta)
  {
    const Regions &regions =
        regions_of (reinterpret_cast<const GstIntegralHistogramRegionsMeta *> (meta));
    Answers &answers = *regions.answers;
    const guint64 *const values = TRY (answers.ask ());
    ByteWriter writer;
    writer.add (kVersion);
    writer.add (guint8 (answers.content));
    writer.add (guint16 (answers.bins));
    writer.add (guint32 (answers.feature));
    writer.add (guint32 (answers.weight_unit));
    for (const guint part : answers.quantization)
      writer.add (guint16 (part));
    writer.add (guint32 (regions.placed.width));
    writer.add (guint32 (regions.placed.height));
    writer.add (guint32 (answers.regions.size ()));
    for (std::size_t i = 0; i < answers.regions.size (); i++) {
      const GstVideoRectangle r = regions.in_frame (i);
      for (const gint number : { r.x, r.y, r.w, r.h })
        writer.add (number);
      writer.add (answers.pixels[i]);
    }
    for (std::size_t i = 0; i < answers.regions.size () * answers.bins; i++)
      if (answers.content == GST_INTEGRAL_HISTOGRAM_CONTENT_BINS)
        writer.add (guint32 (values[i]));
      else
        writer.add (values[i]);
    return writer.take ();
  }

  static Expected<GstMeta *> add (GstBuffer *buffer, std::span<const guint8> bytes)
  {
    ByteReader reader (bytes);
    if (const auto version = reader.take<guint8> (); version != kVersion)
      return bad_bytes (version > kVersion ? "they are of a later version" : "no known version");
    auto answers = std::make_shared<Answers> ();
    const guint content = reader.take<guint8> ();
    answers->bins = reader.take<guint16> ();
    const guint32 feature = reader.take<guint32> ();
    answers->weight_unit = reader.take<guint32> ();
    for (guint &part : answers->quantization)
      part = reader.take<guint16> ();
    const guint32 width = reader.take<guint32> (), height = reader.take<guint32> ();
    const guint32 n = reader.take<guint32> ();
    if (content > GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS
        || feature >= std::size (inthist::kFeatures) || answers->bins < 1
        || answers->bins > kMostBins || width < 1 || width > guint32 (kMostPixels) || height < 1
        || height > guint32 (kMostPixels))
      return bad_bytes ("a number is out of its range");
    answers->content = GstIntegralHistogramContent (content);
    answers->feature = GstIntegralHistogramFeature (feature);
    answers->width = int (width);
    answers->height = int (height);
    const bool is_counts = answers->content == GST_INTEGRAL_HISTOGRAM_CONTENT_BINS;
    const guint64 of_region = 4 * sizeof (gint32) + sizeof (guint64)
                              + answers->bins * (is_counts ? sizeof (guint32) : sizeof (guint64));
    if (reader.is_short () || n * of_region != reader.left ())
      return bad_bytes ("they are cut off, or too many");
    for (guint32 i = 0; i < n; i++) {
      GstVideoRectangle r;
      for (gint *const number : { &r.x, &r.y, &r.w, &r.h })
        *number = reader.take<gint32> ();
      if (!is_place (r))
        return bad_bytes ("a rectangle is out of its range");
      answers->regions.push_back (r);
      answers->pixels.push_back (reader.take<guint64> ());
    }
    for (guint64 i = 0; i < guint64 (n) * answers->bins; i++)
      answers->values.push_back (is_counts ? reader.take<guint32> () : reader.take<guint64> ());
    return &::add (buffer, { std::move (answers), { width, height, std::nullopt } })->meta;
  }
};

}  // namespace

GType gst_integral_histogram_regions_meta_api_get_type (void)
{
  static const gchar *tags[] = { GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                 GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr };
  static const GType type = gst_meta_api_type_register ("GstIntegralHistogramRegionsMetaAPI", tags);
  return type;
}

const GstMetaInfo *gst_integral_histogram_regions_meta_get_info (void)
{
  static const GstMetaInfo *const info = register_portable<Portable> (
      { GST_INTEGRAL_HISTOGRAM_REGIONS_META_API_TYPE, "GstIntegralHistogramRegionsMeta",
        sizeof (GstIntegralHistogramRegionsMeta), init, free, transform });
  return info;
}

GstIntegralHistogramRegionsMeta *
gst_buffer_add_integral_histogram_regions_meta (GstBuffer *buffer, GstIntegralHistogram *histogram,
                                                const gint *coordinates, gsize n_coordinates)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer) && histogram, nullptr);
  g_return_val_if_fail (gst_buffer_is_writable (buffer), nullptr);
  g_return_val_if_fail (coordinates && n_coordinates % 4 == 0, nullptr);
  auto answers = std::make_shared<Answers> ();
  answers->content = gst_integral_histogram_get_content (histogram);
  answers->feature = gst_integral_histogram_get_feature (histogram);
  gst_integral_histogram_get_quantization (histogram, answers->quantization.data ());
  answers->weight_unit = gst_integral_histogram_get_weight_unit (histogram);
  answers->bins = gst_integral_histogram_get_bins (histogram);
  answers->width = int (gst_integral_histogram_get_width (histogram));
  answers->height = int (gst_integral_histogram_get_height (histogram));
  for (gsize i = 0; i < n_coordinates; i += 4) {
    const gint *const c = coordinates + i;
    const inthist::Region part = inthist::clip ({ c[0], c[1], c[2], c[3] },
                                                inthist::Shape{ answers->width, answers->height });
    answers->regions.push_back ({ part.x, part.y, part.width, part.height });
    answers->pixels.push_back (guint64 (part.width) * guint64 (part.height));
  }
  answers->histogram.reset (gst_integral_histogram_ref (histogram));
  const Placed placed = { guint (answers->width), guint (answers->height), std::nullopt };
  return add (buffer, { std::move (answers), placed });
}

GstIntegralHistogramRegionsMeta *gst_buffer_get_integral_histogram_regions_meta (GstBuffer *buffer)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer), nullptr);
  return cast (gst_buffer_get_meta (buffer, GST_INTEGRAL_HISTOGRAM_REGIONS_META_API_TYPE));
}

guint gst_integral_histogram_regions_meta_get_n_regions (GstIntegralHistogramRegionsMeta *meta)
{
  g_return_val_if_fail (meta, 0);
  return guint (regions_of (meta).answers->regions.size ());
}

GstIntegralHistogramContent
gst_integral_histogram_regions_meta_get_content (GstIntegralHistogramRegionsMeta *meta)
{
  g_return_val_if_fail (meta, GST_INTEGRAL_HISTOGRAM_CONTENT_BINS);
  return regions_of (meta).answers->content;
}

GstIntegralHistogramFeature
gst_integral_histogram_regions_meta_get_feature (GstIntegralHistogramRegionsMeta *meta)
{
  g_return_val_if_fail (meta, GST_INTEGRAL_HISTOGRAM_FEATURE_LUMA);
  return regions_of (meta).answers->feature;
}

void gst_integral_histogram_regions_meta_get_quantization (GstIntegralHistogramRegionsMeta *meta,
                                                           guint parts[3])
{
  g_return_if_fail (meta && parts);
  std::ranges::copy (regions_of (meta).answers->quantization, parts);
}

guint gst_integral_histogram_regions_meta_get_weight_unit (GstIntegralHistogramRegionsMeta *meta)
{
  g_return_val_if_fail (meta, 0);
  return regions_of (meta).answers->weight_unit;
}

guint gst_integral_histogram_regions_meta_get_bins (GstIntegralHistogramRegionsMeta *meta)
{
  g_return_val_if_fail (meta, 0);
  return regions_of (meta).answers->bins;
}

gboolean gst_integral_histogram_regions_meta_get_region (GstIntegralHistogramRegionsMeta *meta,
                                                         guint index, gint *x, gint *y, gint *width,
                                                         gint *height)
{
  g_return_val_if_fail (meta, FALSE);
  const Regions &regions = regions_of (meta);
  if (index >= regions.answers->regions.size ())
    return FALSE;
  const GstVideoRectangle r = regions.in_frame (index);
  const auto set = [] (gint *target, gint value) {
    if (target)
      *target = value;
  };
  set (x, r.x);
  set (y, r.y);
  set (width, r.w);
  set (height, r.h);
  return TRUE;
}

guint64 gst_integral_histogram_regions_meta_get_pixels (GstIntegralHistogramRegionsMeta *meta,
                                                        guint index)
{
  g_return_val_if_fail (meta, 0);
  const auto &pixels = regions_of (meta).answers->pixels;
  return index < pixels.size () ? pixels[index] : 0;
}

static Expected<guint64 *> values_of (Answers &answers, guint index)
{
  if (index >= answers.regions.size ())
    return error (Error::Kind::bad_question, "there is no region ", index, ": there are ",
                  answers.regions.size ());
  const guint64 *const values = TRY (answers.ask ());
  guint64 *const copy = TRY (answers_for<guint64> (answers.bins));
  std::copy_n (values + gsize (index) * answers.bins, answers.bins, copy);
  return copy;
}

guint64 *gst_integral_histogram_regions_meta_get_values (GstIntegralHistogramRegionsMeta *meta,
                                                         guint index, gsize *n_values,
                                                         GError **error)
{
  g_return_val_if_fail (meta, nullptr);
  Answers &answers = *regions_of (meta).answers;
  guint64 *const values =
      to_c (values_of (answers, index), static_cast<guint64 *> (nullptr), error);
  if (n_values)
    *n_values = values ? answers.bins : 0;
  return values;
}

GBytes *gst_integral_histogram_regions_meta_to_bytes (GstIntegralHistogramRegionsMeta *meta,
                                                      GError **error)
{
  g_return_val_if_fail (meta, nullptr);
  const auto bytes = Portable::bytes_of (&meta->meta);
  if (bytes)
    return to_gbytes (*bytes);
  set_gerror (error, bytes.error ());
  return nullptr;
}

GstIntegralHistogramRegionsMeta *
gst_buffer_add_integral_histogram_regions_meta_from_bytes (GstBuffer *buffer, GBytes *bytes,
                                                           GError **error)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer) && bytes, nullptr);
  g_return_val_if_fail (gst_buffer_is_writable (buffer), nullptr);
  return cast (
      to_c (Portable::add (buffer, span_of (bytes)), static_cast<GstMeta *> (nullptr), error));
}
