// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element's device: its CUDA context, shared with the other CUDA elements of the pipeline
// through libgstcuda where this build has it, and the CUDA memory in buffers.
#pragma once

#include <memory>
#include <optional>

#include <gst/integralhist/engine.hpp>
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

  /// Takes part in the pipeline's sharing of contexts: GstElement::set_context and the CONTEXT
  /// query.
  void set_context (GstElement *element, GstContext *context, int device_id);
  bool answer_query (GstElement *element, GstQuery *query);

  /// A context on the device: the one that the neighbours or the application have, or else the one
  /// that all elements of this kind share in the process. -1 is any device: the neighbours', or
  /// else that which the fewest elements of this process use.
  Expected<std::shared_ptr<CudaContext>> open (GstElement *element, int device_id);
  void clear ();

  /// Whether the buffer is CUDA memory of another context than the open one, on a device that the
  /// element may use; then that context, opened; else null.
  Expected<std::shared_ptr<CudaContext>> follow (GstBuffer *buffer, int device_id);
  /// Whether the buffer is CUDA memory of the open context.
  bool owns (GstBuffer *buffer);
  /// Of CUDA memory, whatever its context; null for other memory.
  static Expected<std::shared_ptr<CudaContext>> context_of (GstBuffer *buffer);
  /// Of mapped CUDA memory, after mapping: the stream that may still be writing it, null when none.
  static inthist::Stream producer_stream (GstBuffer *buffer);
  /// Of CUDA memory. (transfer full, nullable)
  GstBufferPool *new_pool ();

private:
  DeviceUse use_;
#if HAVE_GSTCUDA
  bool is_open ();
  void ask_for_context (GstElement *element);
  Expected<std::shared_ptr<CudaContext>> wrap ();

  std::recursive_mutex
      mutex_;  // guards context_; contexts are set from any thread, also within open
  GstCudaContext *context_ = nullptr;
#endif
};

/// Whether buffers are CUDA memory by their caps. Others may be so all the same.
bool is_cuda_caps (const GstCaps *caps);

#if HAVE_GSTCUDA
constexpr int kMapCuda = GST_MAP_CUDA;
#else
constexpr int kMapCuda = 0;
#endif

#endif

}  // namespace integralhist
