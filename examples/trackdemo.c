/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * trackdemo: follows something in a video, and shows it: in a window where there is a display, else
 * in a video file and a contact sheet.
 *
 *   trackdemo [--target X,Y,WIDTH,HEIGHT] [--output FOLDER] [--frames N] INPUT
 *
 * The input is a FILE, a URI, /dev/videoN or --test, a street that is drawn (scene.h). In the
 * street it follows the walker, and says how well, as the scene knows where the walker is.
 * Elsewhere and without a target it finds something that moves, by the histograms of small cells in
 * the first frames.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/video/videooverlay.h>

#include "motion.h"
#include "scene.h"

/* A larger search range than by default, as people at a few frames a second are faster than that.
 */
#define TRACKER "integralhisttrack search-range=12 update-rate=0.1"
#define UNSET G_MININT
#define LONGEST (10 * GST_SECOND) /* of what goes to a file */
#define TO_FILE \
  "vp8enc deadline=1 cpu-used=16 threads=1 end-usage=cq cq-level=24 target-bitrate=4000000 " \
  "keyframe-max-dist=60 ! webmmux ! filesink name=file"

/* looking for what moves */
#define GLANCE_EVERY (250 * GST_MSECOND)
#define PATIENCE (2 * GST_SECOND) /* then it is the centre */

/* grading */
#define OVERLAP 0.5 /* of the true box, from which on it counts as followed */
#define HIDDEN 0.5  /* the share from which on the walker counts as hidden */

/* the contact sheet */
#define SHEET_WIDTH 1280
#define TILES 9
#define GAP 4

/* Frames in which the walker is seen, or hidden. */
typedef struct {
  guint frames, followed;
  double overlap; /* the sum of all frames */
} Grade;

/* What the messages of the tracker say. */
typedef struct {
  guint frames; /* with a target */
  guint targets, lost, vague;
  Grade seen, hidden;
  gint hidden_until, found; /* frames: the last one hidden, and when followed again; -1 for none */
} Report;

typedef struct {
  GstElement *track;
  Scene *scene; /* that is graded, or NULL */
  Report report;
  GstClockTime longest; /* or GST_CLOCK_TIME_NONE */
  guint64 limit;        /* of frames, 0 for none */

  /* of the streaming thread, until it has ended */
  guint64 frames, start; /* so far; the first with a target */
  GstClockTime begin;    /* of the first frame */
  gint width, height;
  gboolean has_target;
  GstIntegralHistogram *glances[GLANCES]; /* the newest first */
  GstClockTime next_glance;
} Demo;

static volatile sig_atomic_t interrupted;

static void on_interrupt (int signum)
{
  (void) signum;
  interrupted++;
}

/* Choosing the target */

static void set_target (Demo *demo, const Box *box, const char *why)
{
  g_autofree char *text = g_strdup_printf ("%d,%d,%d,%d", box->x, box->y, box->width, box->height);
  g_print ("Following %s%s; from frame %" G_GUINT64_FORMAT "\n", text, why, demo->frames);
  g_object_set (demo->track, "targets", text, NULL);
  demo->has_target = TRUE;
  demo->start = demo->frames;
}

static Box centre_of (gint width, gint height)
{
  return (Box){ width * 3 / 8, height * 3 / 8, MAX (1, width / 4), MAX (1, height / 4) };
}

static void forget_glances (Demo *demo)
{
  for (int i = 0; i < GLANCES; i++)
    g_clear_pointer (&demo->glances[i], gst_integral_histogram_unref);
}

static void choose_target (Demo *demo, GstIntegralHistogram *histogram, GstClockTime time)
{
  g_autoptr (GError) error = NULL;
  Box box;
  if (time < demo->next_glance)
    return;
  demo->next_glance = time + GLANCE_EVERY;
  g_clear_pointer (&demo->glances[GLANCES - 1], gst_integral_histogram_unref);
  memmove (demo->glances + 1, demo->glances, (GLANCES - 1) * sizeof *demo->glances);
  demo->glances[0] = gst_integral_histogram_ref (histogram);

  if (demo->glances[GLANCES - 1] && find_motion (demo->glances, &box, &error)) {
    set_target (demo, &box, ", which moves");
  } else if (error) {
    GST_ELEMENT_ERROR (demo->track, STREAM, FAILED, ("%s", error->message), (NULL));
  } else if (time >= PATIENCE) {
    box = centre_of (demo->width, demo->height);
    set_target (demo, &box, ", the centre, as nothing moves");
  }
  if (demo->has_target)
    forget_glances (demo);
}

