/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Collects the tracker's messages, and compares them with the scene, which knows the walker's
 * place.
 */
#pragma once

#include <gst/gst.h>

#include "scene.h"

/* Frames in which the walker is seen, or hidden. */
typedef struct {
  guint frames, followed;
  double overlap; /* sum over all frames */
} Grade;

typedef struct {
  const Scene *scene; /* to grade the tracker with, or NULL */
  guint frames;       /* with a target */
  guint targets, lost, vague;
  Grade seen, hidden;
  gint hidden_until, found; /* last frame hidden, first frame followed again; or -1 */
} Report;

/* Starts a report. The scene is NULL if the right answer is not known. */
Report report_new (const Scene *scene);

/* Takes the tracker's message about one frame. */
void report_take (Report *report, const GstStructure *message);

/* Prints the table of a scene. */
void report_print_grades (const Report *report);

/* Prints the last line: how well the scene was tracked, or what is known about another input. */
void report_print_result (const Report *report);
