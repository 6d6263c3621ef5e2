// SPDX-License-Identifier: LGPL-2.1-or-later
//
// H of every counter, read from the mapped tensor by gst_integral_histogram_get_element (), and in
// tiles as gst_integral_histogram_get_tiles () documents. The truth is counted in the pixels.
#include <gst/integralhist/gstintegralhist.h>

#include "frames.hpp"
#include "test.hpp"

namespace {

constexpr struct Case {
  int width, height, bins;
  bool wide;
  int step;  // between the places that are compared
} kCases[] = {
  { 700, 500, 2, false, 1 },  // whose corners take more than 16 bits
  { 45, 31, 256, false, 1 },   { 1, 1, 1, false, 1 },     { 16, 48, 3, false, 1 },
  { 17, 33, 5, false, 1 },     { 4369, 20, 1, false, 1 },  // left is at most 65535
  { 4400, 33, 1, true, 1 },                                // here left is more
  { 33, 4400, 1, true, 1 },                                // here top is more
  { 4112, 4112, 1, true, 61 },                             // corners of 25 bits
};

/// The frame's H, plane after plane.
std::vector<guint32> count (const std::vector<guint8> &values, const Case &c)
{
  const gsize width = gsize (c.width), pixels = width * c.height;
  std::vector<guint32> h (pixels * c.bins);
  for (gsize at = 0; at < pixels; at++)
    h[values[at] * c.bins / 256 * pixels + at] = 1;
  for (gsize at = 0; at < h.size (); at++) {
    const gsize x = at % width, y = at % pixels / width;
    h[at] += (x > 0 ? h[at - 1] : 0) + (y > 0 ? h[at - width] : 0)
             - (x > 0 && y > 0 ? h[at - width - 1] : 0);
  }
  return h;
}

/// Reads a tile as the header says.
guint32 read_tile (const guint8 *tile, bool wide, int i, int j)
{
  const auto line = [&] (int n) { return tile + 16 * n; };
  const guint8 *const row = line ((wide ? 5 : 3) + i - 1);  // of inside, where i > 0
  guint32 corner = GST_READ_UINT16_LE (tile) + (line (2)[0] << 16), top = 0, left = 0, inside = 0;
  if (j > 0)
    top = GST_READ_UINT16_LE (tile + 2 * j);
  if (i > 0)
    left = row[0] + (line (2)[i] << 8);
  if (i > 0 && j > 0)
    inside = row[j];
  if (wide) {
    corner += guint32 (line (3)[0]) << 24;
    top += j > 0 ? line (3)[j] << 16 : 0;
    left += i > 0 ? line (4)[i] << 16 : 0;
  }
  return corner + top + left + inside;
}

/// Compares a tensor's elements, the last one too.
void check_elements (GstIntegralHistogram *histogram, const Case &c, const std::string &counter,
                     const std::vector<guint32> &h)
{
  const TensorCopy tensor (histogram);
  const guint8 *const bytes = tensor.bytes.data ();
  const gsize row = tensor.row_pitch, plane = tensor.plane_pitch;
  guint columns = 99, rows = 99;
  gsize tile_bytes = 99;
  gboolean wide = 99;
  const bool tiled =
      gst_integral_histogram_get_tiles (histogram, &columns, &rows, &tile_bytes, &wide);
  fail_unless_equals_int (tiled, counter == "u8-tiled");
  if (tiled) {
    fail_unless_equals_int (int (columns), (c.width + 15) / 16);
    fail_unless_equals_int (int (rows), (c.height + 15) / 16);
    fail_unless_equals_int (wide, c.wide);
    fail_unless_equals_uint64 (tile_bytes, c.wide ? 320 : 288);
    fail_unless (row >= columns * tile_bytes && plane >= rows * row);
  } else {
    fail_unless (columns == 0 && rows == 0 && tile_bytes == 0 && !wide);
  }
  gst_integral_histogram_get_tiles (histogram, nullptr, nullptr, nullptr, nullptr);

  const auto element = [&] (int b, int x, int y) {
    return gst_integral_histogram_get_element (histogram, bytes, guint (b), x, y);
  };
  for (int b = 0; b < c.bins; b++)
    for (int y = (c.height - 1) % c.step; y < c.height; y += c.step)
      for (int x = (c.width - 1) % c.step; x < c.width; x += c.step) {
        const guint32 wanted = h[(gsize (b) * c.height + y) * c.width + x], got = element (b, x, y);
        if (got != (counter == "u16" ? wanted & 0xffff : wanted))
          fail ("%s, %dx%d: H[%d][%d][%d] is %u instead of %u", counter.c_str (), c.width, c.height,
                b, y, x, got, wanted);
        if (!tiled)
          continue;
        const guint32 read = read_tile (bytes + b * plane + y / 16 * row + x / 16 * tile_bytes,
                                        wide, y % 16, x % 16);
        if (read != wanted)
          fail ("%dx%d: H[%d][%d][%d] reads %u instead of %u", c.width, c.height, b, y, x, read,
                wanted);
      }
  fail_unless (element (0, -1, 0) == 0 && element (0, 0, -1) == 0 && element (0, -1, -1) == 0);
  ASSERT_CRITICAL (element (c.bins, 0, 0));
  ASSERT_CRITICAL (element (0, c.width, 0));
  ASSERT_CRITICAL (element (0, 0, c.height));
  ASSERT_CRITICAL (element (0, -2, 0));
  ASSERT_CRITICAL (element (0, 0, -2));
}

}  // namespace

/// The loop's index is the backend's.
BACKEND_TEST (elements)
{
  for (const Case &c : kCases) {
    const GstVideoInfo info = info_of (caps_of ("GRAY8", c.width, c.height));
    std::vector<guint32> h;
    for (const std::string counter : { "u32", "u16", "u8-tiled" }) {
      Harness element ("cudaintegralhist bins=" + std::to_string (c.bins) + " counter=" + counter
                           + " backend=" + backend,
                       caps_of ("GRAY8", c.width, c.height).c_str ());
      GstBuffer *in = noise (info, 7);
      if (h.empty ())
        h = count (luma (info, in, 0, 0), c);
      g_autoptr (GstBuffer) out = gst_harness_push_and_pull (element, in);
      check_elements (histogram_of (out), c, counter, h);
    }
  }
}
