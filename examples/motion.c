/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "motion.h"

#include <stdlib.h>
#include <string.h>

#define CELLS 96  /* along the shorter side */
#define LEAST 0.9 /* mean change of a moving thing's pixels, in bins */
#define MOST 2.0  /* more is clipped, or a box would fit only the brightest part of a thing */
/* Arms and legs change by less than LEAST, and cells at the border contain background: a box may
 * grow by a quarter on each side if cells change by this. */
#define LEAST_AT_BORDER 0.3

/* Returns the earth mover's distance of two histograms of equally many pixels: the sum of the
 * distances that pixels must move, in bins. */
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

/* Finds the shift of the picture along one axis with which most of the strips across that axis
 * are alike. Returns FALSE with an error. */
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

/* Lowers `changes` to the change of each cell of a grid since `then`, in bins, without the camera's
 * own movement. Returns FALSE with an error. */
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

/* Sums of changes over all cells above and to the left, as an integral histogram has them. */
typedef struct {
  gint columns, rows;
  double *sums; /* of one row and one column more */
} Changes;

static double sum_of (const Changes *changes, const Box *box)
{
  const gint pitch = changes->columns + 1;
  const double *top = changes->sums + box->y * pitch + box->x, *bottom = top + box->height * pitch;
  return bottom[box->width] - bottom[0] - top[box->width] + top[0];
}

/* Returns the change of a box's cells above the mean of all cells, and above `least`. */
static double excess (const Changes *changes, const Box *box, double least)
{
  const Box all = { 0, 0, changes->columns, changes->rows };
  const double usual = least + sum_of (changes, &all) / (all.width * all.height);
  return sum_of (changes, box) - usual * box->width * box->height;
}

static gboolean find_box (const Changes *changes, Box *found)
{
  double best = 0;
  for (gint h = 2; h <= changes->rows / 2; h++)
    for (gint w = MAX (2, h / 4); w <= MIN (changes->columns / 2, 4 * h); w++)
      for (gint y = 0; y + h <= changes->rows; y++)
        for (gint x = 0; x + w <= changes->columns; x++) {
          const Box box = { x, y, w, h };
          const double more = excess (changes, &box, LEAST);
          if (more > best) {
            best = more;
            *found = box;
          }
        }
  return best > 0;
}

static Box grown (const Changes *changes, const Box *box)
{
  const gint right = box->x + box->width, bottom = box->y + box->height,
             across = (box->width + 3) / 4, along = (box->height + 3) / 4;
  double best = excess (changes, box, LEAST_AT_BORDER);
  Box found = *box;
  for (gint x = MAX (0, box->x - across); x <= box->x; x++)
    for (gint y = MAX (0, box->y - along); y <= box->y; y++)
      for (gint r = right; r <= MIN (changes->columns, right + across); r++)
        for (gint b = bottom; b <= MIN (changes->rows, bottom + along); b++) {
          const Box larger = { x, y, r - x, b - y };
          const double more = excess (changes, &larger, LEAST_AT_BORDER);
          if (more > best) {
            best = more;
            found = larger;
          }
        }
  return found;
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
  g_autofree double *cells = g_new (double, (gsize) columns *rows);
  for (gint i = 0; i < columns * rows; i++)
    cells[i] = MOST;
  for (int i = 1; i < GLANCES; i++)
    if (!find_changes (glances[0], glances[i], &grid, cells, error))
      return FALSE;

  g_autofree double *sums = g_new0 (double, (gsize) pitch *(rows + 1));
  for (gint y = 0; y < rows; y++)
    for (gint x = 0; x < columns; x++) {
      const gint at = (y + 1) * pitch + x + 1;
      sums[at] = cells[y * columns + x] + sums[at - 1] + sums[at - pitch] - sums[at - pitch - 1];
    }
  const Changes changes = { columns, rows, sums };
  Box found;
  if (!find_box (&changes, &found))
    return FALSE;
  found = grown (&changes, &found);
  *box = (Box){ found.x * cell, found.y * cell, found.width * cell, found.height * cell };
  return TRUE;
}
