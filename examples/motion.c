/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "motion.h"

#include <stdlib.h>
#include <string.h>

#define CELLS 96  /* along the shorter side */
#define LEAST 0.8 /* bins that the pixels of a moving thing change by, on average */
#define MOST 2.0  /* more counts no more, or a box would be about the brightest part of a thing */

/* The earth mover's distance of two histograms of equally many pixels: how far they are to be
 * moved, in bins. */
static gint64 distance (const guint32 *p, const guint32 *q)
{
  gint64 ahead = 0, moved = 0;
  for (int i = 0; i < BINS; i++) {
    ahead += (gint64) p[i] - q[i];
    moved += ABS (ahead);
  }
  return moved;
}

static guint32 *counts_of (GstIntegralHistogram *histogram, const GstIntegralHistogramGrid *grid,
                           GError **error)
{
  g_autofree guint32 *counts = g_new (guint32, (gsize) grid->columns * grid->rows * BINS);
  return gst_integral_histogram_grids (histogram, grid, 1, counts, error)
             ? g_steal_pointer (&counts)
             : NULL;
}

static int compare (const void *a, const void *b)
{
  const gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;
  return (x > y) - (x < y);
}

/* Finds how far the picture has moved along one axis: what makes most of the strips across that
 * axis alike. Returns FALSE with an error. */
static gboolean find_shift (GstIntegralHistogram *now, GstIntegralHistogram *then,
                            gboolean vertical, gint *shift, GError **error)
{
  const gint width = gst_integral_histogram_get_width (now),
             height = gst_integral_histogram_get_height (now);
  const GstIntegralHistogramGrid grid = {
    .window_width = vertical ? width : 1,
    .window_height = vertical ? 1 : height,
    .step_x = 1,
    .step_y = 1,
    .columns = vertical ? 1 : width,
    .rows = vertical ? height : 1,
  };
  const gint n = vertical ? height : width;
  g_autofree guint32 *a = counts_of (now, &grid, error),
                     *b = a ? counts_of (then, &grid, error) : NULL;
  if (!b)
    return FALSE;

  g_autofree gint64 *distances = g_new (gint64, n);
  gint64 least = G_MAXINT64;
  for (gint k = 0; k <= n / 6 * 2; k++) {
    const gint by = k % 2 ? (k + 1) / 2 : -k / 2; /* 0, 1, -1, 2, ... */
    const gint first = MAX (0, -by), count = n - ABS (by);
    for (gint i = 0; i < count; i++)
      distances[i] = distance (a + (gsize) (first + i) * BINS, b + (gsize) (first + i + by) * BINS);
    qsort (distances, count, sizeof *distances, compare);
    if (distances[count / 2] < least) {
      least = distances[count / 2];
      *shift = by;
    }
  }
  return TRUE;
}

/* Lowers `changes` to how much each cell of a grid differs from then, in bins, when the camera's
 * own movement is taken away. FALSE with an error. */
static gboolean find_changes (GstIntegralHistogram *now, GstIntegralHistogram *then,
                              const GstIntegralHistogramGrid *grid, double *changes, GError **error)
{
  const gint width = gst_integral_histogram_get_width (now),
             height = gst_integral_histogram_get_height (now), cell = grid->step_x;
  GstIntegralHistogramGrid moved = *grid;
  if (!find_shift (now, then, FALSE, &moved.x, error)
      || !find_shift (now, then, TRUE, &moved.y, error))
    return FALSE;
  g_autofree guint32 *a = counts_of (now, grid, error),
                     *b = a ? counts_of (then, &moved, error) : NULL;
  if (!b)
    return FALSE;

  for (gint j = 0; j < grid->rows; j++)
    for (gint i = 0; i < grid->columns; i++) {
      const gint x = moved.x + i * cell, y = moved.y + j * cell;
      const gsize at = (gsize) j * grid->columns + i;
      const gboolean was_outside = x < 0 || y < 0 || x + cell > width || y + cell > height;
      const double change =
          was_outside ? 0 : (double) distance (a + at * BINS, b + at * BINS) / (cell * cell);
      changes[at] = MIN (changes[at], change);
    }
  return TRUE;
}

gboolean find_motion (GstIntegralHistogram *const *glances, Box *box, GError **error)
{
  const gint width = gst_integral_histogram_get_width (glances[0]),
             height = gst_integral_histogram_get_height (glances[0]);
  const gint cell = MAX (4, MIN (width, height) / CELLS), columns = width / cell,
             rows = height / cell, pitch = columns + 1;
  const GstIntegralHistogramGrid grid = { .window_width = cell,
                                          .window_height = cell,
                                          .step_x = cell,
                                          .step_y = cell,
                                          .columns = columns,
                                          .rows = rows };
  if (columns < 2 || rows < 2)
    return FALSE;
  g_autofree double *changes = g_new (double, (gsize) columns *rows);
  for (gint i = 0; i < columns * rows; i++)
    changes[i] = MOST;
  for (int i = 1; i < GLANCES; i++)
    if (!find_changes (glances[0], glances[i], &grid, changes, error))
      return FALSE;

  /* sums over all cells above and to the left, as an integral histogram has them */
  g_autofree double *sums = g_new0 (double, (gsize) pitch *(rows + 1));
  for (gint y = 0; y < rows; y++)
    for (gint x = 0; x < columns; x++) {
      const gint at = (y + 1) * pitch + x + 1;
      sums[at] = changes[y * columns + x] + sums[at - 1] + sums[at - pitch] - sums[at - pitch - 1];
    }
  const double usual = LEAST + sums[rows * pitch + columns] / (columns * rows);
  double best = 0;
  for (gint h = 2; h <= rows / 2; h++)
    for (gint w = MAX (2, h / 4); w <= MIN (columns / 2, 4 * h); w++)
      for (gint y = 0; y + h <= rows; y++)
        for (gint x = 0; x + w <= columns; x++) {
          const double *top = sums + y * pitch + x, *bottom = top + h * pitch;
          const double more = bottom[w] - bottom[0] - top[w] + top[0] - usual * w * h;
          if (more > best) {
            best = more;
            *box = (Box){ x * cell, y * cell, w * cell, h * cell };
          }
        }
  return best > 0;
}
