// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cuda_device.hpp"

namespace integralhist {

#if HAVE_GSTCUDA

void
CudaDevice::set_context (GstElement *element, GstContext *context, int device_id)
{
  std::string why;
  // libgstcuda aborts where there is no driver
  if (g_strcmp0 (gst_context_get_context_type (context), GST_CUDA_CONTEXT_TYPE) != 0 || CudaContext::device_count (&why) == 0
      || !gst_cuda_load_library ())
    return;
  const std::lock_guard lock (mutex_);
  gst_cuda_handle_set_context (element, context, device_id, &context_);
}

bool
CudaDevice::answer_query (GstElement *element, GstQuery *query)
{
  const std::lock_guard lock (mutex_);
  return context_ && gst_cuda_handle_context_query (element, query, context_);
}

std::shared_ptr<CudaContext>
CudaDevice::open (GstElement *element, int device_id)
{
  const std::lock_guard lock (mutex_);
  if (!gst_cuda_load_library () || !gst_cuda_ensure_element_context (element, device_id, &context_))
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, "CUDA device " + std::to_string (std::max (device_id, 0)) + " gave no context");
  return wrap ();
}

void
CudaDevice::clear ()
{
  const std::lock_guard lock (mutex_);
  gst_clear_object (&context_);
}

static GstCudaMemory *
cuda_memory (GstBuffer *buffer)
{
  GstMemory *memory = gst_buffer_n_memory (buffer) == 1 ? gst_buffer_peek_memory (buffer, 0) : nullptr;
  return memory && gst_is_cuda_memory (memory) ? GST_CUDA_MEMORY_CAST (memory) : nullptr;
}

static int
device_of (GstCudaContext *context)
{
  guint device = 0;
  g_object_get (context, "cuda-device-id", &device, nullptr);
  return int (device);
}

std::shared_ptr<CudaContext>
CudaDevice::follow (GstBuffer *buffer, int device_id)
{
  GstCudaMemory *memory = cuda_memory (buffer);
  const std::lock_guard lock (mutex_);
  if (!memory || memory->context == context_ || (device_id >= 0 && device_of (memory->context) != device_id))
    return nullptr;
  gst_object_replace (reinterpret_cast<GstObject **> (&context_), GST_OBJECT_CAST (memory->context));
  return wrap ();
}

bool
CudaDevice::owns (GstBuffer *buffer)
{
  GstCudaMemory *memory = cuda_memory (buffer);
  const std::lock_guard lock (mutex_);
  return memory && memory->context == context_;
}

inthist::Stream
CudaDevice::producer_stream (GstBuffer *buffer)
{
#if GST_CHECK_VERSION(1, 24, 0)
  GstCudaStream *stream = gst_cuda_memory_get_stream (cuda_memory (buffer));
  if (!stream)
    gst_cuda_memory_sync (cuda_memory (buffer));
  return static_cast<inthist::Stream> (gst_cuda_stream_get_handle (stream));
#else
  (void) buffer;
  return nullptr;  // producers synchronise before they push
#endif
}

std::shared_ptr<CudaContext>
CudaDevice::wrap ()
{
  const std::shared_ptr<void> owner (gst_object_ref (context_), gst_object_unref);
  return CudaContext::wrap (gst_cuda_context_get_handle (context_), device_of (context_), owner);
}

#else  // the primary context of the device; there is no CUDA memory in buffers

void
CudaDevice::set_context (GstElement *, GstContext *, int)
{
}

bool
CudaDevice::answer_query (GstElement *, GstQuery *)
{
  return false;
}

std::shared_ptr<CudaContext>
CudaDevice::open (GstElement *, int device_id)
{
  return CudaContext::primary (std::max (device_id, 0));
}

void
CudaDevice::clear ()
{
}

std::shared_ptr<CudaContext>
CudaDevice::follow (GstBuffer *, int)
{
  return nullptr;
}

bool
CudaDevice::owns (GstBuffer *)
{
  return false;
}

inthist::Stream
CudaDevice::producer_stream (GstBuffer *)
{
  return nullptr;
}

#endif

}  // namespace integralhist
