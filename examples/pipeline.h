/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ends of a pipeline: where pictures come from, and where they can go.
 */
#pragma once

#include <gst/gst.h>

#include "scene.h"

/* Ends a launch line: a WebM file, whose location is set at the element `file`. */
#define TO_FILE \
  "vp8enc deadline=1 cpu-used=16 threads=1 end-usage=cq cq-level=24 target-bitrate=4000000 " \
  "keyframe-max-dist=60 ! webmmux ! filesink name=file"

/* Makes a pipeline from a FILE, a URI or /dev/videoN, or from the scene if the input is NULL.
 * `rest` is the launch line after the source. */
GstElement *make_pipeline (const char *input, Scene *scene, const char *rest, GError **error);

/* Tells whether autovideosink opens a window. */
gboolean window_works (void);
