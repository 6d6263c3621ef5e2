// SPDX-License-Identifier: LGPL-2.1-or-later
//
// integralhistoverlay draws boxes, and changes no other byte of a frame. The truth comes from the
// places of pixels in a format, the format's own unpack function, and boxes counted pixel by pixel.
#include <algorithm>
#include <map>
#include <set>

#include "drawn.hpp"
#include "test.hpp"

namespace {

/// The part of a box at a pixel.
enum class Part { none, line, seam };

Part part_of (const GstVideoRectangle &r, gint64 x, gint64 y)
{
  const gint64 from_border =
      std::min ({ x - r.x, y - r.y, gint64 (r.x) + r.w - 1 - x, gint64 (r.y) + r.h - 1 - y });
  if (from_border < 0)
    return Part::none;
  // a box too small for an inside is all line; an inside too small for more is all seam
  return from_border < kLine ? Part::line : from_border < kLine + kSeam ? Part::seam : Part::none;
}

/// A value of a frame that is drawn on: its place, and its component of r, g, b, or y, u, v.
struct Sample {
  gsize at;
  int component;
};

/// The samples at a pixel, plane by plane; subsampled chroma only at even pixels.
std::vector<Sample> samples_at (const GstVideoInfo &info, const gsize *offset, const int *stride,
                                int x, int y)
{
  const bool even_x = x % 2 == 0, even_y = y % 2 == 0;
  const auto plane = [&] (int p, int row, int byte) {
    return offset[p] + gsize (row) * gsize (stride[p]) + gsize (byte);
  };
  switch (GST_VIDEO_INFO_FORMAT (&info)) {
    case GST_VIDEO_FORMAT_GRAY8: return { { plane (0, y, x), 0 } };
    case GST_VIDEO_FORMAT_RGB:
      return { { plane (0, y, 3 * x), 0 },
               { plane (0, y, 3 * x + 1), 1 },
               { plane (0, y, 3 * x + 2), 2 } };
    case GST_VIDEO_FORMAT_BGRx:
      return { { plane (0, y, 4 * x), 2 },
               { plane (0, y, 4 * x + 1), 1 },
               { plane (0, y, 4 * x + 2), 0 } };
    case GST_VIDEO_FORMAT_I420:
      if (even_x && even_y)
        return { { plane (0, y, x), 0 },
                 { plane (1, y / 2, x / 2), 1 },
                 { plane (2, y / 2, x / 2), 2 } };
      return { { plane (0, y, x), 0 } };
    case GST_VIDEO_FORMAT_NV12:
      if (even_x && even_y)
        return { { plane (0, y, x), 0 },
                 { plane (1, y / 2, x), 1 },
                 { plane (1, y / 2, x + 1), 2 } };
      return { { plane (0, y, x), 0 } };
    case GST_VIDEO_FORMAT_YUY2:
      if (even_x)
        return { { plane (0, y, 2 * x), 0 },
                 { plane (0, y, 2 * x + 1), 1 },
                 { plane (0, y, 2 * x + 3), 2 } };
      return { { plane (0, y, 2 * x), 0 } };
    default: fail ("no samples of %s", GST_VIDEO_INFO_NAME (&info)); return {};
  }
}

// fail_unless writes a mark each time, so checks of every pixel do without it.
/// Compares every byte of a frame with the byte before, except for the outline of one box.
void check_bytes (const GstVideoInfo &info, const gsize *offset, const int *stride,
                  const std::vector<guint8> &before, const std::vector<guint8> &after,
                  const GstVideoRectangle &box, const Rgb &colour)
{
  const bool rgb = GST_VIDEO_INFO_IS_RGB (&info);
  const std::array<double, 3> line =
      rgb ? std::array{ colour.r, colour.g, colour.b } : yuv (colour);
  const std::array<double, 3> black = rgb ? std::array<double, 3>{} : yuv ({ 0, 0, 0 });
  std::vector<bool> drawn (before.size ());
  int counted = 0;
  for (int y = 0; y < info.height; y++)
    for (int x = 0; x < info.width; x++) {
      const Part part = part_of (box, x, y);
      if (part == Part::none)
        continue;
      for (const auto &[at, c] : samples_at (info, offset, stride, x, y)) {
        const double wanted = part == Part::line ? line[c] : (before[at] + black[c]) / 2;
        if (std::abs (after[at] - wanted) > 2)
          fail ("%s, pixel %d,%d, component %d: %d instead of %f", GST_VIDEO_INFO_NAME (&info), x,
                y, c, after[at], wanted);
        drawn[at] = true;
        counted++;
      }
      if (GST_VIDEO_INFO_FORMAT (&info) == GST_VIDEO_FORMAT_BGRx)
        drawn[offset[0] + gsize (y * stride[0] + 4 * x + 3)] = true;  // means nothing
    }
  fail_unless (counted > 0);
  for (gsize i = 0; i < before.size (); i++)
    if (before[i] != after[i] && !drawn[i])
      fail ("%s: byte %" G_GSIZE_FORMAT " beside the box changed", GST_VIDEO_INFO_NAME (&info), i);
}

}  // namespace

