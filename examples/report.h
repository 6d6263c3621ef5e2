/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Collects what the tracker says, and compares it with the scene, which knows where the walker is.
 */
#pragma once

#include <gst/gst.h>

#include "scene.h"

/* Frames in which the walker is seen, or hidden. */
typedef struct {
  guint frames, followed;
  double overlap; /* the sum of all frames */
} Grade;

typedef struct {
  const Scene *scene; /* that is graded, or NULL */
  guint frames;       /* with a target */
  guint targets, lost, vague;
  Grade seen, hidden;
  gint hidden_until, found; /* frames: the last one hidden, and when followed again; -1 for none */
} Report;

/* Starts a report; the scene is NULL where nobody knows what is right. */
Report report_new (const Scene *scene);

/* Takes a message of the tracker, of one frame. */
void report_take (Report *report, const GstStructure *message);

/* Prints the table of a scene. */
void report_print_grades (const Report *report);

/* Prints the last line: of the scene what is true, of anything else what is known. */
void report_print_result (const Report *report);
