// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The C API of a tensor in GPU memory.
#include <gst/integralhist/gstintegralhistogramcuda.h>

#include "c_api.hpp"
#include "histogram.hpp"

using namespace integralhist;

static Expected<> add_reader (Tensor &tensor, inthist::Stream stream)
{
  if (DeviceTensor *const device = TRY (tensor.device_tensor ()))
    return device->add_reader (stream);
  return error (Error::Kind::failed, "the tensor is in host memory, which no stream reads: keep "
                                     "a reference for as long as it is read");
}

#define GETTER(...) C_GETTER (GstIntegralHistogram, histogram, __VA_ARGS__)

GETTER (guint64, gst_integral_histogram_get_device_pointer, 0,
        cuda_view_of (*histogram->tensor).pointer)
GETTER (gpointer, gst_integral_histogram_get_cuda_event, nullptr,
        cuda_view_of (*histogram->tensor).event)
GETTER (gpointer, gst_integral_histogram_get_cuda_context, nullptr,
        cuda_view_of (*histogram->tensor).context)
GETTER (gint, gst_integral_histogram_get_cuda_device, -1, cuda_view_of (*histogram->tensor).device)

gboolean gst_integral_histogram_add_reader (GstIntegralHistogram *histogram, gpointer stream,
                                            GError **error)
{
  g_return_val_if_fail (histogram, FALSE);
  return to_c (add_reader (*histogram->tensor, static_cast<inthist::Stream> (stream)), error);
}