/* Every frame on its way to the tracker. */
static GstPadProbeReturn on_frame (GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Demo *demo = data;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  GstIntegralHistogramMeta *meta = gst_buffer_get_integral_histogram_meta (buffer);
  GstClockTime time =
      GST_BUFFER_PTS_IS_VALID (buffer) ? GST_BUFFER_PTS (buffer) : demo->frames * GST_SECOND / 30;
  if (demo->frames == 0)
    demo->begin = time;
  time -= MIN (time, demo->begin);

  if ((demo->limit && demo->frames == demo->limit) || time >= demo->longest) {
    gst_pad_send_event (pad, gst_event_new_eos ());
    return GST_PAD_PROBE_DROP;
  }
  if (meta) {
    if (demo->width != (gint) meta->width || demo->height != (gint) meta->height)
      forget_glances (demo);
    demo->width = meta->width;
    demo->height = meta->height;
    if (!demo->has_target)
      choose_target (demo, meta->histogram, time);
  }
  demo->frames++;
  return GST_PAD_PROBE_OK;
}

/* Grading */

/* Intersection over union. */
static double overlap (const GstVideoRectangle *a, const GstVideoRectangle *b)
{
  const gint width = MIN (a->x + a->w, b->x + b->w) - MAX (a->x, b->x),
             height = MIN (a->y + a->h, b->y + b->h) - MAX (a->y, b->y);
  const double shared = width > 0 && height > 0 ? (double) width * height : 0;
  return shared / ((double) a->w * a->h + (double) b->w * b->h - shared);
}

/* A lost target has no box, so it overlaps with nothing. */
static void grade (Report *report, const Scene *scene, guint frame, const GstVideoRectangle *box)
{
  const SceneTruth truth = scene_draw (scene, frame, NULL);
  const double shared = box ? overlap (box, &truth.box) : 0;
  const gboolean is_hidden = truth.hidden >= HIDDEN;
  Grade *part = is_hidden ? &report->hidden : &report->seen;
  part->frames++;
  part->followed += shared >= OVERLAP;
  part->overlap += shared;
  if (is_hidden) {
    report->hidden_until = frame;
    report->found = -1;
  } else if (report->hidden_until >= 0 && report->found < 0 && shared >= OVERLAP) {
    report->found = frame;
  }
}

/* Takes a message of the tracker, of one frame. */
static void take_message (Report *report, const Scene *scene, const GstStructure *message)
{
  const GValue *tracks = gst_structure_get_value (message, "tracks");
  gboolean is_lost = FALSE, is_vague = FALSE;
  for (guint i = 0; i < gst_value_array_get_size (tracks); i++) {
    const GstStructure *track = gst_value_get_structure (gst_value_array_get_value (tracks, i));
    GstVideoRectangle box;
    guint id;
    double confidence;
    gboolean lost;
    guint64 time;
    if (!gst_structure_get (track, "id", G_TYPE_UINT, &id, "x", G_TYPE_INT, &box.x, "y", G_TYPE_INT,
                            &box.y, "width", G_TYPE_INT, &box.w, "height", G_TYPE_INT, &box.h,
                            "confidence", G_TYPE_DOUBLE, &confidence, "lost", G_TYPE_BOOLEAN, &lost,
                            NULL))
      continue;
    report->targets = MAX (report->targets, id);
    is_lost |= lost;
    is_vague |= !lost && confidence <= 0;
    if (scene && id == 1 && gst_structure_get_uint64 (message, "timestamp", &time))
      grade (report, scene, (time * SCENE_RATE + GST_SECOND / 2) / GST_SECOND, lost ? NULL : &box);
  }
  report->frames++;
  report->lost += is_lost;
  report->vague += is_vague;
}

