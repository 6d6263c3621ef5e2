/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * medians: an application that prints the median brightness of regions of every frame.
 *
 *   medians FILE | URI | --test X,Y,WIDTH,HEIGHT...
 *
 * A median is the quantile 0.5 of a window. Each region is a grid of one window, and one call asks
 * about all of them. With 256 bins the bin is the gray level.
 */
#include <locale.h>
#include <stdio.h>

#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gst/integralhist/gstintegralhist.h>

#define MEDIAN 0.5

static GstElement *make_pipeline (const char *input, GError **error)
{
  const gboolean test = g_strcmp0 (input, "--test") == 0;
  g_autofree gchar *uri = test                       ? NULL
                          : gst_uri_is_valid (input) ? g_strdup (input)
                                                     : gst_filename_to_uri (input, error);
  if (!test && !uri)
    return NULL;
  g_autofree gchar *launch = g_strdup_printf (
      "%s ! videoconvert ! cudaintegralhist bins=256 ! "
      "appsink name=sink sync=false max-buffers=4",
      test ? "videotestsrc num-buffers=3 ! video/x-raw,format=I420,width=640,height=480"
           : "uridecodebin name=source");
  GError *problem = NULL; /* with a missing element there is a pipeline, too */
  GstElement *pipeline = gst_parse_launch (launch, &problem);
  if (problem) {
    g_propagate_error (error, problem);
    gst_clear_object (&pipeline);
    return NULL;
  }
  if (uri) {
    g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
    g_object_set (source, "uri", uri, NULL);
  }
  return pipeline;
}

static gboolean parse_region (const char *text, GstIntegralHistogramGrid *grid)
{
  GstIntegralHistogramGrid one = { .step_x = 1, .step_y = 1, .columns = 1, .rows = 1 };
  char end;
  const gboolean is_region =
      sscanf (text, "%d,%d,%d,%d%c", &one.x, &one.y, &one.window_width, &one.window_height, &end)
          == 4
      && one.window_width > 0 && one.window_height > 0;
  *grid = one;
  return is_region;
}

/* Prints a line with the medians of a frame. A median is -1 if the region lies outside. */
static gboolean print_medians (GstSample *sample, const GstIntegralHistogramGrid *grids, guint n,
                               GError **error)
{
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  GstIntegralHistogramMeta *meta = gst_buffer_get_integral_histogram_meta (buffer);
  if (!meta)
    return TRUE; /* a late frame of a live stream */

  g_autofree gint32 *medians = g_new (gint32, n);
  if (!gst_integral_histogram_quantile_maps (meta->histogram, grids, n, MEDIAN, medians, error))
    return FALSE;
  if (GST_BUFFER_PTS_IS_VALID (buffer))
    g_print ("%8.3f s", (double) GST_BUFFER_PTS (buffer) / GST_SECOND);
  else
    g_print ("         ?");
  for (guint i = 0; i < n; i++)
    g_print ("  %3d", medians[i]);
  g_print ("\n");
  return TRUE;
}

static gboolean run (GstElement *pipeline, const GstIntegralHistogramGrid *grids, guint n,
                     GError **error)
{
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gboolean done = TRUE;
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (done) {
    g_autoptr (GstSample) sample =
        gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 100 * GST_MSECOND);
    if (sample) {
      done = print_medians (sample, grids, n, error);
      continue;
    }
    g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
    g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    if (message) {
      gst_message_parse_error (message, error, NULL);
      done = FALSE;
    } else if (gst_app_sink_is_eos (GST_APP_SINK (sink))) {
      break;
    }
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  return done;
}

int main (int argc, char **argv)
{
  setlocale (LC_ALL, "");
  gst_init (&argc, &argv);
  if (argc < 3) {
    g_printerr ("medians: give FILE, URI or --test, and one or more X,Y,WIDTH,HEIGHT\n");
    return 2;
  }
  const guint n = argc - 2;
  g_autofree GstIntegralHistogramGrid *grids = g_new (GstIntegralHistogramGrid, n);
  for (guint i = 0; i < n; i++)
    if (!parse_region (argv[i + 2], &grids[i])) {
      g_printerr ("medians: %s is not a region: give X,Y,WIDTH,HEIGHT in pixels\n", argv[i + 2]);
      return 2;
    }

  g_autoptr (GError) error = NULL;
  g_autoptr (GstElement) pipeline = make_pipeline (argv[1], &error);
  if (pipeline && run (pipeline, grids, n, &error))
    return 0;
  g_printerr ("medians: %s: %s\n", argv[1], error->message);
  return 1;
}
