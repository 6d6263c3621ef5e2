// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The CUDA context of an element, and CUDA memory in buffers. With libgstcuda, the CUDA elements of
// a pipeline share a context; builds without libgstcuda use no_gstcuda.cpp.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include <gst/video/video.h>

#include <gst/integralhist/cuda/base/cuda_context.hpp>

typedef struct _GstCudaContext GstCudaContext;  // from libgstcuda

namespace integralhist {

/// The number of the CUDA device that an element uses. The living objects are counted for each
/// device, so that elements that may use any device spread over all devices.
using DeviceUse = std::shared_ptr<const int>;

/// Adds a user to a CUDA device. -1 means the least used of the devices 0 to `devices` - 1.
DeviceUse use_device (int device, int devices = 0);

class CudaDevice {
public:
  CudaDevice () = default;
  ~CudaDevice () { clear (); }

  /// Share CUDA contexts with the pipeline (GstElement::set_context, CONTEXT query). Before open
  /// (), a query gets the context that open () would choose if that is clear: of the device
  /// `device_id`, or of the only device if `device_id` is -1. Without a `device_id` it gets none.
  void set_context (GstElement *element, GstContext *context, int device_id);
  bool answer_query (GstElement *element, GstQuery *query, std::optional<int> device_id);

  /// Opens a CUDA context on the device: the context of a neighbouring element or of the
  /// application if there is one, otherwise the device's primary context. -1 means any device: that
  /// of the neighbours, or the device that the fewest elements of this process use.
  Expected<std::shared_ptr<CudaContext>> open (GstElement *element, int device_id, int devices);
  void clear ();
  int device () const { return *use_; }

  /// Switches to the CUDA context of a buffer's memory if another context is open and the element
  /// may use that device, and returns the new context. For a buffer in host memory, switches from a
  /// neighbour's context to the primary one. Returns null if the open context stays.
  Expected<std::shared_ptr<CudaContext>> switch_context (GstBuffer *buffer, int device_id);
  /// Switches to the primary CUDA context of a device; returns null if that one is open already.
  Expected<std::shared_ptr<CudaContext>> switch_to_primary (int device);
  /// Returns whether a buffer is CUDA memory of the open CUDA context.
  bool owns (GstBuffer *buffer);
  /// Returns the CUDA context to which a buffer's memory belongs; null if it is not CUDA memory.
  static Expected<std::shared_ptr<CudaContext>> context_of (GstBuffer *buffer);
  /// Returns the CUDA stream that may still write a mapped buffer; null if no write is pending.
  static inthist::Stream producer_stream (GstBuffer *buffer);
  /// Makes a pool of CUDA memory (transfer full); null without an open context or libgstcuda.
  GstBufferPool *new_pool ();

private:
  bool is_open ();
  void ask_for_context (GstElement *element);

  // Guards context_ and is_neighbours_: any thread may set a context, also while open () runs.
  std::recursive_mutex mutex_;
  GstCudaContext *context_ = nullptr;
  bool is_neighbours_ = false;  // a neighbouring element made context_
  DeviceUse use_;
};

/// Caps for pad templates: frames that elements can read, and GPU memory that they can draw on.
extern const char *const kReadableCaps;
extern const char *const kCanvasCaps;
extern const int kMapCuda;  // the GstMapFlags that leave CUDA memory on the GPU

}  // namespace integralhist