/// Compares every byte of frames in many formats, without and with padding, in even and odd sizes;
/// boxes lie inside and over the borders.
TEST (outlines)
{
  for (const char *format : { "GRAY8", "RGB", "BGRx", "I420", "NV12", "YUY2" })
    for (const auto &[width, height] : { std::array{ 96, 64 }, std::array{ 91, 57 } })
      for (const GstVideoRectangle &box : { GstVideoRectangle{ 20, 16, 40, 24 },
                                            { -10, -6, 30, 20 },
                                            { 70, 40, 90, 80 },
                                            { -4, 30, 400, 12 },
                                            { 40, -8, 14, 300 } })
        for (const bool padded : { false, true })
          for (const bool is_region : { false, true }) {
            g_autofree char *regions =
                g_strdup_printf ("regions=%d,%d,%d,%d", box.x, box.y, box.w, box.h);
            Overlay overlay (is_region ? regions : "", caps_of (format, width, height));
            GstVideoInfo wide = overlay.info;
            if (padded) {
              GstVideoAlignment alignment;
              gst_video_alignment_reset (&alignment);
              alignment.padding_left = 16;
              alignment.padding_right = 55;
              alignment.padding_top = 2;
              fail_unless (gst_video_info_align (&wide, &alignment));
            }
            GstBuffer *in = noise (wide, unsigned (width));
            gst_buffer_add_video_meta_full (
                in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT (&wide), guint (width),
                guint (height), GST_VIDEO_INFO_N_PLANES (&wide), wide.offset, wide.stride);
            if (!is_region)
              add_roi (in, "face", 1, box);
            const auto before = bytes_of (in);
            check_bytes (wide, wide.offset, wide.stride, before, overlay.bytes (in), box,
                         is_region ? kWhite : kBlue);
          }
}

