// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-cudaintegralhist
 * @title: cudaintegralhist
 *
 * Computes the integral histogram of every frame, on a GPU or on the CPU, and attaches it to the
 * buffer as a #GstIntegralHistogramMeta. The frame itself passes through untouched and at once;
 * whoever asks the meta for a histogram waits until it is there.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m videotestsrc num-buffers=30 ! video/x-raw,format=I420 ! cudaintegralhist bins=8
 * regions="100,100,64,128" ! fakesink
 * ]| prints the histogram of one rectangle for each frame.
 */
#include "gstcudaintegralhist.h"

#include <gst/integralhist/gstintegralhist.h>

#include "settings.hpp"

using namespace integralhist;

namespace {

constexpr guint kDefaultBins = 32, kMaxBins = 256;

enum { PROP_BINS = PROP_OF_SUBCLASS, PROP_COUNTER };

GstDebugCategory *category;

}  // namespace

struct _GstCudaIntegralHist {
  GstCudaIntegral parent;

  guint bins;  // guarded by the object lock, like all settings
  GstIntegralHistogramCounter counter;
};

#define gst_cuda_integral_hist_parent_class parent_class
G_DEFINE_FINAL_TYPE (GstCudaIntegralHist, gst_cuda_integral_hist, GST_TYPE_CUDA_INTEGRAL)
GST_ELEMENT_REGISTER_DEFINE (cudaintegralhist, "cudaintegralhist", GST_RANK_NONE,
                             GST_TYPE_CUDA_INTEGRAL_HIST)

static Expected<inthist::Shape> gst_cuda_integral_hist_shape (GstCudaIntegral *base)
{
  auto *self = GST_CUDA_INTEGRAL_HIST (base);
  GST_OBJECT_LOCK (self);
  const guint bins = self->bins;
  const GstIntegralHistogramCounter counter = self->counter;
  GST_OBJECT_UNLOCK (self);
  TRY (check_range ("bins", gint64 (bins), 1, kMaxBins));
  constexpr inthist::Type kTypes[] = { inthist::Type::u32, inthist::Type::u16,
                                       inthist::Type::u16_anchored };
  return inthist::Shape{
    0, 0, int (bins), kTypes[counter], inthist::Content::bins, inthist::Type::u8
  };
}

static void gst_cuda_integral_hist_set_property (GObject *object, guint id, const GValue *value,
                                                 GParamSpec *spec)
{
  auto *self = GST_CUDA_INTEGRAL_HIST (object);
  if (id < PROP_OF_SUBCLASS)
    return G_OBJECT_CLASS (parent_class)->set_property (object, id, value, spec);
  GST_OBJECT_LOCK (self);
  if (id == PROP_BINS)
    self->bins = g_value_get_uint (value);
  else
    self->counter = GstIntegralHistogramCounter (g_value_get_enum (value));
  GST_OBJECT_UNLOCK (self);
}

static void gst_cuda_integral_hist_get_property (GObject *object, guint id, GValue *value,
                                                 GParamSpec *spec)
{
  auto *self = GST_CUDA_INTEGRAL_HIST (object);
  if (id < PROP_OF_SUBCLASS)
    return G_OBJECT_CLASS (parent_class)->get_property (object, id, value, spec);
  GST_OBJECT_LOCK (self);
  if (id == PROP_BINS)
    g_value_set_uint (value, self->bins);
  else
    g_value_set_enum (value, self->counter);
  GST_OBJECT_UNLOCK (self);
}

static void gst_cuda_integral_hist_init (GstCudaIntegralHist *self)
{
  self->bins = kDefaultBins;
  self->counter = GST_INTEGRAL_HISTOGRAM_COUNTER_U32;
}

static void gst_cuda_integral_hist_class_init (GstCudaIntegralHistClass *klass)
{
  GST_DEBUG_CATEGORY_INIT (category, "cudaintegralhist", 0, "integral histograms");
  auto *base_class = GST_CUDA_INTEGRAL_CLASS (klass);
  base_class->shape = gst_cuda_integral_hist_shape;
  base_class->content = inthist::Content::bins;
  base_class->category = category;

  auto *object_class = G_OBJECT_CLASS (klass);
  object_class->set_property = gst_cuda_integral_hist_set_property;
  object_class->get_property = gst_cuda_integral_hist_get_property;
  install_properties_for (object_class, inthist::Content::bins);
  g_object_class_install_property (
      object_class, PROP_BINS,
      checked_uint_spec ("bins", "Bins",
                         "Number of histogram bins; a pixel's bin is value * bins / 256", 1,
                         kMaxBins, kDefaultBins, mutable_ready ()));
  g_object_class_install_property (
      object_class, PROP_COUNTER,
      g_param_spec_enum ("counter", "Counter",
                         "Type of the tensor's elements; region queries are exact with all",
                         GST_TYPE_INTEGRAL_HISTOGRAM_COUNTER, GST_INTEGRAL_HISTOGRAM_COUNTER_U32,
                         mutable_ready ()));
  gst_type_mark_as_plugin_api (GST_TYPE_INTEGRAL_HISTOGRAM_COUNTER, GstPluginAPIFlags (0));

  gst_element_class_set_static_metadata (
      GST_ELEMENT_CLASS (klass), "CUDA integral histogram", "Filter/Analyzer/Video/Hardware",
      "Attaches the integral histogram of each video frame, computed with CUDA or on the CPU",
      "The gst-cuda-integral-histogram authors");
}
