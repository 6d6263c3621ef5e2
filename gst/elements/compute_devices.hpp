// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where an element computes: on the CPU, on a CUDA device, or on several. Makes the engine there.
#pragma once

#include "cuda_device.hpp"
#include "producer_properties.hpp"

namespace integralhist {

class ComputeDevices {
public:
  /// Picks and opens the devices. Returns what they are, for the log.
  Expected<std::string> open (GstElement *element, const ProducerProperties &properties);
  void close ();

  /// Makes the engine for a shape there; see make_engine.hpp.
  Expected<std::unique_ptr<Engine>> make_engine (const inthist::Shape &shape,
                                                 const inthist::Lut &lut, const Options &options,
                                                 int pixel_bytes);

  /// Returns whether there are several devices, any of which may hold the pixels.
  bool are_several () const { return ids_.size () > 1; }

#if INTHIST_CUDA
  CudaDevice cuda;                       // the first device, and the pipeline's contexts
  std::shared_ptr<CudaContext> context;  // null on the CPU
#endif

private:
#if INTHIST_CUDA
  /// Opens the devices; fails only where the settings name a device that is missing. Without a
  /// context `why` is set to the reason.
  Expected<> open_cuda (GstElement *element, const ProducerProperties &properties,
                        std::string *why);
  struct Other {
    std::shared_ptr<CudaContext> context;
    DeviceUse use;
  };
  std::vector<Other> others_;  // all but the first
#endif
  std::vector<int> ids_;  // in the order of the settings
};

}  // namespace integralhist
