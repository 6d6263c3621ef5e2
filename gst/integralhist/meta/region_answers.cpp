// SPDX-License-Identifier: LGPL-2.1-or-later
#include "region_answers.hpp"

#include <kernels/region.hpp>

namespace integralhist {

RegionQuery::RegionQuery (GstIntegralHistogram *histogram,
                          std::span<const GstVideoRectangle> of_frame)
    : width (int (gst_integral_histogram_get_width (histogram))),
      height (int (gst_integral_histogram_get_height (histogram))), spec (histogram->spec),
      content (gst_integral_histogram_get_content (histogram)),
      planes (gst_integral_histogram_get_bins (histogram)),
      weight_unit (gst_integral_histogram_get_weight_unit (histogram))
{
  for (const GstVideoRectangle &r : of_frame) {
    const inthist::Region clipped =
        inthist::clip ({ r.x, r.y, r.w, r.h }, inthist::Shape{ width, height });
    regions.push_back ({ clipped.x, clipped.y, clipped.width, clipped.height });
    pixels.push_back (pixels_of (clipped));
  }
}

RegionAnswers::RegionAnswers (GstIntegralHistogram *histogram,
                              std::span<const GstVideoRectangle> regions)
    : asked (histogram, regions), histogram_ (gst_integral_histogram_ref (histogram))
{
}

RegionAnswers::RegionAnswers (RegionQuery query, std::vector<guint64> values)
    : asked (std::move (query)), values_ (std::move (values))
{
}

Expected<std::span<const guint64>> RegionAnswers::ask ()
{
  HistogramRef answered;  // dropped without the lock
  const auto lock = TRY (mutex_.lock ());
  if (histogram_) {
    TRY (ask_once ());
    answered = std::move (histogram_);
  }
  return values_;
}

Expected<> RegionAnswers::ask_once ()
{
  if (asked.content != GST_INTEGRAL_HISTOGRAM_CONTENT_BINS) {
    values_ = TRY (sums_of (histogram_.get (), asked.regions));
    return {};
  }
  std::vector<guint32> counts (asked.n_values ());
  GError *problem = nullptr;
  if (!gst_integral_histogram_regions (histogram_.get (), asked.regions.data (),
                                       guint (asked.regions.size ()), counts.data (), &problem))
    return take_gerror (problem);
  values_.assign (counts.begin (), counts.end ());
  return {};
}

}  // namespace integralhist
