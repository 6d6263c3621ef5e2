/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * histquery: an application that asks for the histograms of five regions of every frame, and shows
 * them over time.
 *
 *   histquery [--feature NICK] [--bins N] [--frames N] FILE | URI | /dev/videoN | --test
 */
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>

#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gst/integralhist/gstintegralhist.h>

#define MAX_BINS 256
#define UNSET G_MININT
#define COLUMNS 4 /* of the table */
#define BARS 16
#define ROW_SECONDS 0.5 /* of video */

enum { CENTRE, TOP_LEFT, TOP_RIGHT, BOTTOM_LEFT, BOTTOM_RIGHT, REGIONS };

static volatile sig_atomic_t interrupted;

static void on_interrupt (int signum)
{
  (void) signum;
  interrupted = 1;
}

static gboolean is_feature (const char *nick)
{
  GEnumClass *features = g_type_class_ref (GST_TYPE_INTEGRAL_HISTOGRAM_FEATURE);
  const gboolean is_one = g_enum_get_value_by_nick (features, nick) != NULL;
  g_type_class_unref (features);
  return is_one;
}

static GstElement *make_pipeline (const char *input, const char *feature, int bins, GError **error)
{
  const char *source = "videotestsrc name=source pattern=smpte horizontal-speed=4 ! "
                       "video/x-raw,format=I420,width=640,height=480,framerate=30/1";
  const char *property = NULL;

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

  /* videoconvert passes the formats that the element takes; a few frames under way let it work
   * ahead of the queries */
  g_autofree char *launch =
      g_strdup_printf ("%s ! videoconvert ! cudaintegralhist name=hist feature=%s bins=%d ! "
                       "appsink name=sink sync=false max-buffers=4",
                       source, feature, bins);
  g_autoptr (GError) problem = NULL;
  g_autoptr (GstElement) pipeline = gst_parse_launch (launch, &problem);
  if (problem) {
    g_propagate_error (error, g_steal_pointer (&problem));
    return NULL;
  }
  if (property) {
    g_autoptr (GstElement) element = gst_bin_get_by_name (GST_BIN (pipeline), "source");
    g_object_set (element, property, input, NULL);
  }
  return g_steal_pointer (&pipeline);
}

/* Counts of the regions, one after another; areas in pixels. */
static gboolean query (GstIntegralHistogram *histogram, guint32 *counts, guint *areas,
                       GError **error)
{
  const int w = gst_integral_histogram_get_width (histogram),
            h = gst_integral_histogram_get_height (histogram);
  const GstVideoRectangle regions[REGIONS] = {
    [CENTRE] = { w / 4, h / 4, (w + 1) / 2, (h + 1) / 2 },
    [TOP_LEFT] = { 0, 0, (w + 1) / 2, (h + 1) / 2 },
    [TOP_RIGHT] = { w / 2, 0, w - w / 2, (h + 1) / 2 },
    [BOTTOM_LEFT] = { 0, h / 2, (w + 1) / 2, h - h / 2 },
    [BOTTOM_RIGHT] = { w / 2, h / 2, w - w / 2, h - h / 2 },
  };
  for (int r = 0; r < REGIONS; r++)
    areas[r] = regions[r].w * regions[r].h;
  return gst_integral_histogram_regions (histogram, regions, REGIONS, counts, error);
}

/* Percent of the pixels that lie in group i of n groups of bins. */
static double share (const guint32 *counts, guint bins, guint i, guint n, guint area)
{
  guint64 sum = 0;
  for (guint b = i * bins / n; b < (i + 1) * bins / n; b++)
    sum += counts[b];
  return 100.0 * sum / area;
}

/* Returns how much two histograms overlap, in percent. */
static double likeness (const guint32 *a, guint area_a, const guint32 *b, guint area_b, guint bins)
{
  double sum = 0;
  for (guint i = 0; i < bins; i++)
    sum += MIN ((double) a[i] / area_a, (double) b[i] / area_b);
  return 100.0 * sum;
}

static void print_header (GstIntegralHistogram *histogram)
{
  const guint bins = gst_integral_histogram_get_bins (histogram), columns = MIN (bins, COLUMNS);
  const gboolean is_luma =
      gst_integral_histogram_get_feature (histogram) == GST_INTEGRAL_HISTOGRAM_FEATURE_LUMA;
  g_print ("\nThe histogram of the centre: percent of its pixels, by %s, and its bins\nas bars (of "
           "square roots, so that small ones show). Then how alike the quadrants are to "
           "it,\nin percent: top left, top right, bottom left, bottom right.\n\n"
           "  time  frame |",
           is_luma ? "value from dark to light" : "number of the bin");
  for (guint i = 0; i < columns; i++) {
    const guint bin = i * bins / columns;
    /* for luma, the bin is value * bins / 256 */
    g_print (" %3u+", is_luma ? (bin * 256 + bins - 1) / bins : bin);
  }
  g_print (" | %-*s |   TL   TR   BL   BR\n", (int) MIN (bins, BARS), "bins");
}

