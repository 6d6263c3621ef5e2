// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-cudaintegralhist
 * @title: cudaintegralhist
 *
 * Computes the integral histogram of every frame, on a GPU or on the CPU, and attaches it to the
 * buffer as a #GstIntegralHistogramMeta. The frame itself passes through untouched and at once; a
 * consumer that queries the meta waits until the histogram is computed.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m videotestsrc num-buffers=30 ! video/x-raw,format=I420 ! \
 *     cudaintegralhist bins=8 regions="100,100,64,128" ! fakesink
 * ]| prints the histogram of one rectangle for each frame.
 */
#include <gst/elements/base/element_plumbing.hpp>
#include <gst/elements/producer/gstcudaintegral.hpp>

INTEGRALHIST_ELEMENT (GstCudaIntegralHist, gst_cuda_integral_hist, CUDA_INTEGRAL_HIST,
                      GstCudaIntegral, GST_TYPE_CUDA_INTEGRAL, cudaintegralhist)

static void gst_cuda_integral_hist_init (GstCudaIntegralHist *) {}

static void gst_cuda_integral_hist_class_init (GstCudaIntegralHistClass *klass)
{
  GstDebugCategory *category = nullptr;
  GST_DEBUG_CATEGORY_INIT (category, "cudaintegralhist", 0, "integral histograms");
  gst_cuda_integral_class_setup (
      GST_CUDA_INTEGRAL_CLASS (klass), inthist::Content::bins, category, "Integral histogram",
      "Attaches the integral histogram of each video frame (GstIntegralHistogramMeta), computed "
      "with CUDA or on the CPU");
}
