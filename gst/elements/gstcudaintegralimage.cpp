// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-cudaintegralimage
 * @title: cudaintegralimage
 * @see_also: cudaintegralhist
 *
 * Computes the summed-area table (integral image) of every frame's luma, on a GPU or on the CPU,
 * and attaches it to the buffer as a #GstIntegralHistogramMeta. With #GstCudaIntegralImage:squared
 * there is a second table of the squares, so that any rectangle's variance follows too (Viola and
 * Jones 2001). The frame itself passes through untouched and at once; whoever asks the meta for the
 * sum of a rectangle (gst_integral_histogram_region_sums()) waits until it is there.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m videotestsrc num-buffers=30 ! video/x-raw,format=I420 ! cudaintegralimage
 * squared=true regions="100,100,64,128" ! fakesink
 * ]| prints the sum, the mean and the variance of one rectangle for each frame.
 */
#include "gstcudaintegralimage.h"

#include <gst/integralhist/gstintegralhist.h>

#include "settings.hpp"

using namespace integralhist;

namespace {

enum { PROP_SQUARED = PROP_OF_SUBCLASS };

GstDebugCategory *category;

}  // namespace

struct _GstCudaIntegralImage {
  GstCudaIntegral parent;

  gboolean squared;  // guarded by the object lock, like all settings
};

#define gst_cuda_integral_image_parent_class parent_class
G_DEFINE_FINAL_TYPE (GstCudaIntegralImage, gst_cuda_integral_image, GST_TYPE_CUDA_INTEGRAL)
GST_ELEMENT_REGISTER_DEFINE (cudaintegralimage, "cudaintegralimage", GST_RANK_NONE,
                             GST_TYPE_CUDA_INTEGRAL_IMAGE)

static Expected<inthist::Shape> gst_cuda_integral_image_shape (GstCudaIntegral *base)
{
  auto *self = GST_CUDA_INTEGRAL_IMAGE (base);
  GST_OBJECT_LOCK (self);
  const int planes = self->squared ? 2 : 1;
  GST_OBJECT_UNLOCK (self);
  return inthist::Shape{
    0, 0, planes, inthist::Type::u32, inthist::Content::powers, inthist::Type::u8
  };
}

static void gst_cuda_integral_image_set_property (GObject *object, guint id, const GValue *value,
                                                  GParamSpec *spec)
{
  auto *self = GST_CUDA_INTEGRAL_IMAGE (object);
  if (id != PROP_SQUARED)
    return G_OBJECT_CLASS (parent_class)->set_property (object, id, value, spec);
  GST_OBJECT_LOCK (self);
  self->squared = g_value_get_boolean (value);
  GST_OBJECT_UNLOCK (self);
}

static void gst_cuda_integral_image_get_property (GObject *object, guint id, GValue *value,
                                                  GParamSpec *spec)
{
  auto *self = GST_CUDA_INTEGRAL_IMAGE (object);
  if (id != PROP_SQUARED)
    return G_OBJECT_CLASS (parent_class)->get_property (object, id, value, spec);
  GST_OBJECT_LOCK (self);
  g_value_set_boolean (value, self->squared);
  GST_OBJECT_UNLOCK (self);
}

static void gst_cuda_integral_image_init (GstCudaIntegralImage *) {}

static void gst_cuda_integral_image_class_init (GstCudaIntegralImageClass *klass)
{
  GST_DEBUG_CATEGORY_INIT (category, "cudaintegralimage", 0, "summed-area tables");
  auto *base_class = GST_CUDA_INTEGRAL_CLASS (klass);
  base_class->shape = gst_cuda_integral_image_shape;
  base_class->content = inthist::Content::powers;
  base_class->category = category;

  auto *object_class = G_OBJECT_CLASS (klass);
  object_class->set_property = gst_cuda_integral_image_set_property;
  object_class->get_property = gst_cuda_integral_image_get_property;
  install_properties_for (object_class, inthist::Content::powers);
  g_object_class_install_property (
      object_class, PROP_SQUARED,
      g_param_spec_boolean ("squared", "Squared",
                            "Adds a second table, of the squares of the values. Its elements are "
                            "modulo 2^32; region queries are exact with both",
                            FALSE, mutable_ready ()));

  gst_element_class_set_static_metadata (
      GST_ELEMENT_CLASS (klass), "CUDA integral image", "Filter/Analyzer/Video/Hardware",
      "Attaches the summed-area table of each video frame's luma, computed with CUDA or on the CPU",
      "The gst-cuda-integral-histogram authors");
}
