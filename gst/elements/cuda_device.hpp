// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element's CUDA context, shared with the pipeline's other CUDA elements through libgstcuda
// where this build has it, and the CUDA memory in buffers.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include <gst/integralhist/cuda_context.hpp>
#include <gst/video/video.h>

#include "device_use.hpp"

#if HAVE_GSTCUDA
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
#endif

namespace integralhist {

#if INTHIST_CUDA

class CudaDevice {
public:
  CudaDevice () = default;
  ~CudaDevice () { clear (); }

  /// Shares contexts with the pipeline: GstElement::set_context and the CONTEXT query.
  void set_context (GstElement *element, GstContext *context, int device_id);
  bool answer_query (GstElement *element, GstQuery *query);

  /// Opens a context on the device: the neighbours', the application's, or one that the elements of
  /// this kind share in the process. -1 is any device: the neighbours' or the process's least used.
  Expected<std::shared_ptr<CudaContext>> open (GstElement *element, int device_id);
  void clear ();

  /// Opens the context of the buffer's CUDA memory, where that is another context than the open one
  /// and on a device that the element may use; returns null otherwise.
  Expected<std::shared_ptr<CudaContext>> follow (GstBuffer *buffer, int device_id);
  /// Returns whether the buffer is CUDA memory of the open context.
  bool owns (GstBuffer *buffer);
  /// Returns the context of CUDA memory; null for other memory.
  static Expected<std::shared_ptr<CudaContext>> context_of (GstBuffer *buffer);
  /// Returns the stream that may still write mapped CUDA memory, or null.
  static inthist::Stream producer_stream (GstBuffer *buffer);
  /// Makes a pool of CUDA memory. (transfer full, nullable)
  GstBufferPool *new_pool ();

private:
  DeviceUse use_;
#if HAVE_GSTCUDA
  bool is_open ();
  void ask_for_context (GstElement *element);
  Expected<std::shared_ptr<CudaContext>> wrap ();

  // Guards context_; any thread may set contexts, also within open ().
  std::recursive_mutex mutex_;
  GstCudaContext *context_ = nullptr;
#endif
};

/// Returns whether the caps name CUDA memory. Buffers of other caps may be CUDA memory, too.
bool is_cuda_caps (const GstCaps *caps);

#if HAVE_GSTCUDA
constexpr int kMapCuda = GST_MAP_CUDA;
#else
constexpr int kMapCuda = 0;
#endif

#endif

}  // namespace integralhist
