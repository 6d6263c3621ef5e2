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

Tensor &tensor_of (GstIntegralHistogram *histogram)
{
  return *histogram->tensor;
}

}  // namespace integralhist
