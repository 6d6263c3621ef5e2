// SPDX-License-Identifier: LGPL-2.1-or-later
#include <gst/integralhist/gstintegralhistogramregionsmeta.h>

#include <memory>

#include "placed_meta.hpp"
#include "region_answers.hpp"

using namespace integralhist;

namespace {

/// Returns whether a quantization has a number for each value of a joint feature. Their product may
/// differ from the number of bins, because a lookup table may join bins.
bool fits (const inthist::Quantization &quantization, inthist::Feature feature)
{
  return std::ranges::equal (
      quantization, inthist::info_of (feature).quantization,
      [] (int has, int of_feature) { return (has > 0) == (of_feature > 0); });
}

/// The content of a GstIntegralHistogramRegionsMeta: regions of a frame, and their counts or sums.
/// Copies of a buffer share the numbers. docs/pipelines.md has the format of the serialised bytes.
struct Regions {
  static constexpr char kName[] = "GstIntegralHistogramRegionsMeta",
                        kWhat[] = "regions of an integral histogram";
  static constexpr auto get_api = gst_integral_histogram_regions_meta_api_get_type;
  static constexpr auto get_info = gst_integral_histogram_regions_meta_get_info;
  // Version 2 of the serialised bytes is written if only a range of the bins was computed. Readers
  // of version 1 would take such a range for all bins.
  static constexpr guint8 kWithRange = 2, kLatest = kWithRange;

  std::shared_ptr<RegionAnswers> answers;
  int width, height;

  Regions () : Regions (std::make_shared<RegionAnswers> (RegionQuery{}, std::vector<guint64>{})) {}
  explicit Regions (std::shared_ptr<RegionAnswers> all)
      : answers (std::move (all)), width (answers->asked.width), height (answers->asked.height)
  {
  }

  guint8 version () const { return answers->asked.spec.range ? kWithRange : 1; }

  Expected<> write (ByteWriter &writer, const Placement &placed) const
  {
    const RegionQuery &asked = answers->asked;
    const auto values = TRY (answers->ask ());
    const FrameGeometry geometry = placed.geometry_of (width, height);
    writer.add (guint8 (asked.content));
    writer.add (guint16 (asked.planes));
    writer.add (guint32 (asked.spec.feature));
    writer.add (guint32 (asked.weight_unit));
    for (const guint16 number : asked.spec.quantization)
      writer.add (number);
    if (const auto &range = asked.spec.range) {
      writer.add (guint16 (range->first_bin));
      writer.add (guint16 (range->all_bins));
    }
    writer.add (guint32 (placed.width));
    writer.add (guint32 (placed.height));
    writer.add (guint32 (asked.regions.size ()));
    for (std::size_t i = 0; i < asked.regions.size (); i++) {
      const GstVideoRectangle r = geometry.in_frame (asked.regions[i]);
      for (const gint number : { r.x, r.y, r.w, r.h })
        writer.add (number);
      writer.add (asked.pixels[i]);
    }
    for (const guint64 value : values)
      if (asked.content == GST_INTEGRAL_HISTOGRAM_CONTENT_BINS)
        writer.add (guint32 (value));
      else
        writer.add (value);
    return {};
  }

  static inthist::Expected<Regions, const char *> read (ByteReader &reader, guint8 version)
  {
    RegionQuery asked;
    const guint32 n = TRY (read_header (reader, version, asked));
    const bool are_counts = asked.content == GST_INTEGRAL_HISTOGRAM_CONTENT_BINS;
    const guint64 of_region = 4 * sizeof (gint32) + sizeof (guint64)
                              + asked.planes * (are_counts ? sizeof (guint32) : sizeof (guint64));
    if (n * of_region != reader.left ())
      return BadBytes ("they are cut off, or too many");
    for (guint32 i = 0; i < n; i++) {
      GstVideoRectangle r;
      for (gint *const number : { &r.x, &r.y, &r.w, &r.h })
        *number = reader.take<gint32> ();
      if (!is_place (r))
        return BadBytes ("a rectangle is out of its range");
      asked.regions.push_back (r);
      asked.pixels.push_back (reader.take<guint64> ());
    }
    std::vector<guint64> values (asked.n_values ());
    for (guint64 &value : values)
      value = are_counts ? reader.take<guint32> () : reader.take<guint64> ();
    return Regions (std::make_shared<RegionAnswers> (std::move (asked), std::move (values)));
  }

private:
  /// Reads what stands before the regions. Returns the number of regions.
  static inthist::Expected<guint32, const char *> read_header (ByteReader &reader, guint8 version,
                                                               RegionQuery &asked)
  {
    const guint content = reader.take<guint8> ();
    asked.planes = reader.take<guint16> ();
    const guint32 feature = reader.take<guint32> ();
    asked.weight_unit = reader.take<guint32> ();
    std::array<guint16, 3> quantization;
    for (guint16 &number : quantization)
      number = reader.take<guint16> ();
    if (version == kWithRange) {
      const guint16 first_bin = reader.take<guint16> (), all_bins = reader.take<guint16> ();
      if (content == GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS || all_bins > inthist::kMaxBins
          || asked.planes >= all_bins || first_bin + asked.planes > all_bins)
        return BadBytes ("there is no such range of bins");
      asked.spec.range = { first_bin, int (asked.planes), all_bins };
    }
    const guint32 width = reader.take<guint32> (), height = reader.take<guint32> (),
                  n = reader.take<guint32> ();
    if (content > GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS
        || feature >= std::size (inthist::kFeatures) || asked.planes < 1
        || asked.planes > guint (inthist::kMaxBins) || asked.weight_unit < 1
        || !is_size (width, height)
        || std::ranges::any_of (quantization, [] (guint16 n) { return n >= inthist::kMaxBins; }))
      return BadBytes ("a number is out of its range");
    asked.content = GstIntegralHistogramContent (content);
    asked.spec.feature = inthist::Feature (feature);
    std::ranges::transform (quantization, asked.spec.quantization.begin (),
                            [] (guint16 number) { return std::uint8_t (number); });
    if (asked.content != GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS
        && !fits (asked.spec.quantization, asked.spec.feature))
      return BadBytes ("the feature has no such parts");
    asked.width = int (width);
    asked.height = int (height);
    return n;
  }
};

using RegionsMeta = PlacedMeta<GstIntegralHistogramRegionsMeta, Regions>;

const RegionQuery &asked_of (const GstIntegralHistogramRegionsMeta *meta)
{
  return RegionsMeta::of (meta).content.answers->asked;
}

BinRange range_of (const GstIntegralHistogramRegionsMeta *meta)
{
  const int planes = int (asked_of (meta).planes);
  return asked_of (meta).spec.range.value_or (BinRange{ 0, planes, planes });
}

Expected<guint64 *> values_of (RegionAnswers &answers, guint index)
{
  const RegionQuery &asked = answers.asked;
  if (index >= asked.regions.size ())
    return error (Error::Kind::bad_question, "there is no region ", index, ": ask for one of ",
                  asked.regions.size ());
  const auto values = TRY (answers.ask ());
  guint64 *const copy = TRY (answers_for<guint64> (asked.planes));
  std::ranges::copy (values.subspan (gsize (index) * asked.planes, asked.planes), copy);
  return copy;
}

}  // namespace