static void print_row (double seconds, guint64 frame, const guint32 *counts, const guint *areas,
                       guint bins)
{
  static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
  static const char *const plain[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
  const char *const *bars = g_get_charset (NULL) ? blocks : plain;
  const guint n_bars = MIN (bins, BARS);
  g_autoptr (GString) row = g_string_new (NULL);

  g_string_append_printf (row, "%4.1f s %6" G_GUINT64_FORMAT " |", seconds, frame);
  for (guint i = 0, n = MIN (bins, COLUMNS); i < n; i++)
    g_string_append_printf (row, " %4.0f", share (counts, bins, i, n, areas[CENTRE]));
  g_string_append (row, " | ");
  for (guint i = 0; i < n_bars; i++) /* square roots, so that small counts show */
    g_string_append (
        row,
        bars[(int) ceil (sqrt (share (counts, bins, i, n_bars, areas[CENTRE]) / 100) * 8 - 1e-9)]);
  g_string_append (row, " |");
  for (guint r = TOP_LEFT; r < REGIONS; r++)
    g_string_append_printf (row, " %4.0f",
                            likeness (counts, areas[CENTRE], counts + r * bins, areas[r], bins));
  g_print ("%s\n", row->str);
}

/* Returns whether the element computes only what queries need. */
static gboolean on_demand (const GstStructure *stats)
{
  return g_strcmp0 (gst_structure_get_string (stats, "compute"), "on-demand") == 0;
}

/* Prints the stages of the work that exist, in microseconds a frame. */
static void print_stages (const GstStructure *stats)
{
  const gboolean on_cpu = g_strcmp0 (gst_structure_get_string (stats, "backend"), "cpu") == 0;
  const struct {
    const char *field, *name;
  } stages[] = {
    { "upload", on_demand (stats) ? "copy of brightness"
                : on_cpu          ? "pixels to bins"
                                  : "upload" },
    { "compute", on_demand (stats) ? "tensors asked for" : "compute" },
    { "download", "download" },
  };
  guint64 frames = 0;
  gst_structure_get_uint64 (stats, "frames", &frames);
  g_autofree char *head = g_strdup_printf ("of %" G_GUINT64_FORMAT " frames", frames);
  g_print ("\n  %-26s   mean      most   microseconds a frame\n", head);
  for (gsize i = 0; i < G_N_ELEMENTS (stages); i++) {
    g_autofree char *mean_field = g_strconcat (stages[i].field, "-us-mean", NULL),
                    *max_field = g_strconcat (stages[i].field, "-us-max", NULL);
    double mean = 0, most = 0;
    gst_structure_get (stats, mean_field, G_TYPE_DOUBLE, &mean, max_field, G_TYPE_DOUBLE, &most,
                       NULL);
    if (most > 0)
      g_print ("  %-23s %9.0f %9.0f\n", stages[i].name, mean, most);
  }
}

static void print_summary (GstElement *pipeline, guint64 frames, double seconds)
{
  g_autoptr (GstElement) hist = gst_bin_get_by_name (GST_BIN (pipeline), "hist");
  g_autoptr (GstStructure) stats = NULL;
  g_object_get (hist, "stats", &stats, NULL);
  const char *backend = stats ? gst_structure_get_string (stats, "backend") : NULL,
             *strategy = stats ? gst_structure_get_string (stats, "strategy") : NULL;

  if (stats)
    print_stages (stats);
  g_print ("\n%" G_GUINT64_FORMAT " frames in %.2f s: %.1f frames a second (backend %s, ", frames,
           seconds, seconds > 0 ? frames / seconds : 0, backend ? backend : "?");
  if (stats && on_demand (stats))
    g_print ("%d regions a frame, computed on demand)\n", REGIONS);
  else
    g_print ("strategy %s)\n", strategy ? strategy : "?");
}

/* Queries one frame, and prints a row when it is time for one. If a live source is late, frames are
 * left out: they come without a histogram. */
static gboolean handle_frame (GstSample *sample, guint64 frame, GError **error)
{
  static double next_row = -G_MAXDOUBLE;
  static gboolean has_header = FALSE;
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  GstIntegralHistogramMeta *meta = gst_buffer_get_integral_histogram_meta (buffer);
  if (!meta)
    return TRUE;

  guint32 counts[REGIONS * MAX_BINS];
  guint areas[REGIONS];
  if (!query (meta->histogram, counts, areas, error))
    return FALSE;

  const guint bins = gst_integral_histogram_get_bins (meta->histogram);
  const GstClockTime time = gst_segment_to_stream_time (gst_sample_get_segment (sample),
                                                        GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));
  const double seconds = GST_CLOCK_TIME_IS_VALID (time) ? (double) time / GST_SECOND : frame / 30.0;
  if (!has_header) {
    has_header = TRUE;
    const int device = gst_integral_histogram_get_cuda_device (meta->histogram);
    g_autofree char *where =
        device < 0 ? g_strdup ("the CPU") : g_strdup_printf ("CUDA device %d", device);
    g_print ("%u x %u pixels, %u bins, computed on %s\n", meta->width, meta->height, bins, where);
    print_header (meta->histogram);
  }
  if (seconds >= next_row) {
    print_row (seconds, frame, counts, areas, bins);
    next_row = seconds + ROW_SECONDS;
  }
  return TRUE;
}

