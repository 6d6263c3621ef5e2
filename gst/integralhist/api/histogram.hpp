// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The struct behind GstIntegralHistogram: a reference to a tensor, and the settings that define the
// bins of the histogram (HistogramSpec), with texts for them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gst/integralhist/engine/tensor.hpp>
#include <gst/integralhist/gstintegralhistogram.h>

namespace integralhist {

/// The range of a histogram's bins for which a tensor has planes, and the number of all bins.
struct BinRange {
  int first_bin = 0, bins = 0, all_bins = 0;

  bool operator== (const BinRange &) const = default;
};

/// Returns a range of bins as text, such as "bins 8 to 15 of 32".
std::string describe (const BinRange &range);

struct HistogramSpec {
  inthist::Feature feature = inthist::Feature::luma;
  inthist::Quantization quantization = {};  // for a joint feature
  inthist::Weight weight = inthist::Weight::one;
  bool soft = false;
  guint32 lut_seqnum = GST_SEQNUM_INVALID;  // number of the event that set a table's scores
  bool has_lut = false;                     // the property `lut` maps values to bins
  std::optional<BinRange> range = {};       // set if the tensor has only some of the bins

  bool operator== (const HistogramSpec &) const = default;
};

}  // namespace integralhist

struct _GstIntegralHistogram {
  GstMiniObject parent;
  std::shared_ptr<integralhist::Tensor> tensor;
  integralhist::HistogramSpec spec;
  integralhist::BinRange range;  // the bins for which `tensor`, maybe a shard, has planes
};

namespace integralhist {

GstIntegralHistogram *new_histogram (std::shared_ptr<Tensor> tensor,
                                     const HistogramSpec &spec = {});
inline Tensor &tensor_of (GstIntegralHistogram *histogram)
{
  return *histogram->tensor;
}
inline const HistogramSpec &spec_of (const GstIntegralHistogram *histogram)
{
  return histogram->spec;
}

/// Returns the quantization of a joint feature as text of the property `quantization`: "16,8".
std::string text_of (const inthist::Quantization &quantization);
/// Returns a histogram's settings as properties of the element cudaintegralhist, such as
/// "feature=hue-saturation quantization=16,8".
std::string settings_of (const HistogramSpec &spec);
/// Returns whether a feature itself defines the number of bins, so the property `bins` is ignored.
bool has_own_bins (inthist::Feature feature);
Expected<> check_all_bins (const GstIntegralHistogram *histogram);
/// Calls gst_integral_histogram_regions_sums (). Returns the sums as [rectangle][plane].
Expected<std::vector<guint64>> sums_of (GstIntegralHistogram *histogram,
                                        std::span<const GstVideoRectangle> rectangles);

struct HistogramUnref {
  void operator() (GstIntegralHistogram *h) const { gst_integral_histogram_unref (h); }
};
using HistogramRef = std::unique_ptr<GstIntegralHistogram, HistogramUnref>;

}  // namespace integralhist
