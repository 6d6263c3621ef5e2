// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cuda_device.hpp"

#include <algorithm>
#include <map>

#ifndef GST_USE_UNSTABLE_API
#define GST_USE_UNSTABLE_API
#endif
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>
#if GST_CHECK_VERSION(1, 24, 0)
#include <gst/cuda/gstcudastream.h>
#endif

#include <gst/frame/video_formats.hpp>

namespace integralhist {

const char *const kReadableCaps = GST_VIDEO_CAPS_MAKE_WITH_FEATURES (
    GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY,
    INTEGRALHIST_CUDA_FORMATS) ";" INTEGRALHIST_NVMM_CAPS
                               ";" GST_VIDEO_CAPS_MAKE (INTEGRALHIST_SYSTEM_FORMATS);
const char *const kCanvasCaps = GST_VIDEO_CAPS_MAKE_WITH_FEATURES (
    GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY,
    "{ " INTEGRALHIST_CANVAS_FORMATS " }") ";" INTEGRALHIST_NVMM_CANVAS_CAPS;
const int kMapCuda = GST_MAP_CUDA;

void CudaDevice::set_context (GstElement *element, GstContext *context, int device_id)
{
  // libgstcuda aborts the process if no NVIDIA driver is installed
  if (g_strcmp0 (gst_context_get_context_type (context), GST_CUDA_CONTEXT_TYPE) != 0
      || !CudaContext::device_count () || !gst_cuda_load_library ())
    return;
  const std::lock_guard lock (mutex_);
  gst_cuda_handle_set_context (element, context, device_id, &context_);
}

/// Returns the GstCudaContext of a device's primary CUDA context, one object per process. Kernels
/// of several CUDA contexts take turns; kernels of one context run side by side, also with those of
/// an application on the CUDA runtime, which uses the primary context.
static Expected<GstCudaContext *> shared_context (int device)
{
  struct Known {
    GWeakRef context;
    Known () { g_weak_ref_init (&context, nullptr); }
  };
  static std::mutex mutex;
  // Never destroyed: CUDA contexts may outlive static objects when the process ends.
  static auto &all = *new std::map<int, Known>;
  const std::lock_guard lock (mutex);
  Known &known = all[device];
  if (auto *context = static_cast<GstCudaContext *> (g_weak_ref_get (&known.context)))
    return context;
  const auto primary = TRY (CudaContext::primary (device));
  GstCudaContext *context =
      gst_cuda_context_new_wrapped (static_cast<CUcontext> (primary->handle ()), device);
  if (!context)
    return error (
        Error::Kind::no_device, "CUDA device ", device,
        " cannot be opened: look at nvidia-smi, or set another cuda-device-id or backend=cpu");
  if (g_object_is_floating (context))
    gst_object_ref_sink (context);
  g_object_set_data_full (
      G_OBJECT (context), "integralhist-primary", new std::shared_ptr (primary),
      [] (gpointer owner) { delete static_cast<std::shared_ptr<CudaContext> *> (owner); });
  g_weak_ref_set (&known.context, context);
  return context;
}

static int device_of (GstCudaContext *context)
{
  guint device = 0;
  g_object_get (context, "cuda-device-id", &device, nullptr);
  return int (device);
}

static Expected<std::shared_ptr<CudaContext>> wrapped (GstCudaContext *context)
{
  const std::shared_ptr<void> owner (gst_object_ref (context), gst_object_unref);
  return CudaContext::wrap (gst_cuda_context_get_handle (context), device_of (context), owner);
}

/// Gives an element the device's primary CUDA context, and announces the context to the pipeline.
static Expected<> take_primary (GstElement *element, int device)
{
  GstCudaContext *shared = TRY (shared_context (device));
  g_autoptr (GstContext) context = gst_context_new_cuda_context (shared);
  gst_object_unref (shared);
  gst_element_set_context (element, context);
  gst_element_post_message (
      element, gst_message_new_have_context (GST_OBJECT (element), gst_context_ref (context)));
  return {};
}

static void ask_application (GstElement *element)
{
  gst_element_post_message (
      element, gst_message_new_need_context (GST_OBJECT (element), GST_CUDA_CONTEXT_TYPE));
}

bool CudaDevice::answer_query (GstElement *element, GstQuery *query, std::optional<int> device_id)
{
  const gchar *type = nullptr;
  if (!gst_query_parse_context_type (query, &type) || g_strcmp0 (type, GST_CUDA_CONTEXT_TYPE) != 0)
    return false;
  if (!is_open () && device_id) {
    // An element upstream opens its device before this one. Without an answer to its query it would
    // make another CUDA context, which an application's kernels could not read.
    const auto devices = CudaContext::device_count ();
    const bool is_clear = devices && *device_id < *devices && (*device_id >= 0 || *devices == 1);
    if (!is_clear || !gst_cuda_load_library ())
      return false;
    ask_application (element);
    if (!is_open () && !take_primary (element, std::max (*device_id, 0)))
      return false;
  }
  const std::lock_guard lock (mutex_);
  return context_ && gst_cuda_handle_context_query (element, query, context_);
}

bool CudaDevice::is_open ()
{
  const std::lock_guard lock (mutex_);
  return context_;
}

/// Asks downstream, upstream and the application for a CUDA context, as
/// gst_cuda_ensure_element_context () does. set_context () receives the answers, and may refuse.
void CudaDevice::ask_for_context (GstElement *element)
{
  for (const auto each_pad : { gst_element_foreach_src_pad, gst_element_foreach_sink_pad }) {
    g_autoptr (GstQuery) query = gst_query_new_context (GST_CUDA_CONTEXT_TYPE);
    GstContext *context = nullptr;
    each_pad (
        element,
        [] (GstElement *, GstPad *pad, gpointer q) -> gboolean {
          return !gst_pad_peer_query (pad, static_cast<GstQuery *> (q));
        },
        query);
    gst_query_parse_context (query, &context);
    if (context)
      gst_element_set_context (element, context);
    const std::lock_guard lock (mutex_);
    if (context_) {
      is_neighbours_ = true;
      return;
    }
  }
  ask_application (element);
}

Expected<std::shared_ptr<CudaContext>> CudaDevice::open (GstElement *element, int device_id,
                                                         int devices)
{
  if (!gst_cuda_load_library ())
    return error (Error::Kind::no_device, "libgstcuda found no driver: install the NVIDIA driver");
  gst_cuda_memory_init_once ();  // pools need this
  if (!is_open ())
    ask_for_context (element);  // not under the lock: a neighbour may query this element now
  DeviceUse use;
  if (!is_open ()) {
    use = use_device (device_id, devices);
    TRY (take_primary (element, *use));
  }
  const std::lock_guard lock (mutex_);
  if (!context_)
    return error (
        Error::Kind::no_device, "CUDA device ", std::max (device_id, 0),
        " cannot be opened: look at nvidia-smi, or set another cuda-device-id or backend=cpu");
  use_ = use_device (device_of (context_));
  return wrapped (context_);
}

void CudaDevice::clear ()
{
  const std::lock_guard lock (mutex_);
  use_ = {};
  gst_clear_object (&context_);
  is_neighbours_ = false;
}

static GstCudaMemory *cuda_memory (GstBuffer *buffer)
{
  GstMemory *memory =
      gst_buffer_n_memory (buffer) == 1 ? gst_buffer_peek_memory (buffer, 0) : nullptr;
  return memory && gst_is_cuda_memory (memory) ? GST_CUDA_MEMORY_CAST (memory) : nullptr;
}

Expected<std::shared_ptr<CudaContext>> CudaDevice::switch_context (GstBuffer *buffer, int device_id)
{
  GstCudaMemory *memory = cuda_memory (buffer);
  const std::lock_guard lock (mutex_);
  if (!memory && context_ && is_neighbours_)
    return switch_to_primary (device_of (context_));
  if (!memory || memory->context == context_
      || (device_id >= 0 && device_of (memory->context) != device_id))
    return nullptr;
  auto other = TRY (wrapped (memory->context));
  gst_object_replace (reinterpret_cast<GstObject **> (&context_),
                      GST_OBJECT_CAST (memory->context));
  is_neighbours_ = false;
  use_ = use_device (device_of (context_));
  return other;
}

Expected<std::shared_ptr<CudaContext>> CudaDevice::switch_to_primary (int device)
{
  const std::lock_guard lock (mutex_);
  GstCudaContext *const primary = TRY (shared_context (device));
  const bool is_other =
      !context_ || gst_cuda_context_get_handle (primary) != gst_cuda_context_get_handle (context_);
  if (!is_other) {
    gst_object_unref (primary);
    return nullptr;
  }
  const auto other = wrapped (primary);
  if (!other) {
    gst_object_unref (primary);
    return other;
  }
  gst_clear_object (&context_);
  context_ = primary;
  is_neighbours_ = false;
  use_ = use_device (device);
  return other;
}

bool CudaDevice::owns (GstBuffer *buffer)
{
  GstCudaMemory *memory = cuda_memory (buffer);
  const std::lock_guard lock (mutex_);
  return memory && memory->context == context_;
}

inthist::Stream CudaDevice::producer_stream (GstBuffer *buffer)
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

GstBufferPool *CudaDevice::new_pool ()
{
  const std::lock_guard lock (mutex_);
  return context_ ? gst_cuda_buffer_pool_new (context_) : nullptr;
}

Expected<std::shared_ptr<CudaContext>> CudaDevice::context_of (GstBuffer *buffer)
{
  if (GstCudaMemory *memory = cuda_memory (buffer))
    return wrapped (memory->context);
  return nullptr;
}

}  // namespace integralhist
