// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The struct behind GstIntegralHistogram: a reference to a tensor.
#pragma once

#include <memory>
#include <optional>
#include <string>

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

/// The settings that define a histogram's bins.
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
Tensor &tensor_of (GstIntegralHistogram *histogram);

struct HistogramUnref {
  void operator() (GstIntegralHistogram *h) const { gst_integral_histogram_unref (h); }
};
using HistogramRef = std::unique_ptr<GstIntegralHistogram, HistogramUnref>;

}  // namespace integralhist
