/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * trackdemo: follows a target in a video, and shows it in a window. If there is no display, it
 * writes a video file and a contact sheet instead.
 *
 *   trackdemo [--target X,Y,WIDTH,HEIGHT] [--feature NICK] [--output FOLDER] [--frames N] INPUT
 *
 * The input is a FILE, a URI, /dev/videoN or --test, a drawn street (scene.h). In the street the
 * fragments tracker follows the walker, and notices that a column hides the walker wholly. The
 * scene knows where the walker is, so the demo prints how well the tracker did.
 * For another input without a target, it finds something that moves, by the histograms of small
 * cells in the first frames.
 */
#include <stdio.h>
#include <string.h>

#include <gst/integralhist/gstintegralhist.h>

#include "follow.h"
#include "interrupt.h"
#include "pipeline.h"
#include "sheet.h"

#define UNSET G_MININT

static gboolean is_feature (const char *nick)
{
  GEnumClass *features = g_type_class_ref (GST_TYPE_INTEGRAL_HISTOGRAM_FEATURE);
  const gboolean is_one = g_enum_get_value_by_nick (features, nick) != NULL;
  g_type_class_unref (features);
  return is_one;
}

static gboolean parse_box (const char *text, Box *box)
{
  int end = -1;
  return sscanf (text, "%d,%d,%d,%d%n", &box->x, &box->y, &box->width, &box->height, &end) == 4
         && end == (int) strlen (text) && box->width > 0 && box->height > 0;
}

static double seconds_of (GstClockTime time)
{
  return (double) time / GST_SECOND;
}

/* Follows in a window. */
static gboolean show (const Job *job, GError **error)
{
  Outcome outcome;
  g_print ("In the window, draw a box with the mouse around something to follow it, and click on "
           "a box to drop it.\n");
  if (!follow (job, &outcome, error))
    return FALSE;
  if (outcome.frames > 0)
    report_print_result (&outcome.report);
  return TRUE;
}

/* Follows in a video file, and makes a contact sheet of it. */
static gboolean record (Job job, const char *folder, GError **error)
{
  g_autofree char *absolute = g_canonicalize_filename (folder ? folder : ".", NULL);
  g_autofree char *video = g_build_filename (absolute, "trackdemo.webm", NULL);
  g_autofree char *sheet = g_build_filename (absolute, "trackdemo.png", NULL);
  Outcome outcome;
  job.video = video;
  if (!follow (&job, &outcome, error))
    return FALSE;
  if (!outcome.has_target && outcome.frames > 0) {
    const Box centre = centre_of (outcome.width, outcome.height);
    job.target = &centre;
    job.why = ", the centre, as this is too short to see what moves";
    if (!follow (&job, &outcome, error))
      return FALSE;
  }
  if (outcome.frames == 0)
    return TRUE;
  if (!write_sheet (video, sheet, outcome.start, outcome.frames, error))
    return FALSE;
  g_print ("\nVideo:         %s\n", video);
  if (outcome.is_cut && GST_CLOCK_TIME_IS_VALID (outcome.length))
    g_print ("               the first %.4g s of %.4g s\n", seconds_of (outcome.cut),
             seconds_of (outcome.length));
  g_print ("Contact sheet: %s\n", sheet);
  report_print_result (&outcome.report);
  return TRUE;
}

static gboolean demonstrate (const Job *job, const char *folder, GError **error)
{
  GstRegistry *registry = gst_registry_get ();
  if (gst_registry_check_feature_version (registry, "cudaintegralhist", 0, 0, 0)
      && !gst_registry_check_feature_version (registry, "integralhistoverlay", 0, 0, 0)) {
    g_set_error (error, GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN,
                 "the element integralhistoverlay is missing, because the plugin was built without "
                 "cairo. Install libcairo2-dev, and build "
                 "again: meson configure build -Doverlay=enabled && meson compile -C build");
    return FALSE;
  }
  if (job->feature)
    g_print ("Tracking with " FRAGMENTS_TRACKER " feature=%s\n", job->feature);
  else
    g_print ("Tracking with " TRACKER "\n");
  return !folder && window_works () ? show (job, error) : record (*job, folder, error);
}

/* Writes the scene without tracks, to try other pipelines on. */
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
  g_autofree char *target = NULL, *feature = NULL, *folder = NULL, *clip = NULL;
  g_auto (GStrv) inputs = NULL;
  const GOptionEntry entries[] = {
    { "target", 't', 0, G_OPTION_ARG_STRING, &target,
      "Box to follow from the first frame on (else what moves first)", "X,Y,WIDTH,HEIGHT" },
    { "feature", 0, 0, G_OPTION_ARG_STRING, &feature,
      "Follow it by the fragments tracker and this feature, such as hue-saturation; see "
      "gst-inspect-1.0 cudaintegralhist",
      "NICK" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &folder,
      "Write files there, also with a display (the current folder)", "FOLDER" },
    { "frames", 'n', 0, G_OPTION_ARG_INT, &frames,
      "Stop after N frames, 0 for never (150 of a camera, else 0); a file has ten seconds at most",
      "N" },
    { "test", 0, 0, G_OPTION_ARG_NONE, &test, "Take a drawn street with a walker; 150 frames",
      NULL },
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
    g_printerr ("trackdemo: --target %s is not a box: give X,Y,WIDTH,HEIGHT in pixels\n", target);
    return 2;
  }
  if (feature && !is_feature (feature)) {
    g_printerr (
        "trackdemo: --feature %s is not a feature: use one of gst-inspect-1.0 cudaintegralhist\n",
        feature);
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

  count_interrupts ();
  Scene *scene = test ? scene_new () : NULL;
  Job job = { .input = input,
              .scene = scene,
              .target = target ? &box : NULL,
              .why = "",
              .feature = feature ? feature
                         : test  ? "luma"
                                 : NULL,
              .limit = frames };
  const gboolean ok = demonstrate (&job, folder, &error);
  if (!ok)
    g_printerr ("trackdemo: %s: %s\n", test ? "the street" : input, error->message);
  if (scene)
    scene_free (scene);
  if (ferror (stdout))
    g_printerr ("trackdemo: stdout takes no more text: look for a full disk\n");
  return ok && !ferror (stdout) ? 0 : 1;
}
