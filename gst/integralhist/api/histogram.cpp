// SPDX-License-Identifier: LGPL-2.1-or-later
#include "histogram.hpp"

namespace integralhist {

std::string describe (const BinRange &range)
{
  const int last = range.first_bin + range.bins - 1;
  return joined (range.bins == 1 ? "bin " : "bins ", range.first_bin,
                 range.bins == 1 ? "" : joined (" to ", last), " of ", range.all_bins);
}

GstIntegralHistogram *new_histogram (std::shared_ptr<Tensor> tensor, const HistogramSpec &spec)
{
  const int bins = tensor->shape.bins;
  auto *histogram = new GstIntegralHistogram{
    {}, std::move (tensor), spec, spec.range.value_or (BinRange{ 0, bins, bins })
  };
  gst_mini_object_init (
      GST_MINI_OBJECT_CAST (histogram), 0, GST_TYPE_INTEGRAL_HISTOGRAM, nullptr, nullptr,
      [] (GstMiniObject *object) { delete reinterpret_cast<GstIntegralHistogram *> (object); });
  return histogram;
}

std::string text_of (const inthist::Quantization &quantization)
{
  std::string text;
  for (const int number : quantization)
    if (number > 0)
      text += joined (text.empty () ? "" : ",", number);
  return text;
}

std::string settings_of (const HistogramSpec &spec)
{
  const std::string quantization = text_of (spec.quantization);
  return joined (
      "feature=", inthist::info_of (spec.feature).nick,
      quantization.empty () ? "" : " quantization=", quantization,
      spec.weight == inthist::Weight::gradient ? " weight=gradient" : "",
      spec.soft ? " soft=true" : "",
      spec.range ? joined (" first-bin=", spec.range->first_bin, " n-bins=", spec.range->bins) : "",
      spec.has_lut ? " and a lut" : "");
}

bool has_own_bins (inthist::Feature feature)
{
  const inthist::FeatureInfo &info = inthist::info_of (feature);
  return info.bins > 0 || info.is_joint ();
}

Expected<> check_all_bins (const GstIntegralHistogram *histogram)
{
  const HistogramSpec &spec = spec_of (histogram);
  if (!spec.range)
    return {};
  return error (Error::Kind::bad_setting, "The frames' integral histogram of ",
                inthist::info_of (spec.feature).nick, " has ", describe (*spec.range),
                ", but this element needs all: set first-bin=0 n-bins=0 of cudaintegralhist");
}

Expected<std::vector<guint64>> sums_of (GstIntegralHistogram *histogram,
                                        std::span<const GstVideoRectangle> rectangles)
{
  std::vector<guint64> sums (rectangles.size () * gst_integral_histogram_get_bins (histogram));
  GError *problem = nullptr;
  if (!gst_integral_histogram_regions_sums (histogram, rectangles.data (),
                                            guint (rectangles.size ()), sums.data (), &problem))
    return take_gerror (problem);
  return sums;
}

}  // namespace integralhist
