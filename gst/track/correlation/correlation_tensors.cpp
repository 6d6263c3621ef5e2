// SPDX-License-Identifier: LGPL-2.1-or-later
#include "correlation_tensors.hpp"

#include <utility>

#include <gst/integralhist/meta/placed.hpp>

namespace integralhist {

/// Returns the buffer's first meta whose histogram has these settings, all bins and no LUT. If
/// `other` is not null, both metas must be of the same part of the frame, and of the same size.
static GstIntegralHistogramMeta *find (GstBuffer *buffer, const TensorSettings &settings,
                                       const GstIntegralHistogramMeta *other = nullptr)
{
  const auto size_of = [] (const GstIntegralHistogramMeta *meta) {
    const inthist::Shape &shape = tensor_of (meta->histogram).shape;
    return std::pair (shape.width, shape.height);
  };
  return find_meta (buffer, [&] (GstIntegralHistogramMeta *meta) {
    const HistogramSpec &spec = spec_of (meta->histogram);
    return !spec.has_lut && !spec.range && settings.matches (meta->histogram)
           && (!other
               || (geometry_of (meta) == geometry_of (other) && size_of (meta) == size_of (other)));
  });
}

CorrelationMetas CorrelationMetas::of (GstBuffer *buffer)
{
  GstIntegralHistogramMeta *const gradients = find (buffer, kGradientSettings);
  return { gradients, find (buffer, kColourSettings, gradients),
           find (buffer, kLumaSettings, gradients) };
}

MissingTensors MissingTensors::of (GstBuffer *buffer, const CorrelationMetas &metas)
{
  const auto has = [buffer] (inthist::Content content, auto &&is_wanted) -> bool {
    return find_meta (buffer, [&] (GstIntegralHistogramMeta *meta) {
      return tensor_of (meta->histogram).shape.content == content
             && is_wanted (spec_of (meta->histogram));
    });
  };
  const auto has_other_feature = [&has] (const TensorSettings &wanted) {
    return has (wanted.content,
                [&] (const HistogramSpec &spec) { return spec.feature != wanted.spec.feature; });
  };
  MissingTensors missing = { .gradients = !metas.gradients,
                             .colours = !metas.colours,
                             .luma = !metas.luma };
  missing.other_gradients = missing.gradients
                            && gst_buffer_get_integral_histogram_meta_of_feature (
                                buffer, GST_INTEGRAL_HISTOGRAM_FEATURE_SIGNED_GRADIENT);
  missing.other_colours =
      missing.colours && has (kColourSettings.content, [] (const HistogramSpec &spec) {
        return spec.has_lut && spec.feature == kColourSettings.spec.feature;
      });
  missing.other_luma = missing.luma && has (kLumaSettings.content, [] (const HistogramSpec &spec) {
                         return spec.has_lut;
                       });
  missing.other_feature =
      !missing.gradients
      && ((!missing.luma && missing.colours && has_other_feature (kColourSettings))
          || (!missing.colours && missing.luma && has_other_feature (kLumaSettings)));
  missing.range_meta = find_meta (buffer, [&] (GstIntegralHistogramMeta *meta) {
    const HistogramSpec &spec = spec_of (meta->histogram);
    const TensorSettings &first = missing.gradients ? kGradientSettings : kColourSettings;
    return spec.range && spec.feature == first.spec.feature;
  });
  return missing;
}

std::string MissingTensors::names () const
{
  std::string text;
  const auto add = [&] (bool is_missing, const char *what, bool has_other) {
    if (is_missing)
      text += joined (text.empty () ? "" : ", and ", what,
                      has_other       ? " (but one with other settings)"
                      : other_feature ? " (but one of another feature)"
                                      : "");
  };
  add (gradients, "no integral histogram of weighted gradients", other_gradients);
  add (colours, "no integral histogram of hsv", other_colours);
  add (luma, "no integral image of luma", other_luma);
  return text;
}

}  // namespace integralhist
