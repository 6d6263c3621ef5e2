/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "search.h"

#include <string.h>

#define GLANCE_EVERY (250 * GST_MSECOND)
#define PATIENCE (2 * GST_SECOND) /* then the centre is taken */

Box centre_of (gint width, gint height)
{
  return (Box){ width * 3 / 8, height * 3 / 8, MAX (1, width / 4), MAX (1, height / 4) };
}

void search_forget (Search *search)
{
  for (int i = 0; i < GLANCES; i++)
    g_clear_pointer (&search->glances[i], gst_integral_histogram_unref);
}

const char *search (Search *s, const GstIntegralHistogramMeta *meta, GstClockTime time, Box *box,
                    GError **error)
{
  if (s->width != (gint) meta->width || s->height != (gint) meta->height)
    search_forget (s);
  s->width = meta->width;
  s->height = meta->height;
  if (time < s->next)
    return NULL;
  s->next = time + GLANCE_EVERY;
  g_clear_pointer (&s->glances[GLANCES - 1], gst_integral_histogram_unref);
  memmove (s->glances + 1, s->glances, (GLANCES - 1) * sizeof *s->glances);
  s->glances[0] = gst_integral_histogram_ref (meta->histogram);

  g_autoptr (GError) problem = NULL;
  if (s->glances[GLANCES - 1] && find_motion (s->glances, box, &problem))
    return ", which moves";
  if (problem) {
    g_propagate_error (error, g_steal_pointer (&problem));
    return NULL;
  }
  if (time < PATIENCE)
    return NULL;
  *box = centre_of (s->width, s->height);
  return ", the centre, as nothing moves";
}
