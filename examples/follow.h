/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Follows a target through a video, and shows it in a window or a file.
 */
#pragma once

#include "report.h"
#include "search.h"

#define TRACKER "cudatrackfeatures ! integralhisttrack"
/* Follows by histograms of one feature. The search range is larger than the default, because at a
 * few frames a second people move further than that. */
#define FRAGMENTS_TRACKER "integralhisttrack method=fragments search-range=12 update-rate=0.1"

/* Says what to follow. */
typedef struct {
  const char *input; /* FILE, URI or /dev/videoN, or NULL for the scene */
  Scene *scene;
  const Box *target;   /* or NULL: the walker of the scene, or what moves */
  const char *why;     /* why this is the target, printed after it */
  const char *feature; /* nick of the feature of fragments; NULL for no fragments */
  const char *video;   /* to write, of ten seconds at most; NULL for a window */
  guint64 limit;       /* of frames, 0 for none */
} Job;

/* Says what came of it. */
typedef struct {
  guint64 frames;
  gboolean has_target;
  guint64 start;      /* the first frame with a target */
  gint width, height; /* of the last frame */
  /* if the video ends before the input: where, and the input's length or GST_CLOCK_TIME_NONE */
  gboolean is_cut;
  GstClockTime cut, length;
  Report report;
} Outcome;

/* Returns at the end, at an error, at Ctrl-C, or when the window is closed. */
gboolean follow (const Job *job, Outcome *outcome, GError **error);
