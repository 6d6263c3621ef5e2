// SPDX-License-Identifier: LGPL-2.1-or-later
#include "compute_devices.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <gst/integralhist/cuda/base/cuda_context.hpp>
#include <gst/integralhist/cuda/memory/pinned_memory.hpp>

#include "allocation_offer.hpp"

namespace integralhist {

static bool may_use_cuda (const ProducerProperties &properties)
{
  const inthist::Strategy *wanted = properties.options.strategy;
  return properties.backend != Backend::cpu && !(wanted && wanted->device == inthist::Device::cpu);
}

Expected<std::string> ComputeDevices::open (GstElement *element,
                                            const ProducerProperties &properties)
{
  const inthist::Strategy *wanted = properties.options.strategy;
  if (wanted && properties.backend != Backend::automatic
      && (wanted->device == inthist::Device::cuda) != (properties.backend == Backend::cuda))
    return error (Error::Kind::bad_setting, "strategy=", wanted->name, " runs on ",
                  wanted->device == inthist::Device::cuda ? "CUDA" : "the CPU",
                  " only: set backend=auto, or strategy=auto");

  devices_.ids = TRY (properties.cuda_device_ids.value);
  const bool may_cuda = may_use_cuda (properties);
  const bool named = may_cuda && properties.cuda_device_id >= 0,
             listed = may_cuda && !devices_.ids.empty ();
  // The settings that must change before the element may use the CPU, for the error; may be empty.
  std::string cpu_instead;
  for (const auto &[demanded, setting] :
       { std::pair (properties.backend == Backend::cuda, "backend=auto"),
         std::pair (may_cuda && wanted, "strategy=auto"), std::pair (named, "cuda-device-id=-1"),
         std::pair (listed, "no cuda-device-ids") })
    if (demanded)
      cpu_instead += (cpu_instead.empty () ? "" : " and ") + std::string (setting);
  why_cpu_.clear ();
  if (may_cuda)
    TRY (open_cuda (element, properties));
  if (devices_.on_gpu ())
    return "CUDA device" + std::string (listed ? "s " : " ")
           + (listed ? properties.cuda_device_ids.text : std::to_string (cuda_.device ()));
  if (!cpu_instead.empty ()) {
    const std::string device = named    ? " device " + std::to_string (properties.cuda_device_id)
                               : listed ? " devices " + properties.cuda_device_ids.text
                                        : "";
    return error (Error::Kind::no_device, "CUDA", device, " cannot be used: ", why_cpu_, ". Set ",
                  cpu_instead, " to compute on the CPU");
  }
  return "CPU" + (may_cuda ? "; CUDA: " + why_cpu_ : "");
}

Expected<> ComputeDevices::open_cuda (GstElement *element, const ProducerProperties &properties)
{
  const auto count = CudaContext::device_count ();
  if (!count) {
    why_cpu_ = count.error ().message;
    return {};
  }
  const int devices = *count;
  const std::string last = std::to_string (devices - 1);
  for (const int id : devices_.ids)
    if (id >= devices)
      return error (Error::Kind::no_device, "CUDA device ", id, " of cuda-device-ids=\"",
                    properties.cuda_device_ids.text, "\" does not exist: name devices 0..", last);
  if (properties.cuda_device_id >= devices)
    return error (Error::Kind::no_device, "CUDA device ", properties.cuda_device_id,
                  " does not exist: set cuda-device-id to 0..", last, ", or to -1");
  const auto open_all = [&] () -> Expected<std::vector<std::shared_ptr<CudaContext>>> {
    std::vector<std::shared_ptr<CudaContext>> contexts (1);  // the first is opened last
    for (std::size_t i = 1; i < devices_.ids.size (); i++) {
      contexts.push_back (TRY (CudaContext::primary (devices_.ids[i])));
      others_.push_back (use_device (devices_.ids[i]));
    }
    contexts.front () = TRY (cuda_.open (element, properties.first_device (), devices));
    return contexts;
  };
  auto opened = open_all ();
  if (opened) {
    devices_.contexts = std::move (*opened);
  } else {
    others_.clear ();
    why_cpu_ = opened.error ().message;
  }
  return {};
}

void ComputeDevices::close ()
{
  devices_ = {};
  others_.clear ();
  cuda_.clear ();
}

Expected<std::shared_ptr<CudaContext>>
ComputeDevices::switch_to_nvmm (GstBuffer *buffer, const NvmmSurface &surface, int device_id)
{
  const bool is_on_device = surface.is_on_device (devices_.on_gpu ());
  if (is_on_device && !devices_.on_gpu ())
    return error (Error::Kind::bad_frame, "The NVMM frames are in the memory of GPU ",
                  surface.device, ", and this element computes on the CPU",
                  why_cpu_.empty () ? ": set backend=auto and strategy=auto"
                                    : joined (" because CUDA cannot be used: ", why_cpu_),
                  "; or put \"nvvideoconvert ! video/x-raw\" before it");
  if (!devices_.on_gpu () || devices_.are_several ())
    return nullptr;
  if (!is_on_device)  // the NVMM frame is in host memory, like ordinary frames
    return cuda_.switch_context (buffer, device_id);
  if (device_id >= 0 && device_id != surface.device)
    return error (Error::Kind::bad_frame, "The NVMM frames are in the memory of GPU ",
                  surface.device, ", and cuda-device-id=", device_id,
                  ": set cuda-device-id=", surface.device, " or -1, or gpu-id=", device_id,
                  " of the elements upstream");
  return cuda_.switch_to_primary (surface.device);
}

Expected<std::optional<int>> ComputeDevices::switch_device (GstBuffer *buffer,
                                                            const FrameFormat &input, int device_id)
{
  const bool is_nvmm = input.memory == FrameMemory::nvmm;
  if (!is_nvmm && (!devices_.on_gpu () || devices_.are_several ()))
    return std::nullopt;
  auto context =
      is_nvmm ? TRY (switch_to_nvmm (buffer, TRY (nvmm_surface_of (buffer, input.info)), device_id))
              : TRY (cuda_.switch_context (buffer, device_id));
  if (!context)
    return std::nullopt;
  devices_.contexts.front () = std::move (context);
  return cuda_.device ();
}

Expected<MappedFrame> ComputeDevices::map (GstBuffer *buffer, const FrameFormat &input,
                                           const inthist::PixelFormat &format, Frame &frame)
{
  if (devices_.on_gpu () && devices_.are_several ())
    frame.context = TRY (CudaDevice::context_of (buffer));
  const bool is_cuda_memory = frame.context || (devices_.on_gpu () && cuda_.owns (buffer));
  MappedFrame mapped =
      TRY (MappedFrame::map (buffer, input, GST_MAP_READ | (is_cuda_memory ? kMapCuda : 0)));
  frame.image = TRY (mapped.image (format));
  if (mapped.surface ()) {
    TRY (locate (*mapped.surface (), frame));
    return mapped;
  }
  const PicturePlanes planes (frame.image, mapped.area.w, mapped.area.h);
  const auto is_upright = [] (const PictureRows &rows) { return rows.stride >= 0; };
  // Returns whether rows are in pinned memory, and neither overlap nor run from the bottom up.
  const auto is_pinned_plane = [buffer] (const PictureRows &rows) {
    return rows.stride >= std::ptrdiff_t (rows.bytes)
           && is_pinned (gst_buffer_peek_memory (buffer, 0), rows.data,
                         std::size_t (rows.stride) * (rows.n - 1) + rows.bytes);
  };
  if (is_cuda_memory) {
    if (!std::ranges::all_of (planes.all (), is_upright))
      return error (Error::Kind::bad_frame,
                    "The frame cannot be read: in CUDA memory its rows go from the bottom up. Put "
                    "\"cudadownload ! videoconvert\" before this element");
    frame.location = PixelLocation::device;
    frame.written_on = CudaDevice::producer_stream (buffer);
  } else if (devices_.on_gpu () && std::ranges::all_of (planes.all (), is_pinned_plane)) {
    frame.location = PixelLocation::pinned;
  }
  return mapped;
}

/// Sets where the pixels of an NVMM frame lie; no stream still writes them when the frame arrives.
Expected<> ComputeDevices::locate (const NvmmSurface &surface, Frame &frame) const
{
  if (surface.is_on_device (devices_.on_gpu ())) {
    frame.location = PixelLocation::device;
    if (devices_.are_several ())
      frame.context = TRY (CudaContext::primary (surface.device));
  } else if (devices_.on_gpu () && surface.memory == NvmmSurface::Memory::pinned) {
    frame.location = PixelLocation::pinned;
  }
  return {};
}

bool ComputeDevices::answer_query (GstElement *element, GstQuery *query,
                                   const ProducerProperties &properties)
{
  const bool has_device = may_use_cuda (properties) && properties.cuda_device_ids.text.empty ();
  return cuda_.answer_query (element, query,
                             has_device ? std::optional (properties.cuda_device_id) : std::nullopt);
}

bool ComputeDevices::propose_allocation (GstQuery *query, unsigned in_flight)
{
  if (!devices_.on_gpu ())
    return false;
  offer_allocation (query, cuda_, devices_.contexts.front (), in_flight);
  return true;
}

}  // namespace integralhist
