// SPDX-License-Identifier: LGPL-2.1-or-later
#include "histogram.hpp"

namespace integralhist {

GstIntegralHistogram *new_histogram (std::shared_ptr<Tensor> tensor, const Counted &counted)
{
  auto *histogram = new GstIntegralHistogram{ {}, std::move (tensor), counted };
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
