// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Models of many targets on a GPU, next to the frames that they look at (kernels/correlation). They
// have the same bits as those of the host.
#pragma once

#include <memory>
#include <span>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/engine/device_feature_image.hpp>

#include "cells.hpp"
#include "host_model.hpp"
#include "model.hpp"

namespace integralhist {

/// The model of a target on a GPU.
class DeviceModel {
public:
  virtual ~DeviceModel () = default;
};

/// What a stage asks of a model.
struct DeviceQuery {
  DeviceModel *model;
  ModelRequest *request;
};

/// The models on a GPU. What one call after another enqueues is done in this order.
class DeviceModels {
public:
  virtual ~DeviceModels () = default;
  /// Returns whether the image is on the GPU of these models.
  virtual bool are_with (const DeviceFeatureImage &image) const = 0;
  /// Makes a copy of a model. After an Error::Kind::no_memory the host's model goes on.
  virtual Expected<std::unique_ptr<DeviceModel>> make (const HostModel &from) = 0;
  /// Copies a model back.
  virtual Expected<std::unique_ptr<HostModel>> read (DeviceModel &from) = 0;
  /// Answers the requests of a stage of many targets, which may be different ones, and has models
  /// learn. The frame has its images on this GPU. Returns when answers are here.
  virtual Expected<> run (const FrameTensors &frame, std::span<const DeviceQuery> queries) = 0;
};

/// Makes models on the GPU of the image. A build without CUDA does not have this function.
std::shared_ptr<DeviceModels> make_device_models (const DeviceFeatureImage &image);

}  // namespace integralhist
