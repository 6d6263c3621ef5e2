/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report.h"

#define OVERLAP 0.5 /* with the true box; from this on the walker counts as followed */
#define HIDDEN 0.5  /* share of the walker; from this on it counts as hidden */

Report report_new (const Scene *scene)
{
  return (Report){ .scene = scene, .hidden_until = -1, .found = -1 };
}

/* Returns intersection over union. */
static double overlap (const GstVideoRectangle *a, const GstVideoRectangle *b)
{
  const gint width = MIN (a->x + a->w, b->x + b->w) - MAX (a->x, b->x),
             height = MIN (a->y + a->h, b->y + b->h) - MAX (a->y, b->y);
  const double shared = width > 0 && height > 0 ? (double) width * height : 0;
  return shared / ((double) a->w * a->h + (double) b->w * b->h - shared);
}

/* A lost target has no box, so it overlaps with nothing. */
static void grade (Report *report, guint frame, const GstVideoRectangle *box)
{
  const SceneTruth truth = scene_draw (report->scene, frame, NULL);
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

void report_take (Report *report, const GstStructure *message)
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
    if (report->scene && id == 1 && gst_structure_get_uint64 (message, "timestamp", &time))
      grade (report, (time * SCENE_RATE + GST_SECOND / 2) / GST_SECOND, lost ? NULL : &box);
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

void report_print_grades (const Report *report)
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

void report_print_result (const Report *r)
{
  if (r->scene && r->seen.frames > 0) {
    g_print ("The walker was followed in %u of the %u frames in which it was seen; mean overlap "
             "%.2f.\n",
             r->seen.followed, r->seen.frames, r->seen.overlap / r->seen.frames);
    return;
  }
  g_print ("%u frame%s with %u target%s; the tracker reported one as lost in %u", r->frames,
           r->frames == 1 ? "" : "s", r->targets, r->targets == 1 ? "" : "s", r->lost);
  if (r->vague > 0)
    g_print (",\nand could not tell one from what is around it in %u", r->vague);
  g_print (
      ".\nThe percentage above a box is how sure the tracker is that the box is on its target. "
      "It\ncompares looks, so it is high on a lookalike, too: whether the boxes are right, only "
      "you\ncan see.\n");
}
