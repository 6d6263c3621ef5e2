// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where an element computes: on the CPU, on a CUDA device, or on several; and the engine for a
// frame size there.
#pragma once

#include "cuda_device.hpp"
#include "producer_properties.hpp"

namespace integralhist {

class ComputeDevices {
public:
  /// Picks the devices and opens them. Returns what they are, for the log.
  Expected<std::string> open (GstElement *element, const ProducerProperties &properties);
  void close ();

  /// One for several devices, or for rounds, where the settings or the memory want it. A pixel of
  /// the input takes `pixel_bytes`.
  Expected<std::unique_ptr<Engine>> make_engine (const inthist::Shape &shape,
                                                 const inthist::Lut &lut, const Options &options,
                                                 int pixel_bytes);

  /// Whether frames are shared out, so that pixels may lie on any device.
  bool are_several () const { return ids_.size () > 1; }

#if INTHIST_CUDA
  CudaDevice cuda;                       // the first, and the contexts of the pipeline
  std::shared_ptr<CudaContext> context;  // null on the CPU
#endif

private:
#if INTHIST_CUDA
  /// Where there is no context, `why` gets the reason; an error only where the settings name what
  /// is not there.
  Expected<> open_cuda (GstElement *element, const ProducerProperties &properties,
                        std::string *why);
  struct Other {
    std::shared_ptr<CudaContext> context;
    DeviceUse use;
  };
  std::vector<Other> others_;  // the devices but the first
#endif
  std::vector<int> ids_;  // as they were named
};

}  // namespace integralhist
