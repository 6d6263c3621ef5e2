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
  int n_outside = 0;  // of the numbers that a user wrote, those that are no bin
};

struct ProducerProperties {
  Backend backend = Backend::automatic;
  int cuda_device_id = -1;
  Options options = { .compute = Compute::automatic };
  bool sync = false;
  std::optional<bool> qos;  // unset: on for live sources
  guint interval = 1;
  ParsedText<std::vector<GstVideoRectangle>> regions;
  ParsedText<std::vector<int>> cuda_device_ids;
  GstIntegralHistogramFeature feature = GST_INTEGRAL_HISTOGRAM_FEATURE_LUMA;
  std::string quantization, lut_location;
  ParsedText<ParsedLut> lut;
  // of cudaintegralhist
  guint bins = 32, first_bin = 0, n_bins = 0;
  GstIntegralHistogramCounter counter = GST_INTEGRAL_HISTOGRAM_COUNTER_U32;
  GstIntegralHistogramWeight weight = GST_INTEGRAL_HISTOGRAM_WEIGHT_ONE;
  bool soft = false;
  // of cudaintegralimage
  bool squared = false;

  /// Returns an error for users where a value is out of range, or two do not go together.
  Expected<> check (inthist::Content content) const;
  /// Returns an error for users where tensors of this shape cannot be computed.
  Expected<> check_shape (const inthist::Shape &shape) const;
  /// Does so where first-bin and n-bins are none of the bins.
  Expected<> check_range () const;
  bool is_weighted () const { return weight != GST_INTEGRAL_HISTOGRAM_WEIGHT_ONE || soft; }
  bool has_lut () const { return !lut.text.empty () || !lut_location.empty (); }
  /// Returns whether late frames pass without a histogram.
  bool sheds (bool live) const { return qos.value_or (live); }
  /// Returns the first device of the settings; -1 for any.
  int first_device () const;
  /// Returns how many bins the whole histogram has.
  int all_bins () const;
  /// Returns those that the element makes, once check () has found no error.
  BinRange range () const;
  /// Returns the shape that the element computes, without the frame's size.
  inthist::Shape shape (inthist::Content content) const;
  /// Returns what is counted, once check () has found no error.
  HistogramSpec spec () const;
  /// Returns how the pixels of such video are read.
  inthist::PixelFormat format (inthist::Content content, const GstVideoInfo &info) const;
  /// Tells users that all tensors, which are `most`, are held downstream, and what to do.
  std::string describe_wait (unsigned most) const;
  /// Returns the LUT from values to bins, or to scores. Reads the file that has it. If no value has
  /// a bin, it returns an error for users.
  Expected<BinLut> lut_of_content (inthist::Content content) const;
};

/// Returns the properties of the element that computes such content.
const PropertyTable<ProducerProperties> &producer_properties (inthist::Content content);

/// Returns those that say where, when and in how much memory to compute, for an element that has
/// producers in it. These compute on demand by default: a consumer that asks about regions waits
/// least so, with a GPU too. A summed-area table has all but cuda-device-ids and max-device-memory.
const PropertyTable<ProducerProperties> &shared_producer_properties ();

}  // namespace integralhist
