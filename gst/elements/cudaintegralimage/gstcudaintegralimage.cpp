// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-cudaintegralimage
 * @title: cudaintegralimage
 * @see_also: cudaintegralhist
 *
 * Computes the summed-area table (integral image) of every frame, on a GPU or on the CPU, and
 * attaches it to the buffer as a #GstIntegralHistogramMeta. The table adds up the luma, another
 * #GstCudaIntegralImage:feature, or the scores that #GstCudaIntegralImage:lut gives to the
 * feature's values; an element downstream may change the scores from frame to frame
 * (gst_integral_image_lut_event_new()). With #GstCudaIntegralImage:squared there is a second table
 * of the squares, which gives the variance of any rectangle (Viola and Jones 2001). The frame
 * itself passes through untouched and at once; a consumer that asks the meta for the sum of a
 * rectangle (gst_integral_histogram_region_sums()) waits until the table is computed.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m videotestsrc num-buffers=30 ! video/x-raw,format=I420 ! \
 *     cudaintegralimage squared=true regions="100,100,64,128" ! fakesink
 * ]| prints the sum, the mean and the variance of one rectangle for each frame.
 * |[
 * gst-launch-1.0 -m videotestsrc num-buffers=30 ! video/x-raw,format=I420 ! \
 *     cudaintegralimage feature=hue-saturation quantization=6,2 lut="0,255, 0,255" \
 *     regions="100,100,64,128" ! fakesink
 * ]| prints how much of one rectangle has a hue from red over yellow to green: 255 a pixel.
 */
#include <gst/elements/base/element_plumbing.hpp>
#include <gst/elements/producer/gstcudaintegral.hpp>

INTEGRALHIST_ELEMENT (GstCudaIntegralImage, gst_cuda_integral_image, CUDA_INTEGRAL_IMAGE,
                      GstCudaIntegral, GST_TYPE_CUDA_INTEGRAL, cudaintegralimage)

static void gst_cuda_integral_image_init (GstCudaIntegralImage *) {}

static void gst_cuda_integral_image_class_init (GstCudaIntegralImageClass *klass)
{
  GstDebugCategory *category = nullptr;
  GST_DEBUG_CATEGORY_INIT (category, "cudaintegralimage", 0, "summed-area tables");
  gst_cuda_integral_class_setup (
      GST_CUDA_INTEGRAL_CLASS (klass), inthist::Content::sums, category, "Integral image",
      "Attaches the summed-area table of each frame's luma or scores (GstIntegralHistogramMeta), "
      "computed with CUDA or on the CPU");
}
