// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tensors of the fuzzer of questions. They are made once, from known pictures.
#pragma once

#include <random>
#include <vector>

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/integralhist/gstintegralhist.h>

#include "require.hpp"

struct Picture {
  int width, height;
  std::vector<guint8> pixels;
};

/// Makes noise, or nearly all pixels of one value, so that counts take more than 16 bits.
inline Picture make_picture (int width, int height, bool noise)
{
  Picture picture = { width, height, std::vector<guint8> (gsize (width) * height, 77) };
  std::mt19937 random (5);
  for (guint8 &pixel : picture.pixels)
    if (noise || random () % 50 == 0)
      pixel = guint8 (random ());
  return picture;
}

struct Tensor {
  const Picture *picture;
  GstBuffer *buffer;  // has the meta
  GstIntegralHistogramMeta *meta;
  GstIntegralHistogram *histogram;
  guint planes;
  bool sums;
  bool labels;  // values from `planes` on are in no bin
};

inline Tensor make_tensor (const Picture &picture, const char *element)
{
  g_autofree char *line = g_strdup_printf (
      "appsrc name=source caps=video/x-raw,format=GRAY8,width=%d,height=%d,framerate=0/1 ! "
      "%s backend=cpu tuning-time=0 ! appsink name=sink sync=false enable-last-sample=false",
      picture.width, picture.height, element);
  GstElement *const pipeline = gst_parse_launch (line, nullptr);
  REQUIRE (pipeline, "no pipeline: %s", line);
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "source"),
                         sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  const int stride = GST_ROUND_UP_4 (picture.width);
  GstBuffer *const frame =
      gst_buffer_new_allocate (nullptr, gsize (stride) * picture.height, nullptr);
  for (int y = 0; y < picture.height; y++)
    gst_buffer_fill (frame, gsize (y) * stride, &picture.pixels[gsize (y) * picture.width],
                     picture.width);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_app_src_push_buffer (GST_APP_SRC (source), frame);
  g_autoptr (GstSample) sample =
      gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 60 * GST_SECOND);
  REQUIRE (sample, "no sample from %s", line);
  GstBuffer *const buffer = gst_buffer_copy (gst_sample_get_buffer (sample));
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  GstIntegralHistogramMeta *const meta = gst_buffer_get_integral_histogram_meta (buffer);
  REQUIRE (meta, "no histogram from %s", line);
  GstIntegralHistogram *const histogram = meta->histogram;
  return { &picture,
           buffer,
           meta,
           histogram,
           gst_integral_histogram_get_bins (histogram),
           gst_integral_histogram_get_content (histogram) == GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS,
           gst_integral_histogram_get_feature (histogram)
               == GST_INTEGRAL_HISTOGRAM_FEATURE_LABELS };
}

inline const Picture &large_picture ()
{
  static const Picture picture = make_picture (300, 250, false);
  return picture;
}

inline std::vector<Tensor> make_tensors ()
{
  std::vector<Tensor> tensors;
  static const Picture small = make_picture (37, 29, true), dot = make_picture (1, 1, true);
  const Picture &large = large_picture ();
  for (const char *element :
       { "cudaintegralhist bins=8", "cudaintegralhist bins=8 compute=eager",
         "cudaintegralhist bins=256 counter=u16",
         "cudaintegralhist bins=7 compute=eager counter=u16", "cudaintegralhist bins=1",
         "cudaintegralhist bins=20 cuda-device-ids=0,1,2",
         "cudaintegralhist bins=20 max-device-memory=40000",
         "cudaintegralhist bins=5 counter=u16 cuda-device-ids=0,1,2 task-bins=1",
         "cudaintegralhist bins=6 counter=u8-tiled",
         "cudaintegralhist feature=labels bins=120 counter=u16",
         "cudaintegralhist feature=labels bins=9 counter=u8-tiled",
         "cudaintegralhist feature=labels bins=30 cuda-device-ids=0,1,2", "cudaintegralimage",
         "cudaintegralimage squared=true" })
    tensors.push_back (make_tensor (small, element));
  for (const char *element :
       { "cudaintegralhist bins=3", "cudaintegralhist bins=3 counter=u16",
         "cudaintegralhist bins=3 compute=eager counter=u16",
         "cudaintegralhist bins=9 counter=u16 cuda-device-ids=0,1,2",
         "cudaintegralhist bins=4 counter=u8-tiled compute=eager",
         "cudaintegralhist bins=9 counter=u8-tiled cuda-device-ids=0,1,2",
         "cudaintegralhist feature=labels bins=40 counter=u16", "cudaintegralimage squared=true" })
    tensors.push_back (make_tensor (large, element));
  tensors.push_back (make_tensor (dot, "cudaintegralhist bins=2 counter=u16"));
  tensors.push_back (make_tensor (dot, "cudaintegralimage"));
  return tensors;
}
