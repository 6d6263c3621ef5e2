// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The devices of an element: the CPU, a CUDA device, or several. All builds use this code.
#pragma once

#include <gst/elements/device/cuda_device.hpp>
#include <gst/frame/mapped_frame.hpp>
#include <gst/integralhist/factory/make_engine.hpp>

#include "producer_properties.hpp"

namespace integralhist {

class ComputeDevices {
public:
  /// Chooses and opens the devices. Returns a description of them, for the log.
  Expected<std::string> open (GstElement *element, const ProducerProperties &properties);
  void close ();

  /// Returns the open devices, for make_engine ().
  const Devices &all () const { return devices_; }
  /// Switches to the context of the buffer's pixels, if that is not the open one and is on a device
  /// that the element may use (-1 for any). Returns that device, if any. An NVMM frame in the
  /// memory of a device that the element may not use is an error.
  Expected<std::optional<int>> follow (GstBuffer *buffer, const FrameFormat &input, int device_id);
  /// Maps a buffer in place, and sets `frame` to the mapped pixels.
  Expected<MappedFrame> map (GstBuffer *buffer, const FrameFormat &input,
                             const inthist::PixelFormat &format, Frame &frame);

  /// Share contexts with the pipeline, for GstElement::set_context and for the CONTEXT query.
  void set_context (GstElement *element, GstContext *context, int device_id)
  {
    cuda_.set_context (element, context, device_id);
  }
  bool answer_query (GstElement *element, GstQuery *query, const ProducerProperties &properties);
  /// Completes an ALLOCATION query for this many frames in flight. Returns false on the CPU.
  bool propose_allocation (GstQuery *query, unsigned in_flight);

private:
  /// Opens the devices, or returns why there is no context. Fails only if the settings name a
  /// device that is missing.
  Expected<std::string> open_cuda (GstElement *element, const ProducerProperties &properties);
  /// Opens the context of the device with an NVMM frame, if that is not the open one.
  Expected<std::shared_ptr<CudaContext>> follow (GstBuffer *buffer, const NvmmSurface &surface,
                                                 int device_id);
  Expected<> locate (const NvmmSurface &surface, Frame &frame) const;

  CudaDevice cuda_;                // the first device, and the pipeline's contexts
  std::vector<DeviceUse> others_;  // all devices but the first
  Devices devices_;
  std::string why_cpu_;  // the reason if CUDA is allowed but not possible
};

}  // namespace integralhist
