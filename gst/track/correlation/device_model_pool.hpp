// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pool of the models of all targets on the GPU that has the frames' tensors
// (kernels/correlation). Models on a GPU have the same bits as models on the host.
#pragma once

#include <memory>
#include <span>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/engine/device_feature_image.hpp>

#include "cells.hpp"
#include "host_model.hpp"
#include "model_request.hpp"

namespace integralhist {

class DeviceModel {
public:
  virtual ~DeviceModel () = default;
};

struct DeviceRequest {
  DeviceModel *model;
  ModelRequest *request;
};

/// Makes and runs the models of targets on one GPU, which executes the calls in their order.
class DeviceModelPool {
public:
  virtual ~DeviceModelPool () = default;
  virtual bool are_on_device_of (const DeviceFeatureImage &image) const = 0;
  /// Copies a model to the GPU. After Error::Kind::no_memory, the model on the host stays in use.
  virtual Expected<std::unique_ptr<DeviceModel>> make (const HostModel &from) = 0;
  virtual Expected<std::unique_ptr<HostModel>> read (DeviceModel &from) = 0;
  /// Answers the requests of many targets, which may be in different stages, and lets models learn.
  /// The frame's images must be on this GPU. Returns when the answers have arrived on the host.
  virtual Expected<> run (const FrameTensors &frame, std::span<const DeviceRequest> targets) = 0;
};

/// Makes models on the GPU that has an image. A build without CUDA does not have this function.
std::shared_ptr<DeviceModelPool> make_device_model_pool (const DeviceFeatureImage &image);

}  // namespace integralhist