static void print_grade (const char *name, const Grade *part)
{
  g_print ("  %-22s %8u %10u", name, part->frames, part->followed);
  if (part->frames > 0)
    g_print (" %14.2f\n", part->overlap / part->frames);
  else
    g_print (" %14s\n", "-");
}

static void print_grades (const Report *report)
{
  g_print ("\nThe tracker's boxes against the true ones, which the scene knows:\n\n"
           "  the walker is            frames   followed   mean overlap\n");
  print_grade ("seen", &report->seen);
  print_grade ("half or more hidden", &report->hidden);
  g_print ("\nOverlap is intersection over union; followed is %.1f or more of it.\n", OVERLAP);
  g_print ("The tracker reported the walker as lost in %u frame%s.\n", report->lost,
           report->lost == 1 ? "" : "s");
  if (report->found >= 0)
    g_print ("Hidden until frame %d, the walker was found again in frame %d.\n",
             report->hidden_until, report->found);
}

/* The last line: of the scene what is true, of anything else what is known. */
static void print_result (const Demo *demo)
{
  const Report *r = &demo->report;
  if (demo->scene && r->seen.frames > 0) {
    g_print ("The walker was followed in %u of the %u frames in which it was seen; mean overlap "
             "%.2f.\n",
             r->seen.followed, r->seen.frames, r->seen.overlap / r->seen.frames);
    return;
  }
  g_print ("%u frame%s with %u target%s; the tracker reported one as lost in %u", r->frames,
           r->frames == 1 ? "" : "s", r->targets, r->targets == 1 ? "" : "s", r->lost);
  if (r->vague > 0)
    g_print (",\nand could not tell one from what is around it in %u", r->vague);
  g_print (".\nWhether its boxes are right, only you can see.\n");
}

/* The pipeline */

/* Draws the next frame when the pipeline wants one. */
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

static GstElement *make_pipeline (const char *input, Scene *scene, const char *rest, GError **error)
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

/* autovideosink swallows the frames where no window can be opened, so that must be tried. Of its
 * sinks these two open none but take the whole screen. */
static gboolean window_works (void)
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

/* Runs until the end, an error, Ctrl-C, which ends files properly, or until the window is closed.
 */
static gboolean run (GstElement *pipeline, Demo *demo, GError **error)
{
  g_autoptr (GstElement) window = gst_bin_get_by_name (GST_BIN (pipeline), "window");
  g_autoptr (GstPad) pad = gst_element_get_static_pad (demo->track, "sink");
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GTimer) timer = g_timer_new ();
  g_autofree char *missing = NULL;
  const gboolean on_screen = isatty (STDOUT_FILENO);
  gboolean ok = TRUE, ended = FALSE, ending = FALSE, no_video = FALSE;

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, demo, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (ok && !ended && interrupted < 2) {
    g_autoptr (GstMessage) message = gst_bus_timed_pop_filtered (
        bus, 100 * GST_MSECOND,
        (GstMessageType) (GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_ELEMENT));
    if (interrupted && !ending) {
      ending = TRUE;
      ended = demo->frames == 0 || !gst_pad_send_event (pad, gst_event_new_eos ());
    }
    if (on_screen)
      g_print ("\r%u frames, %.0f s ", demo->report.frames, g_timer_elapsed (timer, NULL));
    if (!message)
      continue;
    const GstStructure *structure = gst_message_get_structure (message);
    switch (GST_MESSAGE_TYPE (message)) {
      case GST_MESSAGE_EOS: ended = TRUE; break;
      case GST_MESSAGE_ERROR: {
        const GstStructure *details = NULL;
        gint flow = GST_FLOW_OK;
        gst_message_parse_error (message, error, NULL);
        gst_message_parse_error_details (message, &details);
        if (details)
          gst_structure_get_int (details, "flow-return", &flow);
        if (window && gst_object_has_as_ancestor (GST_MESSAGE_SRC (message), GST_OBJECT (window))
            && g_error_matches (*error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND)) {
          g_clear_error (error); /* so they say that it was closed */
          ended = TRUE;
        } else {
          no_video = flow == GST_FLOW_NOT_LINKED; /* nothing that was found could be linked */
          ok = FALSE;
        }
        break;
      }
      default:
        if (gst_structure_has_name (structure, "integral-histogram-track"))
          take_message (&demo->report, demo->scene, structure);
        else if (gst_structure_has_name (structure, "missing-plugin") && !missing)
          missing = g_strdup (gst_structure_get_string (structure, "name"));
    }
  }
  const double seconds = g_timer_elapsed (timer, NULL);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  if (on_screen)
    g_print ("\r\033[K");

  if (demo->frames == 0 && (ok ? !interrupted : no_video || missing)) {
    g_clear_error (error);
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, "there is no video in it%s%s",
                 missing ? " that can be decoded; missing is: " : "", missing ? missing : "");
    ok = FALSE;
  }
  if (ok && demo->has_target && demo->frames > 0)
    g_print ("%" G_GUINT64_FORMAT " frame%s in %.1f s\n", demo->frames,
             demo->frames == 1 ? "" : "s", seconds);
  if (ok && demo->scene && demo->report.frames > 0)
    print_grades (&demo->report);
  return ok;
}

