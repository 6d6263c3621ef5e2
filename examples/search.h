/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Looks for something to follow in the first frames of a video: what moves, or the centre.
 */
#pragma once

#include "motion.h"

/* Keeps the frames seen so far; all zero at first. */
typedef struct {
  GstIntegralHistogram *glances[GLANCES]; /* the newest first */
  GstClockTime next;                      /* when to glance again */
  gint width, height;                     /* of the last frame */
} Search;

/* Looks at a frame, `time` after the first one. Returns why the box is the target. Returns NULL if
 * nothing was found yet, and also with an error. */
const char *search (Search *search, const GstIntegralHistogramMeta *meta, GstClockTime time,
                    Box *box, GError **error);

void search_forget (Search *search);

Box centre_of (gint width, gint height);
