// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ends.hpp"

#include <random>

#include <gst/video/gstvideopool.h>

namespace {

struct ReadySourceClass {
  GstPushSrcClass parent_class;
};

GType ready_source_get_type ();
G_DEFINE_TYPE (ReadySource, ready_source, GST_TYPE_PUSH_SRC)

gboolean ready_source_set_caps (GstBaseSrc *base, GstCaps *caps)
{
  return gst_video_info_from_caps (&reinterpret_cast<ReadySource *> (base)->info, caps);
}

gboolean ready_source_decide_allocation (GstBaseSrc *base, GstQuery *query)
{
  if (!reinterpret_cast<ReadySource *> (base)->own_pool)
    return GST_BASE_SRC_CLASS (ready_source_parent_class)->decide_allocation (base, query);
  while (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_remove_nth_allocation_pool (query, 0);
  GstCaps *caps = nullptr;
  gst_query_parse_allocation (query, &caps, nullptr);
  const guint bytes = guint (GST_VIDEO_INFO_SIZE (&reinterpret_cast<ReadySource *> (base)->info));
  g_autoptr (GstBufferPool) pool = gst_video_buffer_pool_new ();
  GstStructure *config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, bytes, 2, 0);
  if (!gst_buffer_pool_set_config (pool, config))
    return FALSE;
  gst_query_add_allocation_pool (query, pool, bytes, 2, 0);
  return TRUE;
}

GstFlowReturn ready_source_fill (GstPushSrc *push, GstBuffer *buffer)
{
  auto *self = reinterpret_cast<ReadySource *> (push);
  static const GQuark filled = g_quark_from_static_string ("ready-source-filled");
  if (*self->finished)
    return GST_FLOW_EOS;
  if (gst_mini_object_get_qdata (GST_MINI_OBJECT_CAST (buffer), filled))
    return GST_FLOW_OK;
  GstVideoFrame frame;
  if (!gst_video_frame_map (&frame, &self->info, buffer, GST_MAP_WRITE))
    return GST_FLOW_ERROR;
  std::minstd_rand random (1);
  auto *row = static_cast<guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, 0));
  for (int y = 0; y < self->info.height; y++, row += GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0))
    for (int x = 0; x < self->info.width; x++)
      row[x] = guint8 (random () >> 16);
  gst_video_frame_unmap (&frame);
  gst_mini_object_set_qdata (GST_MINI_OBJECT_CAST (buffer), filled, self, nullptr);
  return GST_FLOW_OK;
}

void ready_source_class_init (ReadySourceClass *klass)
{
  auto *element_class = GST_ELEMENT_CLASS (klass);
  g_autoptr (GstCaps) caps = gst_caps_from_string (
      GST_VIDEO_CAPS_MAKE (GST_VIDEO_FORMATS_ALL) ";" GST_VIDEO_CAPS_MAKE_WITH_FEATURES (
          "memory:CUDAMemory", GST_VIDEO_FORMATS_ALL));
  gst_element_class_add_pad_template (
      element_class, gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_element_class_set_static_metadata (element_class, "Ready source", "Source/Video",
                                         "Ready-made frames", "The gst-integralhist authors");
  GST_BASE_SRC_CLASS (klass)->set_caps = ready_source_set_caps;
  GST_BASE_SRC_CLASS (klass)->decide_allocation = ready_source_decide_allocation;
  GST_PUSH_SRC_CLASS (klass)->fill = ready_source_fill;
}

void ready_source_init (ReadySource *self)
{
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
}

struct CountingSinkClass {
  GstBaseSinkClass parent_class;
};

GType counting_sink_get_type ();
G_DEFINE_TYPE (CountingSink, counting_sink, GST_TYPE_BASE_SINK)

GstFlowReturn counting_sink_render (GstBaseSink *base, GstBuffer *buffer)
{
  auto *self = reinterpret_cast<CountingSink *> (base);
  if (self->kept > 0)
    if (const GstIntegralHistogramMeta *meta = gst_buffer_get_integral_histogram_meta (buffer))
      self->histograms->push_back (gst_integral_histogram_ref (meta->histogram));
  if (self->histograms->size () > self->kept) {
    g_autoptr (GstIntegralHistogram) oldest = self->histograms->front ();
    self->histograms->pop_front ();
    g_autoptr (GstBuffer) copy =
        self->map ? gst_integral_histogram_get_buffer (oldest, nullptr) : nullptr;
    if (self->map && !copy)
      return GST_FLOW_ERROR;
  }
  self->frames++;
  return GST_FLOW_OK;
}

gboolean counting_sink_stop (GstBaseSink *base)
{
  auto *self = reinterpret_cast<CountingSink *> (base);
  for (GstIntegralHistogram *histogram : *self->histograms)
    gst_integral_histogram_unref (histogram);
  self->histograms->clear ();
  return TRUE;
}

void counting_sink_finalize (GObject *object)
{
  delete reinterpret_cast<CountingSink *> (object)->histograms;
  G_OBJECT_CLASS (counting_sink_parent_class)->finalize (object);
}

void counting_sink_class_init (CountingSinkClass *klass)
{
  auto *element_class = GST_ELEMENT_CLASS (klass);
  gst_element_class_add_pad_template (
      element_class, gst_pad_template_new ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_CAPS_ANY));
  gst_element_class_set_static_metadata (element_class, "Counting sink", "Sink/Video",
                                         "Counts frames", "The gst-integralhist authors");
  G_OBJECT_CLASS (klass)->finalize = counting_sink_finalize;
  GST_BASE_SINK_CLASS (klass)->render = counting_sink_render;
  GST_BASE_SINK_CLASS (klass)->stop = counting_sink_stop;
}

void counting_sink_init (CountingSink *self)
{
  self->histograms = new std::deque<GstIntegralHistogram *>;
  gst_base_sink_set_sync (GST_BASE_SINK (self), FALSE);
  gst_base_sink_set_last_sample_enabled (GST_BASE_SINK (self), FALSE);
}

}  // namespace

ReadySource *new_ready_source (bool own_pool, std::atomic<bool> *finished)
{
  auto *self = static_cast<ReadySource *> (g_object_new (ready_source_get_type (), nullptr));
  self->own_pool = own_pool;
  self->finished = finished;
  return self;
}

CountingSink *new_counting_sink (guint kept, bool map)
{
  auto *self = static_cast<CountingSink *> (g_object_new (counting_sink_get_type (), nullptr));
  self->kept = kept;
  self->map = map;
  return self;
}
