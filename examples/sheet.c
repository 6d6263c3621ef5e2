/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sheet.h"

#include <math.h>
#include <string.h>

#include <gst/app/gstappsink.h>
#include <gst/video/video.h>

#include "interrupt.h"

#define SHEET_WIDTH 1280
#define TILES 9
#define GAP 4

/* Three bytes a pixel, row by row. */
typedef struct {
  gint tiles, columns, rows;
  gint filled; /* tiles so far */
  GByteArray *pixels;
} Sheet;

static gint tile_width (const Sheet *sheet)
{
  return (SHEET_WIDTH - (sheet->columns + 1) * GAP) / sheet->columns;
}

/* Copies a tile to its place. The first tile sets the height of the sheet. */
static gboolean add_tile (Sheet *sheet, GstSample *sample)
{
  GstVideoInfo info;
  GstVideoFrame frame;
  if (!gst_video_info_from_caps (&info, gst_sample_get_caps (sample))
      || !gst_video_frame_map (&frame, &info, gst_sample_get_buffer (sample), GST_MAP_READ))
    return FALSE;
  const gsize pitch = 3 * (gsize) SHEET_WIDTH;
  const gint row = sheet->filled / sheet->columns, column = sheet->filled % sheet->columns;
  if (sheet->filled == 0) {
    g_byte_array_set_size (sheet->pixels, pitch * (sheet->rows * (info.height + GAP) + GAP));
    memset (sheet->pixels->data, 255, sheet->pixels->len);
  }
  guint8 *to = sheet->pixels->data + (row * (info.height + GAP) + GAP) * pitch
               + 3 * (column * (info.width + GAP) + GAP);
  for (gint y = 0; y < info.height; y++, to += pitch)
    memcpy (to,
            (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&frame, 0)
                + y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0),
            3 * info.width);
  gst_video_frame_unmap (&frame);
  sheet->filled++;
  return TRUE;
}

static gboolean fill (Sheet *sheet, const char *video, guint64 start, guint64 frames,
                      GError **error)
{
  g_autofree char *launch =
      g_strdup_printf ("filesrc name=source ! matroskademux ! vp8dec ! videoconvert ! videoscale ! "
                       "video/x-raw,format=RGB,width=%d,pixel-aspect-ratio=1/1 ! appsink name=sink "
                       "sync=false max-buffers=4",
                       tile_width (sheet));
  g_autoptr (GstElement) pipeline = gst_parse_launch (launch, error);
  if (!pipeline)
    return FALSE;
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "source");
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  g_object_set (source, "location", video, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);

  for (guint64 i = 0; sheet->filled < sheet->tiles && interrupted < 2; i++) {
    g_autoptr (GstSample) sample =
        gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 10 * GST_SECOND);
    if (!sample)
      break;
    if (i == start + (2 * sheet->filled + 1) * (frames - start) / (2 * sheet->tiles))
      add_tile (sheet, sample);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  if (sheet->filled < sheet->tiles) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE, "%s could not be read back",
                 video);
    return FALSE;
  }
  return TRUE;
}

static gboolean write_png (const Sheet *sheet, const char *png, GError **error)
{
  const GByteArray *pixels = sheet->pixels;
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGB, SHEET_WIDTH,
                             pixels->len / (3 * SHEET_WIDTH));
  g_autoptr (GstCaps) raw = gst_video_info_to_caps (&info);
  g_autoptr (GstCaps) wanted = gst_caps_new_empty_simple ("image/png");
  g_autoptr (GstBuffer) buffer = gst_buffer_new_memdup (pixels->data, pixels->len);
  g_autoptr (GstSample) sample = gst_sample_new (buffer, raw, NULL, NULL);
  g_autoptr (GstSample) image = gst_video_convert_sample (sample, wanted, 30 * GST_SECOND, error);
  GstMapInfo map;
  if (!image || !gst_buffer_map (gst_sample_get_buffer (image), &map, GST_MAP_READ))
    return FALSE;
  const gboolean ok = g_file_set_contents (png, (const char *) map.data, map.size, error);
  gst_buffer_unmap (gst_sample_get_buffer (image), &map);
  return ok;
}

gboolean write_sheet (const char *video, const char *png, guint64 start, guint64 frames,
                      GError **error)
{
  g_autoptr (GByteArray) pixels = g_byte_array_new ();
  Sheet sheet = { .tiles = MIN (TILES, frames - start), .pixels = pixels };
  sheet.columns = ceil (sqrt (sheet.tiles));
  sheet.rows = (sheet.tiles + sheet.columns - 1) / sheet.columns;
  return fill (&sheet, video, start, frames, error) && write_png (&sheet, png, error);
}