/// Every format that the element takes, by what GstVideo unpacks: the first component, luma or red,
/// of every pixel, and all of those on the line.
TEST (all_formats)
{
  g_autoptr (GstElement) element = gst_element_factory_make ("integralhistoverlay", nullptr);
  g_autoptr (GstCaps) caps = gst_pad_get_pad_template_caps (
      GST_ELEMENT_PADS (element)->data ? GST_PAD (GST_ELEMENT_PADS (element)->data) : nullptr);
  const GValue *formats = gst_structure_get_value (gst_caps_get_structure (caps, 0), "format");
  fail_unless (gst_value_list_get_size (formats) >= 80);
  const GstVideoRectangle box = { 20, 12, 16, 28 };
  for (guint f = 0; f < gst_value_list_get_size (formats); f++)
    for (const auto &[width, height] : { std::array{ 96, 64 }, std::array{ 53, 37 } }) {
      const char *format = g_value_get_string (gst_value_list_get_value (formats, f));
      Overlay overlay ("", caps_of (format, width, height));
      const GstVideoInfo &info = overlay.info;
      const GstVideoFormatInfo *unpacked = gst_video_format_get_info (info.finfo->unpack_format);
      const bool deep = unpacked->depth[0] == 16, rgb = GST_VIDEO_INFO_IS_RGB (&info),
                 gray = GST_VIDEO_INFO_IS_GRAY (&info);
      const auto pixels = [&] (GstBuffer *buffer) {
        std::vector<std::array<int, 4>> all;
        std::vector<guint16> line (4 * gsize (width) + 64);
        GstVideoFrame frame;
        fail_unless (gst_video_frame_map (&frame, &info, buffer, GST_MAP_READ), "%s", format);
        for (int y = 0; y < height; y++) {
          info.finfo->unpack_func (info.finfo, GST_VIDEO_PACK_FLAG_NONE, line.data (), frame.data,
                                   frame.info.stride, 0, y, width);
          for (int x = 0; x < width; x++) {
            std::array<int, 4> c;
            for (int i = 0; i < 4; i++)
              c[i] = deep ? line[4 * gsize (x) + i] >> 8
                          : reinterpret_cast<const guint8 *> (line.data ())[4 * x + i];
            all.push_back (c);
          }
        }
        gst_video_frame_unmap (&frame);
        return all;
      };
      GstBuffer *in = noise (info, f);
      const auto before = pixels (in);
      add_roi (in, "face", 1, box);
      GstBuffer *out = overlay.pass (in);
      const auto after = pixels (out);
      gst_buffer_unref (out);
      const std::array<double, 3> line =
          rgb ? std::array{ kBlue.r, kBlue.g, kBlue.b } : yuv (kBlue);
      const double black = rgb ? 0 : 16;
      const int least_depth =
          *std::min_element (info.finfo->depth, info.finfo->depth + (gray ? 1 : 3));
      const double tolerance = least_depth < 8 ? 9 : 2;
      const bool alpha = GST_VIDEO_INFO_HAS_ALPHA (&info);
      for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
          const std::array<int, 4> &was = before[gsize (y * width + x)],
                                   &is = after[gsize (y * width + x)];
          switch (part_of (box, x, y)) {
            case Part::none:
              if (was[1] != is[1])
                fail ("%s, %d,%d: %d becomes %d", format, x, y, was[1], is[1]);
              break;
            case Part::line:
              // chroma of blocks that lie on the line with all of their pixels; 4:1:0 has blocks of
              // four
              // by four
              for (int c = 0; c < (rgb || (x % 4 == 0 && y % 4 == 0 && !gray) ? 3 : 1); c++)
                if (std::abs (is[c + 1] - line[c]) > tolerance)
                  fail ("%s, %d,%d, component %d: %d instead of %f", format, x, y, c, is[c + 1],
                        line[c]);
              break;
            case Part::seam: {  // half of it black; where pixels are translucent, more
              const bool right = alpha ? is[1] <= was[1] + tolerance || is[1] <= black + 1
                                       : std::abs (is[1] - (was[1] + black) / 2) <= tolerance;
              if (!right)
                fail ("%s, %d,%d: %d becomes %d", format, x, y, was[1], is[1]);
              break;
            }
          }
        }
    }
}

/// Frames with nothing to draw are not copied, though they are not writable.
TEST (nothing_to_draw)
{
  struct Case {
    const char *properties;
    GstVideoRectangle roi;  // with a width of -1: none
    bool gap;
  };
  constexpr GstVideoRectangle kNone = { 0, 0, -1, 0 };
  for (const Case &c :
       { Case{ "", kNone, false }, Case{ "regions=64,0,5,5;-5,0,5,5;0,-900,60,900", kNone, false },
         Case{ "", { 64, 0, 9, 9 }, false }, Case{ "", { -9, -9, 9, 99 }, false },
         Case{ "", { 9, 9, 0, 9 }, false }, Case{ "", { 9, 9, 9, 0 }, false },
         Case{ "trail=9", { 2000000000, 5, 2000000000, 5 }, false },
         Case{ "regions=0,0,9,9", { 9, 9, 9, 9 }, true } })
    for (const char *more : { "", " labels=true histograms=true" }) {
      Overlay overlay (std::string (c.properties) + more, caps_of ("I420", 64, 48));
      for (int i = 0; i < 3; i++) {
        GstBuffer *in = noise (overlay.info, 1);
        if (c.roi.w >= 0)
          add_roi (in, "track", 1, c.roi);
        if (c.gap) {
          empty (in);
          GstBuffer *const out = overlay.pass (in);
          fail_unless (out == in && gst_buffer_get_size (out) == 0);
          gst_buffer_unref (out);
          continue;
        }
        fail_unless (overlay.leaves_alone (in), "%s %d,%d,%d,%d", c.properties, c.roi.x, c.roi.y,
                     c.roi.w, c.roi.h);
      }
    }
}

