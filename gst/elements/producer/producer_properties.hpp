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
#include <gst/integralhist/gstintegralhistogram.h>
#include <gst/properties/properties.hpp>

namespace integralhist {

enum class Backend { automatic, cuda, cpu };

/// A LUT from values to bins.
struct BinLut {
  inthist::Lut lut;
  int n_outside = 0;  // how many of the user's numbers are not bins
};

struct ProducerProperties {
  Backend backend = Backend::automatic;
  int cuda_device_id = -1;
  Options options = { .compute = Compute::automatic };
  bool sync = false;
  std::optional<bool> qos;  // if unset, on for live sources
  guint interval = 1;
  ParsedText<std::vector<GstVideoRectangle>> regions;
  ParsedText<std::vector<int>> cuda_device_ids;
  GstIntegralHistogramFeature feature = GST_INTEGRAL_HISTOGRAM_FEATURE_LUMA;
  std::string quantization, lut_location;
  ParsedText<ParsedLut> lut;
  // only cudaintegralhist
  guint bins = 32, first_bin = 0, n_bins = 0;
  GstIntegralHistogramCounter counter = GST_INTEGRAL_HISTOGRAM_COUNTER_U32;
  GstIntegralHistogramWeight weight = GST_INTEGRAL_HISTOGRAM_WEIGHT_ONE;
  bool soft = false;
  // only cudaintegralimage
  bool squared = false;

  /// Returns an error for users if a value is out of range, or if two values do not go together.
  Expected<> check (inthist::Content content) const;
  /// Returns an error for users if tensors of this shape cannot be computed.
  Expected<> check_shape (const inthist::Shape &shape) const;
  /// Returns an error for users if first-bin and n-bins select no bins of the histogram.
  Expected<> check_range () const;
  bool is_weighted () const { return weight != GST_INTEGRAL_HISTOGRAM_WEIGHT_ONE || soft; }
  bool has_lut () const { return !lut.text.empty () || !lut_location.empty (); }
  /// Returns whether late frames pass without a histogram.
  bool sheds (bool live) const { return qos.value_or (live); }
  /// Returns the first device of the settings; -1 for any.
  int first_device () const;
  /// Returns how many bins the whole histogram has.
  int all_bins () const;
  /// Returns the bins that the element makes, once check () has found no error.
  BinRange range () const;
  /// Returns the shape that the element computes, without the frame's size.
  inthist::Shape shape (inthist::Content content) const;
  /// Returns the settings of the bins, once check () has found no error.
  HistogramSpec spec () const;
  /// Returns how to read the pixels of video with this `info`.
  inthist::PixelFormat format (inthist::Content content, const GstVideoInfo &info) const;
  /// Returns a warning for users if `bins` is set and the feature ignores it; empty if not.
  std::string describe_ignored_bins () const;
  /// Returns a text for users, which says that all `most` tensors are held downstream, and what to
  /// do.
  std::string describe_wait (unsigned most) const;
  /// Returns the LUT from values to bins, or to scores; reads its file if the properties name one.
  /// If no value has a bin, returns an error for users.
  Expected<BinLut> lut_of_content (inthist::Content content) const;
};

/// Returns the properties of the element that computes this content.
const PropertyTable<ProducerProperties> &producer_properties (inthist::Content content);

/// Returns the properties that say where, when and in how much memory to compute, for an element
/// that contains producers. They compute on demand by default, because a consumer that asks about
/// regions then waits least, also with a GPU. A summed-area table has all of them except
/// cuda-device-ids and max-device-memory.
const PropertyTable<ProducerProperties> &shared_producer_properties ();

}  // namespace integralhist
