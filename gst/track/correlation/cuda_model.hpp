// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A target's model in the memory of a GPU, and the facts about the model that the host knows.
#pragma once

#include <optional>
#include <utility>

#include <kernels/correlation/cuda/device_model.hpp>
#include <kernels/cuda/raii.hpp>

#include <gst/integralhist/cuda/base/in_context.hpp>

#include "device_model_pool.hpp"

namespace integralhist {

class CudaModel final : public DeviceModel {
public:
  using ModelMemory = inthist::correlation::cuda::ModelMemory;

  explicit CudaModel (ContextRef context) : memory_ (std::move (context)) {}
  static CudaModel &of (const DeviceRequest &target)
  {
    return static_cast<CudaModel &> (*target.model);
  }

  inthist::cuda::CudaExpected<> open ()
  {
    *memory_ = TRY (inthist::cuda::make_device_memory (sizeof (ModelMemory)));
    return {};
  }
  /// Returns the model's address in the GPU's memory, which the host may not read.
  ModelMemory *get () const { return reinterpret_cast<ModelMemory *> (memory_->get ()); }

  /// Forgets what a request starts anew, before its jobs are counted.
  void begin (const ModelRequest &request)
  {
    if (request.stage != Stage::start)
      return;
    example_rate = 0;
    if (request.restarts_size_filter) {
      cells = SizeCells::of (request.box.width, request.box.height);
      has_sizes = false;
    }
  }
  /// Notes what the GPU learns by a request, after its jobs are written.
  void end (const ModelRequest &request)
  {
    if (request.stage == Stage::search)
      example_rate = 0;
    if (request.stage == Stage::learn_filter)
      example_rate = request.rate;
    if (request.stage == Stage::start || request.stage == Stage::learn_size)
      has_sizes = true;
  }

  std::optional<inthist::correlation::FilterBox> box;  // set when the filter starts
  SizeCells cells;
  bool has_sizes = false;   // learned from a sample
  double example_rate = 0;  // learning rate of the next example, or 0

private:
  InContext<inthist::cuda::DeviceMemory> memory_;
};

}  // namespace integralhist