/// The element draws on a copy if another reference to the frame exists, else on the frame itself.
TEST (in_place)
{
  Overlay overlay ("regions=4,4,20,20", caps_of ("I420", 64, 48));
  GstBuffer *in = noise (overlay.info, 1);
  fail_unless (!overlay.leaves_alone (gst_buffer_ref (in)));
  GstBuffer *same = noise (overlay.info, 1);
  fail_unless (bytes_of (in) == bytes_of (same), "a shared frame is drawn on");
  gst_buffer_unref (in);
  GstMemory *memory = gst_buffer_peek_memory (same, 0);
  g_autoptr (GstBuffer) out = overlay.pass (same);
  fail_unless (out == same && gst_buffer_peek_memory (out, 0) == memory);
}

/// Everything at once, on frames of any size.
TEST (sizes)
{
  for (const auto &[format, histograms] :
       { std::pair ("GRAY8", true), std::pair ("RGB", true), std::pair ("I420", true),
         std::pair ("NV12", true), std::pair ("YUY2", true), std::pair ("YUV9", false),
         std::pair ("v210", false) })
    for (const auto &[width, height] :
         { std::array{ 1, 1 }, std::array{ 2, 1 }, std::array{ 1, 7 }, std::array{ 5, 3 },
           std::array{ 31, 17 }, std::array{ 47, 33 }, std::array{ 33000, 2 },
           std::array{ 3, 33000 } })
      for (const char *par : { "", ",pixel-aspect-ratio=1/30", ",pixel-aspect-ratio=64/1" }) {
        Overlay overlay ("labels=true histograms=true trail=5 line-width=0 "
                         "regions=0,0,2147483647,2147483647;-3,-3,4,4",
                         caps_of (format, width, height, par),
                         histograms ? "cudaintegralhist backend=cpu bins=3 tuning-time=0 ! " : "");
        for (int i = 0; i < 3; i++) {
          GstBuffer *in = overlay.even (100);
          add_confidence (add_roi (in, "track", -7, { i, -i, 1 + i, 2147483647 }), NAN);
          add_confidence (
              add_roi (in, "track", 1 << 30, { -2147483647, -2147483647, 2147483647, 2147483647 }),
              1e300);
          add_roi (in, "\xff\xfe and so on", 3, { width - 1, height - 1, 1, 1 });
          const auto before = bytes_of (in);
          fail_unless (overlay.bytes (in) != before, "%s %dx%d", format, width, height);
        }
      }
}

/// A line of two rows has as many columns as look equally wide.
TEST (pixel_aspect)
{
  for (const auto &[par, columns] :
       { std::pair (",pixel-aspect-ratio=1/2", 4), std::pair (",pixel-aspect-ratio=2/1", 1) }) {
    Overlay overlay ("regions=10,10,40,40", caps_of ("GRAY8", 64, 64, par));
    const auto bytes = overlay.bytes (overlay.even (90));
    const auto white = [&] (int x, int y) { return bytes[gsize (y * 64 + x)] >= 234; };
    for (int i = 0; i < 8; i++) {
      fail_unless_equals_int (white (10 + i, 30), i < columns);
      fail_unless_equals_int (white (30, 10 + i), i < 2);
    }
  }
}

