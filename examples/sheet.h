/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A contact sheet: nine frames of a video in one picture.
 */
#pragma once

#include <gst/gst.h>

/* Writes frames from `start` on, evenly spread, of a WebM file of `frames` frames. */
gboolean write_sheet (const char *video, const char *png, guint64 start, guint64 frames,
                      GError **error);
