// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation filters of many targets on a GPU, beside the frames that they look at
// (kernels/filters.hpp).
#pragma once

#include <memory>
#include <span>

#include <kernels/cells.hpp>
#include <kernels/filters.hpp>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

class Tensor;

/// A target's filter on a GPU.
class DeviceFilter {
public:
  virtual ~DeviceFilter () = default;
};

/// What is copied to one: spectra as Complexes, their parts one behind the other.
struct DeviceFilterValues {
  std::span<const float> weights_re, weights_im, example_re,
      example_im;  // empty where there is no example
  std::span<const float> wanted, inside;
};

/// Asks for the response to a square, or has an example made of it.
struct FilterQuery {
  DeviceFilter *filter;
  inthist::Cells square;
  float per_length, per_luma;
  float *response = nullptr;  // kFilterGrid x kFilterGrid numbers in host memory
  float mu = 0, rho = 0;      // by which to learn from the example afterwards; 0 for not
};

/// Has what was searched made an example, moved by turns of its frequencies.
struct FilterMove {
  DeviceFilter *filter;
  std::span<const double> turns;
};

/// Asks what a box looks like at some sizes, each of as many cells.
struct SizesQuery {
  std::span<const inthist::Cells> grids;
  std::span<const float> scales;
  float *sample;  // [size][cell][orientation], in host memory
};

/// The filters of a GPU. Each call is about many; what it enqueues is done in the order of calls.
class DeviceFilters {
public:
  virtual ~DeviceFilters () = default;
  /// Returns whether a tensor's values are where these filters are.
  virtual bool takes (Tensor &tensor) const = 0;
  virtual Expected<std::unique_ptr<DeviceFilter>> make (const inthist::cuda::FilterTables &) = 0;
  virtual Expected<> write (DeviceFilter &filter, const DeviceFilterValues &values) = 0;
  /// Copies weights and example back.
  virtual Expected<> read (DeviceFilter &filter, std::span<float> weights,
                           std::span<float> example) = 0;
  /// Returns when responses are here. The tensors' values must be on the GPU.
  virtual Expected<> respond (Tensor &gradients, Tensor &luma,
                              std::span<const FilterQuery> queries) = 0;
  virtual Expected<> make_examples (Tensor &gradients, Tensor &luma,
                                    std::span<const FilterQuery> queries) = 0;
  virtual Expected<> move (std::span<const FilterMove> moves) = 0;
  /// Returns when the samples are here. Boxes have at most kMostSizeCells cells.
  virtual Expected<> sample (Tensor &gradients, std::span<const SizesQuery> queries) = 0;
};

}  // namespace integralhist