TEST (line_widths)
{
  for (const auto &[property, height, lines] :
       { std::tuple ("line-width=1", 240, 1), std::tuple ("line-width=7", 240, 7),
         std::tuple ("line-width=0", 240, 2), std::tuple ("line-width=0", 720, 2),
         std::tuple ("line-width=0", 2160, 6) }) {
    Overlay overlay (std::string ("regions=10,10,60,60 ") + property,
                     caps_of ("GRAY8", 80, height));
    const auto bytes = overlay.bytes (overlay.even (90));
    for (int i = 0; i < 12; i++)
      fail_unless_equals_int (bytes[gsize ((10 + i) * 80 + 40)] >= 234, i < lines);
  }
}

/// An id has one colour in every frame, and seven ids have seven colours.
TEST (colours)
{
  std::map<int, std::set<guint32>> seen;
  Overlay overlay ("", caps_of ("RGB", 64, 48));
  for (int round = 0; round < 3; round++)
    for (int id = 0; id < 14; id++) {
      GstBuffer *in = overlay.even (0);
      add_roi (in, round == 0 ? "face" : "track", id, { 8, 8, 4, 4 });
      const auto bytes = overlay.bytes (in);
      const guint8 *pixel = bytes.data () + 8 * overlay.info.stride[0] + 3 * 8;
      seen[id % 7].insert (guint32 (pixel[0] << 16 | pixel[1] << 8 | pixel[2]));
    }
  std::set<guint32> all;
  for (const auto &[id, colours] : seen) {
    fail_unless_equals_int (int (colours.size ()), 1);
    all.insert (*colours.begin ());
  }
  fail_unless_equals_int (int (all.size ()), 7);
}

/// Every bad setting is one error, at the start and on the way.
TEST (bad_settings)
{
  struct Case {
    const char *property, *value, *culprit, *remedy;
  };
  for (const Case &c :
       { Case{ "regions", "1;2", "number is missing at \";2\"", "x,y,width,height" },
         Case{ "regions", "a", "number", "x,y,width,height" },
         Case{ "regions", "1,2,3,4,5", "more than four numbers", "x,y,width,height" },
         Case{ "regions", "1,2,0,4", "empty", "at least 1" },
         Case{ "regions", "1,2,99999999999,4", "99999999999 is out of range", "to 2147483647" },
         Case{ "trail", "1001", "trail=1001", "0 to 1000" },
         Case{ "line-width", "33", "line-width=33", "0 to 32" } }) {
    Overlay overlay ("regions=1,1,9,9", caps_of ("GRAY8", 64, 48));
    gst_buffer_unref (overlay.pass (overlay.even (1)));
    overlay.expect_wrong_setting (c.property, c.value, overlay.even (1), { c.culprit, c.remedy });
  }
}

/// Regions, sizes and formats that change on the way, and a second run.
TEST (changes)
{
  Overlay overlay ("regions=20,16,40,24", caps_of ("I420", 96, 64));
  const auto check = [&] (const GstVideoRectangle &box) {
    GstBuffer *in = noise (overlay.info, 5);
    const auto before = bytes_of (in);
    check_bytes (overlay.info, overlay.info.offset, overlay.info.stride, before, overlay.bytes (in),
                 box, kWhite);
  };
  check ({ 20, 16, 40, 24 });
  overlay.set ("regions", "4,4,12,12");
  check ({ 4, 4, 12, 12 });
  overlay.set_caps (caps_of ("RGB", 40, 30));
  check ({ 4, 4, 12, 12 });
  overlay.set_caps (caps_of ("NV12", 301, 201));
  check ({ 4, 4, 12, 12 });
  gst_element_set_state (overlay.get ()->element, GST_STATE_NULL);
  overlay.set ("regions", "30,20,50,40");
  gst_harness_play (overlay.get ());
  overlay.set_caps (caps_of ("YUY2", 96, 64));
  overlay.push_segment ();
  check ({ 30, 20, 50, 40 });
  overlay.set ("regions", nullptr);
  fail_unless (overlay.leaves_alone (noise (overlay.info, 1)));
}

TEST (properties)
{
  fail_unless (live_properties ("integralhistoverlay")
               == std::set<std::string> (
                   { "feature", "histograms", "labels", "line-width", "regions", "trail" }));
}
