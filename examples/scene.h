/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A drawn film: a person walks along a street, behind a lamp post, a parked car and an advertising
 * column, while the camera pans. The film is the same each time, and it knows where the walker is.
 */
#pragma once

#include <gst/video/gstvideosink.h> /* GstVideoRectangle */

#define SCENE_WIDTH 640
#define SCENE_HEIGHT 480
#define SCENE_RATE 30 /* frames a second */
#define SCENE_FRAMES 150

typedef struct _Scene Scene;

/* The truth about one frame. */
typedef struct {
  GstVideoRectangle box; /* around the walker; the size is the same in all frames */
  double hidden;         /* the share of the walker's pixels behind something, 0 to 1 */
} SceneTruth;

Scene *scene_new (void);
void scene_free (Scene *scene);

/* Draws a frame as BGRx, tightly packed, unless `pixels` is NULL; returns its truth. */
SceneTruth scene_draw (const Scene *scene, guint frame, guint8 *pixels);