/* The contact sheet */

/* Copies a tile to its place; its rows and the sheet's have three bytes a pixel. */
static gboolean add_tile (GByteArray *sheet, gint columns, gint rows, gint tile, GstSample *sample,
                          GstVideoInfo *info)
{
  GstVideoFrame frame;
  if (!gst_video_info_from_caps (info, gst_sample_get_caps (sample))
      || !gst_video_frame_map (&frame, info, gst_sample_get_buffer (sample), GST_MAP_READ))
    return FALSE;
  const gsize pitch = 3 * (gsize) SHEET_WIDTH;
  const gint height = info->height;
  if (sheet->len == 0) {
    g_byte_array_set_size (sheet, pitch * (rows * (height + GAP) + GAP));
    memset (sheet->data, 255, sheet->len);
  }
  guint8 *to = sheet->data + (tile / columns * (height + GAP) + GAP) * pitch
               + 3 * (tile % columns * (info->width + GAP) + GAP);
  for (gint y = 0; y < height; y++, to += pitch)
    memcpy (to,
            (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, 0)
                + y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0),
            3 * info->width);
  gst_video_frame_unmap (&frame);
  return TRUE;
}

/* Frames from `start` on, evenly spread. */
static gboolean write_sheet (const char *video, const char *png, guint64 start, guint64 frames,
                             GError **error)
{
  const gint tiles = MIN (TILES, frames - start), columns = ceil (sqrt (tiles)),
             rows = (tiles + columns - 1) / columns;
  g_autofree char *launch =
      g_strdup_printf ("filesrc name=source ! matroskademux ! vp8dec ! videoconvert ! videoscale ! "
                       "video/x-raw,format=RGB,width=%d,pixel-aspect-ratio=1/1 ! appsink name=sink "
                       "sync=false max-buffers=4",
                       (SHEET_WIDTH - (columns + 1) * GAP) / columns);
  g_autoptr (GstElement) pipeline = gst_parse_launch (launch, error);
  if (!pipeline)
    return FALSE;
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_object_set (source, "location", video, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);

  g_autoptr (GByteArray) sheet = g_byte_array_new ();
  GstVideoInfo info;
  gint tile = 0;
  for (guint64 i = 0; tile < tiles && interrupted < 2; i++) {
    g_autoptr (GstSample) sample =
        gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 10 * GST_SECOND);
    if (!sample)
      break;
    if (i == start + (2 * tile + 1) * (frames - start) / (2 * tiles)
        && add_tile (sheet, columns, rows, tile, sample, &info))
      tile++;
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  if (tile < tiles) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE, "%s could not be read back",
                 video);
    return FALSE;
  }

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGB, SHEET_WIDTH,
                             sheet->len / (3 * SHEET_WIDTH));
  g_autoptr (GstCaps) raw = gst_video_info_to_caps (&info);
  g_autoptr (GstCaps) wanted = gst_caps_new_empty_simple ("image/png");
  g_autoptr (GstBuffer) buffer = gst_buffer_new_memdup (sheet->data, sheet->len);
  g_autoptr (GstSample) sample = gst_sample_new (buffer, raw, NULL, NULL);
  g_autoptr (GstSample) image = gst_video_convert_sample (sample, wanted, 30 * GST_SECOND, error);
  GstMapInfo map;
  if (!image || !gst_buffer_map (gst_sample_get_buffer (image), &map, GST_MAP_READ))
    return FALSE;
  const gboolean ok = g_file_set_contents (png, (const char *) map.data, map.size, error);
  gst_buffer_unmap (gst_sample_get_buffer (image), &map);
  return ok;
}

