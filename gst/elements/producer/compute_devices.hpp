// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The devices on which an element computes: the CPU, a CUDA device, or several.
#pragma once

#include <gst/elements/device/cuda_device.hpp>
#include <gst/frame/mapped_frame.hpp>
#include <gst/integralhist/factory/make_engine.hpp>

#include "producer_properties.hpp"

namespace integralhist {

class ComputeDevices {
public:
  Expected<std::string> open (GstElement *element, const ProducerProperties &properties);
  void close ();

  const Devices &all () const { return devices_; }
  /// Switches to the CUDA context of the buffer's pixels, if another one is open and the element
  /// may use that device (-1 for any). Returns the new device, if any. An NVMM frame in the memory
  /// of a device that the element may not use is an error.
  Expected<std::optional<int>> switch_device (GstBuffer *buffer, const FrameFormat &input,
                                              int device_id);
  /// Maps a buffer in place. `frame` gets the pixels, which lie in host, pinned or GPU memory.
  Expected<MappedFrame> map (GstBuffer *buffer, const FrameFormat &input,
                             const inthist::PixelFormat &format, Frame &frame);

  void set_context (GstElement *element, GstContext *context, int device_id)
  {
    cuda_.set_context (element, context, device_id);
  }
  bool answer_query (GstElement *element, GstQuery *query, const ProducerProperties &properties);
  /// Offers upstream memory that a GPU reads quickly (ALLOCATION query); false on the CPU.
  bool propose_allocation (GstQuery *query, unsigned in_flight);

private:
  /// Opens the CUDA devices; if CUDA cannot be used, sets `why_cpu_`. A missing named device is an
  /// error.
  Expected<> open_cuda (GstElement *element, const ProducerProperties &properties);
  /// Switches to the CUDA context of an NVMM frame's GPU; returns null if no switch is needed.
  Expected<std::shared_ptr<CudaContext>> switch_to_nvmm (GstBuffer *buffer,
                                                         const NvmmSurface &surface, int device_id);
  Expected<> locate (const NvmmSurface &surface, Frame &frame) const;

  CudaDevice cuda_;                // the first CUDA device, and the context it shares
  std::vector<DeviceUse> others_;  // all devices but the first
  Devices devices_;
  std::string why_cpu_;  // why CUDA, although allowed, cannot be used
};

}  // namespace integralhist