void integralhist::add_regions_meta (GstBuffer *buffer, std::shared_ptr<RegionAnswers> answers)
{
  RegionsMeta::add (buffer, Regions (std::move (answers)));
}

PLACED_META_API (GstIntegralHistogramRegionsMeta, regions, RegionsMeta)

GstIntegralHistogramRegionsMeta *
gst_buffer_add_integral_histogram_regions_meta (GstBuffer *buffer, GstIntegralHistogram *histogram,
                                                const gint *coordinates, gsize n_coordinates)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer) && histogram, nullptr);
  g_return_val_if_fail (gst_buffer_is_writable (buffer), nullptr);
  g_return_val_if_fail (coordinates && n_coordinates % 4 == 0, nullptr);
  std::vector<GstVideoRectangle> regions;
  for (gsize i = 0; i < n_coordinates; i += 4)
    regions.push_back (
        { coordinates[i], coordinates[i + 1], coordinates[i + 2], coordinates[i + 3] });
  return RegionsMeta::add (buffer, Regions (std::make_shared<RegionAnswers> (histogram, regions)));
}

#define GETTER(...) C_GETTER (GstIntegralHistogramRegionsMeta, meta, __VA_ARGS__)

GETTER (guint, gst_integral_histogram_regions_meta_get_n_regions, 0,
        guint (asked_of (meta).regions.size ()))
GETTER (GstIntegralHistogramContent, gst_integral_histogram_regions_meta_get_content,
        GST_INTEGRAL_HISTOGRAM_CONTENT_BINS, asked_of (meta).content)
GETTER (GstIntegralHistogramFeature, gst_integral_histogram_regions_meta_get_feature,
        GST_INTEGRAL_HISTOGRAM_FEATURE_LUMA,
        GstIntegralHistogramFeature (asked_of (meta).spec.feature))

void gst_integral_histogram_regions_meta_get_quantization (GstIntegralHistogramRegionsMeta *meta,
                                                           guint parts[3])
{
  g_return_if_fail (meta && parts);
  std::ranges::copy (asked_of (meta).spec.quantization, parts);
}

GETTER (guint, gst_integral_histogram_regions_meta_get_weight_unit, 0, asked_of (meta).weight_unit)
GETTER (guint, gst_integral_histogram_regions_meta_get_bins, 0, asked_of (meta).planes)

GETTER (guint, gst_integral_histogram_regions_meta_get_first_bin, 0, range_of (meta).first_bin)
GETTER (guint, gst_integral_histogram_regions_meta_get_all_bins, 0, range_of (meta).all_bins)

gboolean gst_integral_histogram_regions_meta_get_region (GstIntegralHistogramRegionsMeta *meta,
                                                         guint index, gint *x, gint *y, gint *width,
                                                         gint *height)
{
  g_return_val_if_fail (meta, FALSE);
  const auto &regions = asked_of (meta).regions;
  if (index >= regions.size ())
    return FALSE;
  const GstVideoRectangle r = RegionsMeta::of (meta).in_frame (regions[index]);
  store (x, r.x);
  store (y, r.y);
  store (width, r.w);
  store (height, r.h);
  return TRUE;
}

guint64 gst_integral_histogram_regions_meta_get_pixels (GstIntegralHistogramRegionsMeta *meta,
                                                        guint index)
{
  g_return_val_if_fail (meta, 0);
  const auto &pixels = asked_of (meta).pixels;
  return index < pixels.size () ? pixels[index] : 0;
}

guint64 *gst_integral_histogram_regions_meta_get_values (GstIntegralHistogramRegionsMeta *meta,
                                                         guint index, gsize *n_values,
                                                         GError **error)
{
  g_return_val_if_fail (meta, nullptr);
  guint64 *const values = to_c (values_of (*RegionsMeta::of (meta).content.answers, index), error);
  store (n_values, values ? asked_of (meta).planes : 0);
  return values;
}
