// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation filters of many targets on a GPU, next to the frames that they look at
// (kernels/correlation). They have the same bits as those of the CPU.
#pragma once

#include <memory>
#include <span>

#include <kernels/correlation/filter_kernels.hpp>

#include <gst/integralhist/engine/device_feature_image.hpp>

#include "cells.hpp"
#include "frame_queries.hpp"

namespace integralhist {

using inthist::correlation::cuda::FilterTables;

/// A target's filter on a GPU.
class DeviceFilter {
public:
  virtual ~DeviceFilter () = default;
};

/// The numbers that write () copies to a filter: spectra as Complexes, their parts apart.
struct DeviceFilterValues {
  std::span<const float> weights_re, weights_im, example_re,
      example_im;  // empty if there is no example
  std::span<const float> wanted, inside;
  float energy;
};

/// The filters of a GPU. Each call is about many; what it enqueues is done in the order of calls.
/// Frames must have their feature images on that GPU.
class DeviceFilters {
public:
  virtual ~DeviceFilters () = default;
  /// Returns whether the image is on the GPU of these filters.
  virtual bool are_with (const DeviceFeatureImage &image) const = 0;
  virtual Expected<std::unique_ptr<DeviceFilter>> make (const FilterTables &) = 0;
  virtual Expected<> write (DeviceFilter &filter, const DeviceFilterValues &values) = 0;
  /// Copies weights, example and energy back.
  virtual Expected<> read (DeviceFilter &filter, std::span<float> weights, std::span<float> example,
                           float &energy) = 0;
  /// Returns when responses are here.
  virtual Expected<> respond (const FrameTensors &frame, std::span<FilterQuery *const> queries) = 0;
  /// Returns when the frame has been read.
  virtual Expected<> make_examples (const FrameTensors &frame,
                                    std::span<FilterQuery *const> queries) = 0;
  virtual Expected<> move (std::span<MoveQuery *const> moves) = 0;
  /// Returns when the samples are here. Boxes have at most kMaxSizeCells cells.
  virtual Expected<> sample (const FrameTensors &frame, std::span<SampleQuery *const> queries) = 0;
};

/// Makes filters on the GPU of the image. Builds without CUDA have neither.
std::shared_ptr<DeviceFilters> make_device_filters (const DeviceFeatureImage &image);

}  // namespace integralhist
