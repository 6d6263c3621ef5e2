// SPDX-License-Identifier: LGPL-2.1-or-later
#include "compute_devices.hpp"

#include <gst/integralhist/make_engine.hpp>

#include "parse.hpp"

namespace integralhist {

#if INTHIST_CUDA
Expected<> ComputeDevices::open_cuda (GstElement *element, const ProducerProperties &properties,
                                      std::string *why)
{
  const int devices = CudaContext::device_count (why);
  if (devices == 0)
    return {};
  const std::string last = std::to_string (devices - 1);
  for (const int id : ids_)
    if (id >= devices)
      return error (Error::Kind::no_device, "CUDA device " + std::to_string (id)
                                                + " of cuda-device-ids=\""
                                                + properties.cuda_device_ids
                                                + "\" does not exist: name devices 0.." + last);
  if (properties.cuda_device_id >= devices)
    return error (Error::Kind::no_device,
                  "CUDA device " + std::to_string (properties.cuda_device_id)
                      + " does not exist: set cuda-device-id to 0.." + last + ", or to -1");
  const auto open_all = [&] () -> Expected<> {
    for (std::size_t i = 1; i < ids_.size (); i++)
      others_.push_back ({ TRY (CudaContext::primary (ids_[i])), DeviceUse (ids_[i]) });
    context = TRY (cuda.open (element, properties.first_device ()));
    return {};
  };
  if (const auto opened = open_all (); !opened) {
    *why = opened.error ().message;
    others_.clear ();
  }
  return {};
}
#endif

Expected<std::string> ComputeDevices::open (GstElement *element,
                                            const ProducerProperties &properties)
{
  const inthist::Strategy *wanted = properties.options.strategy;
  if (wanted && properties.backend != Backend::automatic
      && (wanted->device == inthist::Device::cuda) != (properties.backend == Backend::cuda))
    return error (Error::Kind::bad_setting,
                  std::string ("strategy=") + wanted->name + " runs on "
                      + (wanted->device == inthist::Device::cuda ? "CUDA" : "the CPU")
                      + " only: set backend=auto, or strategy=auto");

  ids_ = TRY (parse_device_ids (properties.cuda_device_ids));
  const bool may_cuda =
      properties.backend != Backend::cpu && !(wanted && wanted->device == inthist::Device::cpu);
  const bool named = may_cuda && properties.cuda_device_id >= 0,
             listed = may_cuda && !ids_.empty ();
  // What would let the element take the CPU, where the settings do not.
  std::string cpu_instead;
  for (const auto &[demanded, setting] :
       { std::pair (properties.backend == Backend::cuda, "backend=auto"),
         std::pair (may_cuda && wanted, "strategy=auto"), std::pair (named, "cuda-device-id=-1"),
         std::pair (listed, "no cuda-device-ids") })
    if (demanded)
      cpu_instead += (cpu_instead.empty () ? "" : " and ") + std::string (setting);
  std::string why =
      "this build has no CUDA (it was configured with -Dcuda=disabled, or without nvcc)";
#if INTHIST_CUDA
  if (may_cuda)
    TRY (open_cuda (element, properties, &why));
  if (context)
    return "CUDA device" + std::string (listed ? "s " : " ")
           + (listed ? properties.cuda_device_ids : std::to_string (context->device ()));
#else
  (void) element;
#endif
  if (!cpu_instead.empty ()) {
    const std::string device = named    ? " device " + std::to_string (properties.cuda_device_id)
                               : listed ? " devices " + properties.cuda_device_ids
                                        : "";
    return error (Error::Kind::no_device, "CUDA" + device + " cannot be used: " + why + ". Set "
                                              + cpu_instead + " to compute on the CPU");
  }
  return "CPU" + (may_cuda ? "; CUDA: " + why : "");
}

void ComputeDevices::close ()
{
  ids_.clear ();
#if INTHIST_CUDA
  context = nullptr;
  others_.clear ();
  cuda.clear ();
#endif
}

Expected<std::unique_ptr<Engine>> ComputeDevices::make_engine (const inthist::Shape &shape,
                                                               const inthist::Lut &lut,
                                                               const Options &options,
                                                               int pixel_bytes)
{
  Devices devices = { {}, ids_ };
#if INTHIST_CUDA
  if (context)
    devices.contexts.push_back (context);
  for (const auto &other : others_)
    devices.contexts.push_back (other.context);
#endif
  return integralhist::make_engine (shape, lut, options, devices, pixel_bytes);
}

}  // namespace integralhist