/* All of it */

static gboolean parse_box (const char *text, Box *box)
{
  int end = -1;
  return sscanf (text, "%d,%d,%d,%d%n", &box->x, &box->y, &box->width, &box->height, &end) == 4
         && end == (int) strlen (text) && box->width > 0 && box->height > 0;
}

static gboolean show (const char *input, Scene *scene, const Box *target, const char *why,
                      const char *video, guint64 limit, Demo *demo, GError **error)
{
  const char *sink = video ? "queue max-size-buffers=2 ! videoconvert ! " TO_FILE
                           : "videoconvert ! autovideosink name=window";
  g_autofree char *rest = g_strdup_printf ("cudaintegralhist bins=%d ! " TRACKER " name=track ! "
                                           "integralhistoverlay line-width=3 ! %s",
                                           BINS, sink);
  g_autoptr (GstElement) pipeline = make_pipeline (input, scene, rest, error);
  if (!pipeline)
    return FALSE;
  g_autoptr (GstElement) file = gst_bin_get_by_name (GST_BIN (pipeline), "file");
  g_autoptr (GstElement) track = gst_bin_get_by_name (GST_BIN (pipeline), "track");
  if (video)
    g_object_set (file, "location", video, NULL);
  *demo = (Demo){ .track = track,
                  .limit = limit,
                  .longest = video ? LONGEST : GST_CLOCK_TIME_NONE,
                  .report = { .hidden_until = -1, .found = -1 } };
  if (target) {
    set_target (demo, target, why);
  } else if (scene) {
    const GstVideoRectangle first = scene_draw (scene, 0, NULL).box;
    const Box box = { first.x, first.y, first.w, first.h };
    demo->scene = scene;
    set_target (demo, &box, ", who walks there");
  }
  const gboolean ok = run (pipeline, demo, error);
  forget_glances (demo);
  return ok;
}

static gboolean demonstrate (const char *input, Scene *scene, const Box *target, const char *folder,
                             guint64 limit, GError **error)
{
  Demo demo;
  GstRegistry *registry = gst_registry_get ();
  if (gst_registry_check_feature_version (registry, "cudaintegralhist", 0, 0, 0)
      && !gst_registry_check_feature_version (registry, "integralhistoverlay", 0, 0, 0)) {
    g_set_error (error, GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN,
                 "the element integralhistoverlay is missing, as the plugin was built without "
                 "cairo. Install libcairo2-dev, and build "
                 "again: meson configure build -Doverlay=enabled && meson compile -C build");
    return FALSE;
  }
  g_print ("Tracking with " TRACKER "\n");
  if (!folder && window_works ()) {
    g_print ("In the window, draw a box with the mouse around something to follow it, and click on "
             "a box to drop it.\n");
    if (!show (input, scene, target, "", NULL, limit, &demo, error))
      return FALSE;
    if (demo.frames > 0)
      print_result (&demo);
    return TRUE;
  }

  g_autofree char *absolute = g_canonicalize_filename (folder ? folder : ".", NULL);
  g_autofree char *video = g_build_filename (absolute, "trackdemo.webm", NULL);
  g_autofree char *sheet = g_build_filename (absolute, "trackdemo.png", NULL);
  if (!show (input, scene, target, "", video, limit, &demo, error))
    return FALSE;
  if (!demo.has_target && demo.frames > 0) {
    const Box centre = centre_of (demo.width, demo.height);
    if (!show (input, scene, &centre, ", the centre, as this is too short to see what moves", video,
               limit, &demo, error))
      return FALSE;
  }
  if (demo.frames == 0)
    return TRUE;
  if (!write_sheet (video, sheet, demo.start, demo.frames, error))
    return FALSE;
  g_print ("\nVideo:         %s\nContact sheet: %s\n", video, sheet);
  print_result (&demo);
  return TRUE;
}

