/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "follow.h"

#include <unistd.h>

#include "interrupt.h"
#include "pipeline.h"

#define LONGEST (10 * GST_SECOND) /* of a video file */

typedef struct {
  const Job *job;
  Outcome *outcome; /* except for the report, only the streaming thread uses this until it ends */
  GstElement *track;
  GstElement *window; /* or NULL */

  /* only the streaming thread uses these until it ends */
  GstClockTime begin; /* of the first frame */
  Search search;

  /* set by messages */
  gboolean ended, failed;
  gboolean no_video; /* no stream that was found could be linked */
  char *missing;     /* the plugin, or NULL */
} Run;

static void set_target (Run *run, const Box *box, const char *why)
{
  Outcome *outcome = run->outcome;
  g_autofree char *text = g_strdup_printf ("%d,%d,%d,%d", box->x, box->y, box->width, box->height);
  g_print ("Following %s%s; from frame %" G_GUINT64_FORMAT "\n", text, why, outcome->frames);
  g_object_set (run->track, "targets", text, NULL);
  outcome->has_target = TRUE;
  outcome->start = outcome->frames;
}

static void look_for_target (Run *run, const GstIntegralHistogramMeta *meta, GstClockTime time)
{
  g_autoptr (GError) error = NULL;
  Box box;
  const char *why = search (&run->search, meta, time, &box, &error);
  if (error)
    GST_ELEMENT_ERROR (run->track, STREAM, FAILED, ("%s", error->message), (NULL));
  if (!why)
    return;
  set_target (run, &box, why);
  search_forget (&run->search);
}

/* Returns the time of a frame by the rate of its caps, or 30 a second if they have none. */
static GstClockTime time_by_rate (GstPad *pad, guint64 frame)
{
  g_autoptr (GstCaps) caps = gst_pad_get_current_caps (pad);
  GstVideoInfo info;
  gint rate = 30, unit = 1;
  if (caps && gst_video_info_from_caps (&info, caps) && GST_VIDEO_INFO_FPS_N (&info) > 0) {
    rate = GST_VIDEO_INFO_FPS_N (&info);
    unit = GST_VIDEO_INFO_FPS_D (&info);
  }
  return gst_util_uint64_scale (frame, GST_SECOND * unit, rate);
}

/* Handles every frame on the way to the tracker. Frames without a time, such as frames of raw
 * MJPEG, get one, because a video file needs it. */
static GstPadProbeReturn on_frame (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Run *run = data;
  Outcome *outcome = run->outcome;
  if (!GST_BUFFER_PTS_IS_VALID (GST_PAD_PROBE_INFO_BUFFER (info))) {
    GstBuffer *writable = gst_buffer_make_writable (GST_PAD_PROBE_INFO_BUFFER (info));
    GST_BUFFER_PTS (writable) = time_by_rate (pad, outcome->frames);
    info->data = writable;
  }
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  const GstIntegralHistogramMeta *meta = gst_buffer_get_integral_histogram_meta (buffer);
  GstClockTime time = GST_BUFFER_PTS (buffer);
  if (outcome->frames == 0)
    run->begin = time;
  time -= MIN (time, run->begin);

  if ((run->job->limit && outcome->frames == run->job->limit)
      || (run->job->video && time >= LONGEST)) {
    if (!outcome->is_cut) {
      gint64 length;
      outcome->is_cut = TRUE;
      outcome->cut = time;
      outcome->length = gst_pad_peer_query_duration (pad, GST_FORMAT_TIME, &length) && length > 0
                            ? (GstClockTime) length
                            : GST_CLOCK_TIME_NONE;
    }
    gst_pad_send_event (pad, gst_event_new_eos ());
    return GST_PAD_PROBE_DROP;
  }
  if (meta && !outcome->has_target)
    look_for_target (run, meta, time);
  outcome->frames++;
  return GST_PAD_PROBE_OK;
}

static void take_error (Run *run, GstMessage *message, GError **error)
{
  const GstStructure *details = NULL;
  gint flow = GST_FLOW_OK;
  gst_message_parse_error (message, error, NULL);
  gst_message_parse_error_details (message, &details);
  if (details)
    gst_structure_get_int (details, "flow-return", &flow);
  if (run->window
      && gst_object_has_as_ancestor (GST_MESSAGE_SRC (message), GST_OBJECT (run->window))
      && g_error_matches (*error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND)) {
    g_clear_error (error); /* so windows say that they were closed */
    run->ended = TRUE;
  } else {
    run->no_video = flow == GST_FLOW_NOT_LINKED;
    run->failed = TRUE;
  }
}