/* Handles every frame on the way to the element, so that no frame is computed without a query. */
static GstPadProbeReturn on_frame (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  guint64 *left = data;
  (void) info;
  if ((*left)-- > 0)
    return GST_PAD_PROBE_OK;
  *left = 0;
  gst_pad_send_event (pad, gst_event_new_eos ());
  return GST_PAD_PROBE_DROP;
}

/* Runs until the end, an error, Ctrl-C or `limit` frames (0: no limit). */
static gboolean run (GstElement *pipeline, guint64 limit, GError **error)
{
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GTimer) timer = g_timer_new ();
  g_autoptr (GstElement) hist = gst_bin_get_by_name (GST_BIN (pipeline), "hist");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (hist, "sink");
  guint64 frames = 0;
  gboolean ok = TRUE;

  if (limit > 0)
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, g_memdup2 (&limit, sizeof limit),
                       g_free);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (ok && !interrupted && (limit == 0 || frames < limit)) {
    g_autoptr (GstSample) sample =
        gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 100 * GST_MSECOND);
    g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    if (message) {
      g_autofree char *debug = NULL;
      const GstStructure *details = NULL;
      gint flow = GST_FLOW_OK;
      gst_message_parse_error_details (message, &details);
      if (details)
        gst_structure_get_int (details, "flow-return", &flow);
      if (frames == 0 && flow == GST_FLOW_NOT_LINKED)
        break; /* no stream could be linked: there is no video */
      gst_message_parse_error (message, error, &debug);
      g_prefix_error (error, "%s%s: ", frames == 0 ? "no video: " : "",
                      GST_OBJECT_NAME (GST_MESSAGE_SRC (message)));
      g_printerr ("%s\n", debug ? debug : "");
      ok = FALSE;
    } else if (sample) {
      if (frames == 0)
        g_timer_start (timer);
      ok = handle_frame (sample, frames++, error);
    } else if (gst_app_sink_is_eos (GST_APP_SINK (sink))) {
      break;
    }
  }
  if (ok && frames == 0 && !interrupted) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, "no video in it");
    ok = FALSE;
  }
  if (frames > 0)
    print_summary (pipeline, frames, g_timer_elapsed (timer, NULL));
  return ok;
}

int main (int argc, char **argv)
{
  int bins = 32, frames = UNSET;
  gboolean test = FALSE;
  g_autofree char *feature = NULL;
  g_auto (GStrv) inputs = NULL;
  const GOptionEntry entries[] = {
    { "feature", 0, 0, G_OPTION_ARG_STRING, &feature,
      "Feature to count, such as hue; see gst-inspect-1.0 cudaintegralhist (luma)", "NICK" },
    { "bins", 'b', 0, G_OPTION_ARG_INT, &bins, "Bins of the histograms, 1 to 256 (32)", "N" },
    { "frames", 'n', 0, G_OPTION_ARG_INT, &frames,
      "Stop after N frames, 0 for never (150 of a camera or --test, else 0)", "N" },
    { "test", 't', 0, G_OPTION_ARG_NONE, &test, "Take a moving test picture", NULL },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &inputs, NULL,
      "FILE | URI | /dev/videoN" },
    G_OPTION_ENTRY_NULL,
  };

  setlocale (LC_CTYPE, "");
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    g_printerr ("histquery: %s\n", error->message);
    return 2;
  }
  const guint n_inputs = inputs ? g_strv_length (inputs) : 0;
  if (n_inputs + (test ? 1 : 0) != 1) {
    g_printerr ("histquery: give one FILE, URI, /dev/videoN or --test; see histquery --help\n");
    return 2;
  }
  if (bins < 1 || bins > MAX_BINS) {
    g_printerr ("histquery: --bins %d is out of range: give 1 to %d\n", bins, MAX_BINS);
    return 2;
  }
  if (feature && !is_feature (feature)) {
    g_printerr (
        "histquery: --feature %s is not a feature: use one of gst-inspect-1.0 cudaintegralhist\n",
        feature);
    return 2;
  }
  if (frames < 0 && frames != UNSET) {
    g_printerr ("histquery: --frames %d is out of range: give 1 or more, or 0 for no limit\n",
                frames);
    return 2;
  }
  const char *input = test ? NULL : inputs[0];
  if (frames == UNSET)
    frames = test || g_str_has_prefix (input, "/dev/video") ? 150 : 0;

  g_autoptr (GstElement) pipeline = make_pipeline (input, feature ? feature : "luma", bins, &error);
  gboolean ok = pipeline != NULL;
  if (ok) {
    signal (SIGINT, on_interrupt);
    ok = run (pipeline, frames, &error);
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }
  if (!ok)
    g_printerr ("histquery: %s: %s\n", test ? "test picture" : input, error->message);
  if (ferror (stdout))
    g_printerr ("histquery: stdout takes no more text: look for a full disk\n");
  return ok && !ferror (stdout) ? 0 : 1;
}