/* The scene as it is, to try other pipelines on. */
static gboolean write_scene (Scene *scene, const char *path, GError **error)
{
  g_autoptr (GstElement) pipeline = make_pipeline (NULL, scene, TO_FILE, error);
  if (!pipeline)
    return FALSE;
  g_autoptr (GstElement) file = gst_bin_get_by_name (GST_BIN (pipeline), "file");
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_object_set (file, "location", path, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  g_autoptr (GstMessage) message = gst_bus_timed_pop_filtered (
      bus, GST_CLOCK_TIME_NONE, (GstMessageType) (GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  gst_element_set_state (pipeline, GST_STATE_NULL);
  const gboolean ok = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
  if (ok)
    g_print ("%d frames: %s\n", SCENE_FRAMES, path);
  else
    gst_message_parse_error (message, error, NULL);
  return ok;
}

int main (int argc, char **argv)
{
  int frames = UNSET;
  gboolean test = FALSE;
  g_autofree char *target = NULL, *folder = NULL, *clip = NULL;
  g_auto (GStrv) inputs = NULL;
  const GOptionEntry entries[] = {
    { "target", 't', 0, G_OPTION_ARG_STRING, &target,
      "What to follow from the first frame on (what moves first)", "X,Y,WIDTH,HEIGHT" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &folder,
      "Write files there, also where there is a display (the current folder)", "FOLDER" },
    { "frames", 'n', 0, G_OPTION_ARG_INT, &frames,
      "Stop after N frames, 0 for never (150 of a camera, else 0); a file has ten seconds at most",
      "N" },
    { "test", 0, 0, G_OPTION_ARG_NONE, &test,
      "Take a street that is drawn, with somebody who walks there; 150 frames", NULL },
    { "write-test", 0, 0, G_OPTION_ARG_FILENAME, &clip,
      "Write the street as a video (WebM), to try other pipelines on, and do nothing else",
      "FILE" },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &inputs, NULL,
      "FILE | URI | /dev/videoN" },
    G_OPTION_ENTRY_NULL,
  };

  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_group (context, gst_init_get_option_group ());
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    g_printerr ("trackdemo: %s\n", error->message);
    return 2;
  }
  if (clip) {
    Scene *scene = scene_new ();
    const gboolean ok = write_scene (scene, clip, &error);
    scene_free (scene);
    if (!ok)
      g_printerr ("trackdemo: %s: %s\n", clip, error->message);
    return ok ? 0 : 1;
  }
  Box box;
  if ((inputs ? g_strv_length (inputs) : 0) + (test ? 1 : 0) != 1) {
    g_printerr ("trackdemo: give one FILE, URI, /dev/videoN or --test; see trackdemo --help\n");
    return 2;
  }
  if (target && !parse_box (target, &box)) {
    g_printerr ("trackdemo: --target %s is no box: give X,Y,WIDTH,HEIGHT in pixels\n", target);
    return 2;
  }
  if (frames < 0 && frames != UNSET) {
    g_printerr ("trackdemo: --frames %d is out of range: give 1 or more, or 0 for no limit\n",
                frames);
    return 2;
  }
  const char *input = test ? NULL : inputs[0];
  if (frames == UNSET)
    frames = !test && g_str_has_prefix (input, "/dev/video") ? 150 : 0;

  signal (SIGINT, on_interrupt);
  Scene *scene = test ? scene_new () : NULL;
  const gboolean ok = demonstrate (input, scene, target ? &box : NULL, folder, frames, &error);
  if (!ok)
    g_printerr ("trackdemo: %s: %s\n", test ? "the street" : input, error->message);
  if (scene)
    scene_free (scene);
  return ok ? 0 : 1;
}
