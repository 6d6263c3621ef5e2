// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element's CUDA context, and the CUDA memory in buffers. If this build has libgstcuda, the
// element shares the context with the pipeline's other CUDA elements. Other builds use
// no_gstcuda.cpp.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include <gst/video/video.h>

#include <gst/integralhist/cuda/cuda_context.hpp>

#include "device_use.hpp"

typedef struct _GstCudaContext GstCudaContext;  // from libgstcuda

namespace integralhist {

class CudaDevice {
public:
  CudaDevice () = default;
  ~CudaDevice () { clear (); }

  /// Share contexts with the pipeline, for GstElement::set_context and for the CONTEXT query.
  /// Before open (), a neighbour's query gets the context that open () would choose, if that is
  /// clear: of the device `device_id`, or of the only device if `device_id` is -1. Without a
  /// `device_id` it gets nothing.
  void set_context (GstElement *element, GstContext *context, int device_id);
  bool answer_query (GstElement *element, GstQuery *query, std::optional<int> device_id);

  /// Opens a context on the device: a neighbour's or the application's if there is one, otherwise
  /// the primary one. -1 means any device: the neighbours' device, or the device that the fewest
  /// elements of this process use.
  Expected<std::shared_ptr<CudaContext>> open (GstElement *element, int device_id, int devices);
  void clear ();
  /// Returns the number of the open device.
  int device () const { return *use_; }

  /// Opens the context of the buffer's CUDA memory, if that is not the open one and is on a device
  /// that the element may use. If the buffer is in host memory and the open context is a
  /// neighbour's, opens the primary one. Otherwise returns null.
  Expected<std::shared_ptr<CudaContext>> follow (GstBuffer *buffer, int device_id);
  /// Opens the primary context of a device. Returns null if it is the open one.
  Expected<std::shared_ptr<CudaContext>> follow_primary (int device);
  /// Returns whether the buffer is CUDA memory of the open context.
  bool owns (GstBuffer *buffer);
  /// Returns the context of CUDA memory; null for other memory.
  static Expected<std::shared_ptr<CudaContext>> context_of (GstBuffer *buffer);
  /// Returns the stream that may still write mapped CUDA memory, or null.
  static inthist::Stream producer_stream (GstBuffer *buffer);
  /// Makes a pool of CUDA memory. (transfer full, nullable)
  GstBufferPool *new_pool ();

private:
  bool is_open ();
  void ask_for_context (GstElement *element);

  // Guards all below except use_; any thread may set contexts, even within open ().
  std::recursive_mutex mutex_;
  GstCudaContext *context_ = nullptr;
  bool is_neighbours_ = false;  // whether a neighbour has made context_
  DeviceUse use_;
};

extern const char *const kReadableCaps;  // the caps that an element can read, for pad templates
extern const char *const kCanvasCaps;    // memory of a GPU that it can draw on
extern const int kMapCuda;               // the flag that maps CUDA memory where it lies

}  // namespace integralhist
