/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Finds what moves in front of a camera that may pan, by the histograms of small cells in a few
 * frames, some time apart.
 */
#pragma once

#include <gst/integralhist/gstintegralhist.h>

#define BINS 16   /* of the histograms */
#define GLANCES 6 /* frames that are compared */

typedef struct {
  gint x, y, width, height;
} Box;

/* Finds the box with the most change from all older glances: the place where a thing is, and not
 * where it was. The glances have BINS bins, and the newest comes first. Returns FALSE if nothing
 * moves, and also with an error. */
gboolean find_motion (GstIntegralHistogram *const *glances, Box *box, GError **error);
