// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element's CUDA context, shared with the pipeline's other CUDA elements through libgstcuda
// where this build has it, and the CUDA memory in buffers. Other builds have no_gstcuda.cpp.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include <gst/video/video.h>

#include <gst/integralhist/cuda/cuda_context.hpp>

#include "device_use.hpp"

typedef struct _GstCudaContext GstCudaContext;  // of libgstcuda

namespace integralhist {

class CudaDevice {
public:
  CudaDevice () = default;
  ~CudaDevice () { clear (); }

  /// Shares contexts with the pipeline: GstElement::set_context and the CONTEXT query. A neighbour
  /// that asks before open () gets what open () would take where it is clear which: of the named
  /// device, or of the only one (-1); none of no device.
  void set_context (GstElement *element, GstContext *context, int device_id);
  bool answer_query (GstElement *element, GstQuery *query, std::optional<int> device_id);

  /// Opens a context on the device: the neighbours', the application's, or the primary one. -1 is
  /// any of the devices: the neighbours' or the process's least used.
  Expected<std::shared_ptr<CudaContext>> open (GstElement *element, int device_id, int devices);
  void clear ();
  /// Returns the number of the open device.
  int device () const { return *use_; }

  /// Opens the context of the buffer's CUDA memory, where that is another context than the open one
  /// and on a device that the element may use; or the primary one, where the buffer is in host
  /// memory and the open context is a neighbour's. Returns null otherwise.
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

  // Guards all below but use_; any thread may set contexts, also within open ().
  std::recursive_mutex mutex_;
  GstCudaContext *context_ = nullptr;
  bool is_neighbours_ = false;  // whether a neighbour has made context_
  DeviceUse use_;
};

extern const char *const kReadableCaps;  // what an element can read, for pad templates
extern const char *const kCanvasCaps;    // memory of a GPU that it can draw on
extern const int kMapCuda;               // the flag that maps CUDA memory where it lies

}  // namespace integralhist
