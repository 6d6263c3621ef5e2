// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The properties of cudaintegralhist and cudaintegralimage.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gst/elements/base/parse.hpp>
#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/engine/options.hpp>
#include <gst/integralhist/factory/make_engine.hpp>
#include <gst/integralhist/gstintegralhistogram.h>
#include <gst/properties/properties.hpp>

namespace integralhist {

/// A LUT from values of a feature to bins, and how many of the user's numbers are not bins.
struct BinLut {
  inthist::Lut lut;
  int n_outside = 0;
};

struct ProducerProperties {
  Backend backend = Backend::automatic;
  int cuda_device_id = -1;
  Options options = { .compute = Compute::automatic };
  bool sync = false;
  std::optional<bool> qos;  // whether late frames get no histogram; unset: live sources only
  guint interval = 1;
  ParsedText<std::vector<GstVideoRectangle>> regions;
  ParsedText<std::vector<int>> cuda_device_ids;
  inthist::Feature feature = inthist::Feature::luma;
  std::string quantization, lut_location;
  ParsedText<ParsedLut> lut;
  // only cudaintegralhist
  guint bins = 32, first_bin = 0, n_bins = 0;
  GstIntegralHistogramCounter counter = GST_INTEGRAL_HISTOGRAM_COUNTER_U32;
  inthist::Weight weight = inthist::Weight::one;
  bool soft = false;
  // only cudaintegralimage
  bool squared = false;

  /// Returns an error for users if a value is out of range, or if two values do not go together.
  /// range () and spec () are valid only if there is no error.
  Expected<> check (inthist::Content content) const;
  /// Returns an error for users if the chosen strategy or counter does not suit a tensor's shape.
  Expected<> check_shape (const inthist::Shape &shape) const;
  bool is_weighted () const { return weight != inthist::Weight::one || soft; }
  bool has_lut () const { return !lut.text.empty () || !lut_location.empty (); }
  /// Returns whether late frames pass without a histogram: by qos, or if unset, for live sources.
  bool sheds (bool live) const { return qos.value_or (live); }
  /// Returns the first CUDA device that the properties name; -1 for any.
  int first_device () const;
  /// Returns how many bins the whole histogram has, also if only a range of bins is computed.
  int all_bins () const;
  BinRange range () const;
  /// Returns the shape of the tensors to compute, without the frame's size.
  inthist::Shape shape (inthist::Content content) const;
  HistogramSpec spec () const;
  inthist::PixelFormat format (inthist::Content content, const GstVideoInfo &info) const;
  /// Returns a warning for users if `bins` is set and the feature ignores it; empty if not.
  std::string describe_ignored_bins () const;
  /// Returns a warning for users if the feature counts colours and frames are gray; empty if not.
  std::string describe_gray (const GstVideoInfo &info) const;
  /// Returns a warning for users that all `most` tensors are held downstream, with a remedy.
  std::string describe_wait (unsigned most) const;
  /// Returns the lookup table from a feature's values to bins or scores; may read the file of
  /// lut-location. If no value has a bin, returns an error for users.
  Expected<BinLut> lut_of_content (inthist::Content content) const;
};

/// Returns the properties of the producer whose tensors have this content (counts or sums).
const PropertyTable<ProducerProperties> &producer_properties (inthist::Content content);

/// Returns the properties that say where, when and in how much memory to compute, for elements that
/// contain producers. Their default is compute=on-demand: a consumer that asks about regions then
/// waits least. A summed-area table lacks cuda-device-ids and max-device-memory.
const PropertyTable<ProducerProperties> &shared_producer_properties ();

}  // namespace integralhist
