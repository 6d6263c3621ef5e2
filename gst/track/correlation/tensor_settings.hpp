// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The three tensors that the correlation tracker needs, with the settings that compute them.
#pragma once

#include <kernels/correlation/cpu/channels.hpp>

#include <gst/integralhist/api/histogram.hpp>

namespace integralhist {

struct TensorSettings {
  inthist::Content content;
  HistogramSpec spec;
  int bins;  // planes of the tensor

  /// Returns whether a histogram was computed with these settings. Only a histogram of weights,
  /// such as of gradients, must also have the same number of bins.
  bool matches (GstIntegralHistogram *histogram) const
  {
    const Tensor &tensor = tensor_of (histogram);
    const HistogramSpec &other = spec_of (histogram);
    return tensor.shape.content == content && other.feature == spec.feature
           && other.weight == spec.weight && other.soft == spec.soft
           && (content != inthist::Content::weights || tensor.shape.bins == bins);
  }
};

inline constexpr TensorSettings kGradientSettings = { inthist::Content::weights,
                                                      { .feature =
                                                            inthist::Feature::signed_gradient,
                                                        .weight = inthist::Weight::gradient,
                                                        .soft = true },
                                                      inthist::correlation::kDirections };
inline constexpr TensorSettings kColourSettings = {
  inthist::Content::bins,
  { .feature = inthist::Feature::hsv,
    .quantization = inthist::info_of (inthist::Feature::hsv).quantization },
  256
};
inline constexpr TensorSettings kLumaSettings = { inthist::Content::sums,
                                                  { .feature = inthist::Feature::luma },
                                                  1 };
inline constexpr const TensorSettings *kCorrelationSettings[] = { &kGradientSettings,
                                                                  &kColourSettings,
                                                                  &kLumaSettings };

}  // namespace integralhist
