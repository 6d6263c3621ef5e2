// SPDX-License-Identifier: LGPL-2.1-or-later
//
// CudaDevice without libgstcuda: the primary CUDA context, and no CUDA memory in buffers.
#include "cuda_device.hpp"
#include <gst/frame/video_formats.hpp>

namespace integralhist {

const char *const kReadableCaps =
    INTEGRALHIST_NVMM_CAPS ";" GST_VIDEO_CAPS_MAKE (INTEGRALHIST_SYSTEM_FORMATS);
const char *const kCanvasCaps = INTEGRALHIST_NVMM_CANVAS_CAPS;
const int kMapCuda = 0;

void CudaDevice::set_context (GstElement *, GstContext *, int) {}

bool CudaDevice::answer_query (GstElement *, GstQuery *, std::optional<int>)
{
  return false;
}

Expected<std::shared_ptr<CudaContext>> CudaDevice::open (GstElement *, int device_id, int devices)
{
  use_ = use_device (device_id, devices);
  return CudaContext::primary (*use_);
}

void CudaDevice::clear ()
{
  use_ = {};
}

Expected<std::shared_ptr<CudaContext>> CudaDevice::switch_context (GstBuffer *, int)
{
  return nullptr;
}

Expected<std::shared_ptr<CudaContext>> CudaDevice::switch_to_primary (int device)
{
  if (device == *use_)
    return nullptr;
  auto other = TRY (CudaContext::primary (device));
  use_ = use_device (device);
  return other;
}

bool CudaDevice::owns (GstBuffer *)
{
  return false;
}

Expected<std::shared_ptr<CudaContext>> CudaDevice::context_of (GstBuffer *)
{
  return nullptr;
}

inthist::Stream CudaDevice::producer_stream (GstBuffer *)
{
  return nullptr;
}

GstBufferPool *CudaDevice::new_pool ()
{
  return nullptr;
}

}  // namespace integralhist