static void take_message (Run *run, GstMessage *message, GError **error)
{
  const GstStructure *structure = gst_message_get_structure (message);
  switch (GST_MESSAGE_TYPE (message)) {
    case GST_MESSAGE_EOS: run->ended = TRUE; break;
    case GST_MESSAGE_ERROR: take_error (run, message, error); break;
    default:
      if (gst_structure_has_name (structure, "integral-histogram-track"))
        report_take (&run->outcome->report, structure);
      else if (gst_structure_has_name (structure, "missing-plugin") && !run->missing)
        run->missing = g_strdup (gst_structure_get_string (structure, "name"));
  }
}

/* Plays until the end, an error or Ctrl-C. One Ctrl-C still ends files properly. */
static void play (Run *run, GstElement *pipeline, GError **error)
{
  g_autoptr (GstPad) pad = gst_element_get_static_pad (run->track, "sink");
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GTimer) timer = g_timer_new ();
  const gboolean on_screen = isatty (STDOUT_FILENO);
  const Outcome *outcome = run->outcome;
  gboolean ending = FALSE;

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, run, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (!run->failed && !run->ended && interrupted < 2) {
    g_autoptr (GstMessage) message = gst_bus_timed_pop_filtered (
        bus, 100 * GST_MSECOND,
        (GstMessageType) (GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_ELEMENT));
    if (interrupted && !ending) {
      ending = TRUE;
      run->ended = outcome->frames == 0 || !gst_pad_send_event (pad, gst_event_new_eos ());
    }
    if (on_screen)
      g_print ("\r%u frames, %.0f s ", outcome->report.frames, g_timer_elapsed (timer, NULL));
    if (message)
      take_message (run, message, error);
  }
  const double seconds = g_timer_elapsed (timer, NULL);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  if (on_screen)
    g_print ("\r\033[K");
  if (!run->failed && outcome->has_target && outcome->frames > 0)
    g_print ("%" G_GUINT64_FORMAT " frame%s in %.1f s\n", outcome->frames,
             outcome->frames == 1 ? "" : "s", seconds);
}

/* Replaces the error if an input has no video: the pipeline's own error says less. */
static void check_video (Run *run, GError **error)
{
  const gboolean no_video = run->failed ? run->no_video || run->missing : !interrupted;
  if (run->outcome->frames > 0 || !no_video)
    return;
  g_clear_error (error);
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, "there is no video in it%s%s",
               run->missing ? " that can be decoded; missing is: " : "",
               run->missing ? run->missing : "");
  run->failed = TRUE;
}

static GstElement *pipeline_for (const Job *job, GError **error)
{
  const char *sink = job->video ? "queue max-size-buffers=2 ! videoconvert ! " TO_FILE
                                : "videoconvert ! autovideosink name=window";
  /* a moving target is found by luma, even if another histogram is used to follow it */
  const gboolean is_other = job->feature && g_strcmp0 (job->feature, "luma") != 0;
  g_autofree char *choice =
      job->feature ? g_strdup_printf ("feature=%s", job->feature) : g_strdup ("");
  g_autofree char *other =
      is_other ? g_strdup_printf ("cudaintegralhist %s bins=%d ! ", choice, BINS) : g_strdup ("");
  g_autofree char *rest = g_strdup_printf ("cudaintegralhist bins=%d ! %s%s name=track %s ! "
                                           "integralhistoverlay line-width=3 %s ! %s",
                                           BINS, other, job->feature ? FRAGMENTS_TRACKER : TRACKER,
                                           choice, choice, sink);
  g_autoptr (GstElement) pipeline = make_pipeline (job->input, job->scene, rest, error);
  if (!pipeline)
    return NULL;
  g_autoptr (GstElement) file = gst_bin_get_by_name (GST_BIN (pipeline), "file");
  if (file)
    g_object_set (file, "location", job->video, NULL);
  return g_steal_pointer (&pipeline);
}

gboolean follow (const Job *job, Outcome *outcome, GError **error)
{
  g_autoptr (GstElement) pipeline = pipeline_for (job, error);
  if (!pipeline)
    return FALSE;
  g_autoptr (GstElement) track = gst_bin_get_by_name (GST_BIN (pipeline), "track");
  g_autoptr (GstElement) window = gst_bin_get_by_name (GST_BIN (pipeline), "window");
  const gboolean graded = job->scene && !job->target;
  *outcome = (Outcome){ .report = report_new (graded ? job->scene : NULL) };
  Run run = { .job = job, .outcome = outcome, .track = track, .window = window };
  if (job->target) {
    set_target (&run, job->target, job->why);
  } else if (job->scene) {
    const GstVideoRectangle first = scene_draw (job->scene, 0, NULL).box;
    const Box box = { first.x, first.y, first.w, first.h };
    set_target (&run, &box, ", who walks there");
  }

  play (&run, pipeline, error);
  check_video (&run, error);
  if (!run.failed && graded && outcome->report.frames > 0)
    report_print_grades (&outcome->report);
  outcome->width = run.search.width;
  outcome->height = run.search.height;
  search_forget (&run.search);
  g_free (run.missing);
  return !run.failed;
}
