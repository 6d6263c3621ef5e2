// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The base class of both producers, cudaintegralhist and cudaintegralimage. Each frame passes at
// once, with a meta whose tensor is computed later. process () in the .cpp file takes a frame
// through these functions, on the streaming thread:
//
//   admit ()           lets frames pass that get no tensor: by interval, without a picture, or late
//   prepare_engine ()  makes the engine for the frame's size and device, unless there is one
//   submit_frame ()    maps the pixels and submits them; the engine returns the tensor before it
//                      is computed, once it has a slot, and with sync=true process () waits for it
//   attach ()          adds the meta with the tensor, and hands regions to the reporter
//   hold ()            keeps the buffer until its pixels are read
//
// A flush or a stop sets a flag of `cancel` before it takes any lock. The flag ends every wait, for
// a slot, a tensor or a message, and the work of an engine on the CPU. A flush then forgets
// failures, and keeps the engine unless it has failed. A stop drops the reporter, the engine and
// the devices.
#pragma once

#include <gst/base/gstbasetransform.h>

#include <kernels/inthist.hpp>

#define GST_TYPE_CUDA_INTEGRAL (gst_cuda_integral_get_type ())
G_DECLARE_DERIVABLE_TYPE (GstCudaIntegral, gst_cuda_integral, GST, CUDA_INTEGRAL, GstBaseTransform)

struct _GstCudaIntegralClass {
  GstBaseTransformClass parent_class;

  inthist::Content content;    // of all tensors
  GstDebugCategory *category;  // the element's own, for the log
};

/// Initializes a subclass in its class_init: its elements compute this content, and have the
/// properties for it.
void gst_cuda_integral_class_setup (GstCudaIntegralClass *klass, inthist::Content content,
                                    GstDebugCategory *category, const char *name,
                                    const char *summary);

/// Lets `leader`, which pushes its frames to this element in the same thread, decide which frames
/// are late, so that both elements leave out the same frames.
void gst_cuda_integral_set_leader (GstCudaIntegral *self, GstCudaIntegral *leader);
