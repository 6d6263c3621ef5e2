// SPDX-License-Identifier: LGPL-2.1-or-later
#include "likelihood_model.hpp"

#include <algorithm>

#include <kernels/region.hpp>

namespace integralhist {

/// Returns the histogram of a region inside the frame, divided by the largest bin.
static Expected<std::vector<gfloat>> count_region (GstIntegralHistogramMeta *meta,
                                                   const GstVideoRectangle &region)
{
  gsize n = 0;
  GError *problem = nullptr;
  g_autofree guint64 *counts = gst_integral_histogram_meta_region_sums (
      meta, region.x, region.y, region.w, region.h, &n, &problem);
  if (!counts)
    return take_gerror (problem, "The histogram of the model failed: ");
  const guint64 most = *std::max_element (counts, counts + n);
  if (most == 0)
    return error (Error::Kind::bad_setting,
                  "the model has no pixel in any bin: set model to a larger region, or to one that "
                  "has the feature; gray pixels have no hue");
  std::vector<gfloat> bins (n);
  std::transform (counts, counts + n, bins.begin (),
                  [most] (guint64 count) { return gfloat (double (count) / double (most)); });
  return bins;
}

/// Refuses a model in numbers that names another feature or quantization than the frame's.
static Expected<> check_numbers (const WrittenHistogram &written, const HistogramSpec &spec)
{
  HistogramSpec named = spec;
  named.feature = written.feature.value_or (spec.feature);
  if (named.feature != spec.feature)
    named.quantization = {};
  named.quantization = written.quantization.value_or (named.quantization);
  if (named.feature == spec.feature && named.quantization == spec.quantization)
    return {};
  named.has_lut = false;
  return error (Error::Kind::bad_setting, "histogram is of ", settings_of (named),
                ", and the frames' histograms are of ", settings_of (spec),
                ": set cudaintegralhist to ", settings_of (named),
                ", or write a histogram of what it counts");
}

Expected<> check_feature (const LikelihoodModel &model, const GstIntegralHistogram *histogram)
{
  const HistogramSpec &now = spec_of (histogram);
  if (model.spec == now)
    return {};
  return error (Error::Kind::bad_setting, "the model is of ", settings_of (model.spec),
                ", and this frame's histogram is of ", settings_of (now),
                ": set cudaintegralhist to ", settings_of (model.spec),
                ", or set model (or histogram) again before such frames come. If frames carry "
                "several histograms, set feature of this element");
}

Expected<LikelihoodModel> make_model (const ModelText &text, const WrittenHistogram &written,
                                      GstIntegralHistogramMeta *meta, int width, int height)
{
  const auto wanted = TRY (text.value);
  GstVideoRectangle region = { 0, 0, std::max (width / 4, 1), std::max (height / 4, 1) };
  region.x = (width - region.w) / 2;
  region.y = (height - region.h) / 2;
  if (wanted)
    region = *wanted;
  const HistogramSpec &spec = spec_of (meta->histogram);
  TRY (check_numbers (written, spec));
  LikelihoodModel model = { written.bins, spec };
  if (model.bins.empty ()) {
    const inthist::Region shown =
        inthist::clip ({ region.x, region.y, region.w, region.h }, { width, height });
    if (shown.width == 0)
      return error (Error::Kind::bad_setting, "model=\"", text.text, "\" lies outside of the ",
                    width, "x", height, " frame: set it to a region inside, x,y,width,height");
    region = { shown.x, shown.y, shown.width, shown.height };
    model.bins = TRY (count_region (meta, region));
  } else if (const guint bins = gst_integral_histogram_get_bins (meta->histogram);
             model.bins.size () != bins) {
    return error (Error::Kind::bad_setting, "histogram has ", model.bins.size (),
                  " numbers, and the frames' histograms have ", bins, " bins: write ", bins,
                  " numbers, or set bins of cudaintegralhist to ", model.bins.size ());
  }
  model.width = double (region.w) / width;
  model.height = double (region.h) / height;
  return model;
}

}  // namespace integralhist
