// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The three tensors that the correlation tracker needs: their settings, and the metas of a frame.
#pragma once

#include <string>

#include <kernels/correlation/cpu/channels.hpp>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/gstintegralhistogrammeta.h>

#include "cells.hpp"

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

/// The element that attaches all metas that the correlation tracker reads.
inline constexpr char kCorrelationProducer[] = "cudatrackfeatures";

/// The metas that the correlation tracker reads; null if missing, or computed with other settings.
struct CorrelationMetas {
  GstIntegralHistogramMeta *gradients, *colours, *luma;

  static CorrelationMetas of (GstBuffer *buffer);
  bool are_complete () const { return gradients && colours && luma; }
  FrameTensors tensors () const
  {
    return { gradients->histogram, colours->histogram, luma->histogram };
  }
};

/// Which metas a frame lacks that the correlation tracker reads, and what it has in their place.
struct MissingTensors {
  bool gradients, colours, luma;
  // whether the frame has one of the same feature with other settings
  bool other_gradients = false, other_colours = false, other_luma = false;
  // whether only colours or luma are missing, and the frame has one of another feature
  bool other_feature = false;
  GstIntegralHistogramMeta *range_meta = nullptr;  // a meta with only a range of the bins, if any

  static MissingTensors of (GstBuffer *buffer, const CorrelationMetas &metas);
  bool has_other () const { return other_gradients || other_colours || other_luma; }
  /// Returns as text which tensors are missing, and which have other settings or another feature.
  std::string names () const;
};

}  // namespace integralhist
