// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Models of many targets on the GPU that has the frames they read (kernels/correlation). They have
// the same bits as models on the host.
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

/// A request of a stage, and the model that answers it.
struct DeviceQuery {
  DeviceModel *model;
  ModelRequest *request;
};

/// The models on a GPU. The work of successive calls runs in the order of the calls.
class DeviceModels {
public:
  virtual ~DeviceModels () = default;
  /// Returns whether the image is on the GPU of these models.
  virtual bool are_with (const DeviceFeatureImage &image) const = 0;
  /// Copies a host's model to the GPU. After an Error::Kind::no_memory the host's model stays in
  /// use.
  virtual Expected<std::unique_ptr<DeviceModel>> make (const HostModel &from) = 0;
  /// Copies a model back to the host.
  virtual Expected<std::unique_ptr<HostModel>> read (DeviceModel &from) = 0;
  /// Answers the requests of many targets, which may be in different stages, and lets models learn.
  /// The frame has its images on this GPU. Returns when the answers have arrived.
  virtual Expected<> run (const FrameTensors &frame, std::span<const DeviceQuery> queries) = 0;
};

/// Makes models on the GPU that has the image. A build without CUDA does not have this function.
std::shared_ptr<DeviceModels> make_device_models (const DeviceFeatureImage &image);

}  // namespace integralhist
