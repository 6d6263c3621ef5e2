/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pipeline.h"

#include <gst/app/gstappsrc.h>
#include <gst/video/videooverlay.h>

/* Draws the next frame when the pipeline needs one. */
static void on_need_data (GstAppSrc *source, guint length, gpointer data)
{
  Scene *scene = data;
  (void) length;
  const guint frame = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (source), "frame"));
  if (frame == SCENE_FRAMES) {
    gst_app_src_end_of_stream (source);
    return;
  }
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, 4 * SCENE_WIDTH * SCENE_HEIGHT, NULL);
  GstMapInfo map;
  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  scene_draw (scene, frame, map.data);
  gst_buffer_unmap (buffer, &map);
  GST_BUFFER_PTS (buffer) = gst_util_uint64_scale (frame, GST_SECOND, SCENE_RATE);
  GST_BUFFER_DURATION (buffer) = GST_SECOND / SCENE_RATE;
  g_object_set_data (G_OBJECT (source), "frame", GUINT_TO_POINTER (frame + 1));
  gst_app_src_push_buffer (source, buffer);
}

GstElement *make_pipeline (const char *input, Scene *scene, const char *rest, GError **error)
{
  g_autofree char *drawn =
      g_strdup_printf ("appsrc name=source format=time max-buffers=2 "
                       "caps=video/x-raw,format=BGRx,width=%d,height=%d,framerate=%d/1",
                       SCENE_WIDTH, SCENE_HEIGHT, SCENE_RATE);
  const char *source = drawn, *property = NULL;

  if (input && g_str_has_prefix (input, "/dev/video")) {
    source = "v4l2src name=source ! decodebin";
    property = "device";
  } else if (input && g_file_test (input, G_FILE_TEST_EXISTS)) {
    source = "filesrc name=source ! decodebin";
    property = "location";
  } else if (input && gst_uri_is_valid (input)) {
    source = "uridecodebin name=source";
    property = "uri";
  } else if (input) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, "no such file");
    return NULL;
  }

  g_autofree char *launch = g_strdup_printf ("%s ! videoconvert ! %s", source, rest);
  g_autoptr (GError) problem = NULL;
  g_autoptr (GstElement) pipeline = gst_parse_launch (launch, &problem);
  if (problem) {
    g_propagate_error (error, g_steal_pointer (&problem));
    return NULL;
  }
  g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  if (property)
    g_object_set (element, property, input, NULL);
  else
    g_signal_connect (element, "need-data", G_CALLBACK (on_need_data), scene);
  return g_steal_pointer (&pipeline);
}

/* If no window can be opened, autovideosink drops the frames, so this tries to open one. Two of its
 * sinks open no window but take the whole screen. */
gboolean window_works (void)
{
  if (!g_getenv ("DISPLAY") && !g_getenv ("WAYLAND_DISPLAY"))
    return FALSE;
  const char *const others[] = { "dfbvideosink", "kmssink" };
  for (gsize i = 0; i < G_N_ELEMENTS (others); i++) {
    g_autoptr (GstPluginFeature) feature =
        gst_registry_lookup_feature (gst_registry_get (), others[i]);
    if (feature)
      gst_plugin_feature_set_rank (feature, GST_RANK_NONE);
  }
  g_autoptr (GstElement) sink = gst_parse_launch ("autovideosink", NULL);
  if (!sink)
    return FALSE;
  const gboolean opens = gst_element_set_state (sink, GST_STATE_READY) == GST_STATE_CHANGE_SUCCESS;
  g_autoptr (GstElement) window = gst_bin_get_by_interface (GST_BIN (sink), GST_TYPE_VIDEO_OVERLAY);
  gst_element_set_state (sink, GST_STATE_NULL);
  return opens && window;
}
