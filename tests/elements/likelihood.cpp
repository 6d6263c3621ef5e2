// SPDX-License-Identifier: LGPL-2.1-or-later
//
// integralhistlikelihood makes a picture of a frame. The truth is the formula over counted pixels,
// and the result of GstVideoConverter for the frame.
#include <set>

#include "maps.hpp"
#include "test.hpp"

/// Measures, sizes, windows and steps.
TEST (maps)
{
  for (const std::string &measure : measures ())
    for (const auto &[width, height] : { std::array{ 48, 36 }, std::array{ 37, 23 } })
      for (const auto &[window_width, window_height] :
           { std::array{ 1, 1 }, std::array{ 9, 6 }, std::array{ 20, 33 }, std::array{ 500, 3 } })
        for (const int step : { 1, 2, 3, 7, 64 }) {
          const Search s = { width,         height, { 5, 4, 12, 9 }, window_width,
                             window_height, step,   measure };
          const Texture picture (width, height, unsigned (step));
          Likelihood likelihood ("mode=gray " + line_of (s), picture.caps ());
          const Bytes levels = likelihood.bytes (counted (picture));
          check_levels (levels, truth_of (picture, s), width, line_of (s));
          fail_unless_equals_int (std::set<guint8> (levels.begin (), levels.end ()).size () > 1,
                                  step < 64);
        }
}

/// A histogram stays on the device that counted it.
TEST (backends)
{
  for (const char *backend : kBackends) {
    if (!have (backend))
      continue;
    for (const std::string &measure : measures ()) {
      const Search s = { 48, 36, { 5, 4, 12, 9 }, 9, 6, 2, measure };
      const Texture picture (48, 36, 1);
      Likelihood likelihood ("mode=gray " + line_of (s), picture.caps ());
      GstBuffer *in = counted (picture.caps (), picture.buffer (), s.bins, "",
                               std::string (backend) + " download=never");
      check_levels (likelihood.bytes (in), truth_of (picture, s), 48,
                    std::string (backend) + " " + line_of (s));
    }
  }
}

TEST (bins)
{
  for (const int bins : { 1, 2, 31, 256 })
    for (const std::string &measure : measures ()) {
      const Search s = { 40, 30, { 20, 3, 12, 9 }, 7, 8, 3, measure, bins };
      const Texture picture (40, 30, unsigned (bins));
      Likelihood likelihood ("mode=gray " + line_of (s), picture.caps ());
      check_levels (likelihood.bytes (counted (picture, bins)), truth_of (picture, s), 40,
                    std::to_string (bins) + " bins, " + measure);
    }
}

/// Regions over the border, the default model and windows of its size, on frames down to one pixel.
TEST (models)
{
  struct Case {
    const char *model;
    GstVideoRectangle inside;
  };
  for (const Case &c :
       { Case{ "model=-4,-3,10,9", { 0, 0, 6, 6 } },
         Case{ "model=40,30,2147483647,2147483647", { 40, 30, 8, 6 } },
         Case{ "model=-2147483648,0,2147483647,5 model=\" 3 , 2 , 5 , 7 ; \"", { 3, 2, 5, 7 } },
         Case{ "", middle (48, 36) }, Case{ "model=\"  \"", middle (48, 36) } }) {
    const Texture picture (48, 36, 2);
    Likelihood likelihood (std::string ("mode=gray ") + c.model, picture.caps ());
    const Search s = { 48, 36, c.inside, c.inside.w, c.inside.h, 2 };
    check_levels (likelihood.bytes (counted (picture)), truth_of (picture, s), 48, c.model);
  }
  for (const auto &[width, height] :
       { std::array{ 1, 1 }, std::array{ 2, 1 }, std::array{ 1, 9 }, std::array{ 3, 5 } })
    for (const char *window : { "", " window-width=2147483647 window-height=2147483647" }) {
      const Texture picture (width, height, 3);
      Likelihood likelihood (std::string ("mode=gray") + window, picture.caps ());
      const int w = std::max (width / 4, 1), h = std::max (height / 4, 1);
      const GstVideoRectangle model = { (width - w) / 2, (height - h) / 2, w, h };
      const int all = 1000;
      const Search s = {
        width, height, model, *window ? all : model.w, *window ? all : model.h, 2
      };
      check_levels (likelihood.bytes (counted (picture)), truth_of (picture, s), width, "tiny");
    }
}

/// The window of a model that comes from numbers has the size of the model's region, wherever that
/// lies.
TEST (numbers)
{
  const Texture picture (48, 36, 4);
  const Search s = { 48, 36, { 5, 4, 12, 9 }, 12, 9, 1, "l1" };
  std::string numbers, halves;
  for (const double count : picture.histogram (s.model, s.bins)) {
    numbers.append (numbers.empty () ? "" : " , ").append (std::to_string (count));
    halves.append (halves.empty () ? "" : ",")
        .append (std::to_string (int (count) * 5))
        .append ("e-1");
  }
  const Truth truth = truth_of (picture, s);
  for (const std::string &properties :
       { "model=0,0,12,9 histogram=\"" + numbers + " \"",
         "window-width=12 window-height=9 histogram=\"" + halves + "\"",
         "histogram=\"" + halves + "\"", "model=999,999,12,9 histogram=\"" + halves + "\"" }) {
    Likelihood likelihood ("mode=gray step=1 measure=l1 " + properties, picture.caps ());
    check_levels (likelihood.bytes (counted (picture)), truth, 48, properties);
  }
  // and the same for any model
  const Numbers model = { 0, 0.25, 3e5, 0, 7, 1e-3, 1e5, 0 };
  Likelihood likelihood ("mode=gray histogram=0,.25,3e5,0,7.0,1e-3,100000,0", picture.caps ());
  check_levels (likelihood.bytes (counted (picture)),
                truth_of (picture, { 48, 36, {}, 12, 9, 2 }, model), 48, "numbers");
}

/// Weights of any sign are a linear score, and not a model for any other measure.
TEST (weights)
{
  const Texture picture (48, 36, 4);
  const Numbers model = { 0.5, -1, 2, 0, 1.5, -0.25, 1, 0 };
  Likelihood likelihood ("mode=gray measure=linear histogram=.5,-1,2,0,1.5,-.25,1,-0",
                         picture.caps ());
  const Truth truth = truth_of (picture, { 48, 36, {}, 12, 9, 2, "linear" }, model);
  fail_unless (std::ranges::min (truth.values) < 0.2 && std::ranges::max (truth.values) > 0.8);
  check_levels (likelihood.bytes (counted (picture)), truth, 48, "weights");
  likelihood.set_text ("measure", "l1");
  const auto said = likelihood.warnings ();
  fail_unless_equals_int (int (said.size ()), 1);
  expect_parts (said[0], { "-1 cannot be in a histogram unless measure=linear",
                           "the property measure stays linear" });
  check_levels (likelihood.bytes (counted (picture)), truth, 48, "weights, again");
}

namespace {

/// Compares a blend with the colours over the frame, each pixel as opaque as it is alike. The
/// fourth byte of a pixel means nothing.
void check_blend (const Bytes &blend, const Bytes &shown, const Bytes &colours, const Bytes &levels,
                  double opacity, const char *what)
{
  fail_unless (blend.size () == shown.size () && blend.size () == 4 * levels.size ());
  for (gsize i = 0; i < blend.size (); i++) {
    const double part = opacity * levels[i / 4] / 255;
    if (i % 4 < 3 && std::abs (blend[i] - (shown[i] * (1 - part) + colours[i] * part)) > 1.1)
      fail ("%s: byte %d of %f of %d over %d is %d", what, int (i), part, colours[i], shown[i],
            blend[i]);
  }
}

}  // namespace

/// Every mode, for every format that is counted, and for some formats that are converted first.
TEST (formats)
{
  GstVideoInfo map_info, picture_info;
  const auto check = [&] (const char *text, GstBuffer *frame, const Bytes &gray) {
    const GstVideoInfo in = info_of (text);
    Likelihood heat ("mode=heat model=0,0,9,9", text), blend ("model=0,0,9,9", text);
    const Bytes colours = heat.bytes (gst_buffer_ref (frame));
    map_info = heat.info ();
    fail_unless_equals_int (GST_VIDEO_INFO_FORMAT (&map_info), GST_VIDEO_FORMAT_BGRx);
    fail_unless_equals_int (colours.size (), 4 * gray.size ());
    const Bytes most = blend.bytes (gst_buffer_ref (frame));
    picture_info = blend.info ();
    fail_unless (gst_video_info_is_equal (&picture_info, &map_info));
    const Bytes shown = converted (in, picture_info, frame);
    blend.set ("opacity", 0.0);
    fail_unless (blend.bytes (gst_buffer_ref (frame)) == shown, "%s", text);
    check_blend (most, shown, colours, gray, 0.9, text);
    blend.set ("opacity", 1.0);
    check_blend (blend.bytes (gst_buffer_ref (frame)), shown, colours, gray, 1, text);
  };
  each_format ([&] (const char *text, GstBuffer *in, const Bytes &values) {
    const GstVideoInfo info = info_of (text);
    const Texture picture (info.width, info.height, values);
    g_autoptr (GstBuffer) frame = counted (text, in, 8);
    Likelihood gray ("mode=gray model=0,0,9,9", text);
    const Bytes levels = gray.bytes (gst_buffer_ref (frame));
    check_levels (levels,
                  truth_of (picture, { info.width,
                                       info.height,
                                       { 0, 0, 9, 9 },
                                       std::min (info.width, 9),
                                       std::min (info.height, 9),
                                       2 }),
                  info.width, text);
    check (text, frame, levels);
  });
  for (const char *format :
       { "P010_10LE", "v210", "AYUV64", "ARGB64", "GBR", "Y410", "RGB16", "NV12_4L4" }) {
    const Texture picture (37, 23, 1);
    const std::string caps = caps_of (format, 37, 23);
    g_autoptr (GstBuffer) frame = counted (picture.caps (), picture.buffer (), 8,
                                           " ! videoconvert ! capsfilter caps=" + caps);
    Likelihood gray ("mode=gray model=0,0,9,9", caps);
    const Bytes levels = gray.bytes (gst_buffer_ref (frame));
    check_levels (levels, truth_of (picture, { 37, 23, { 0, 0, 9, 9 }, 9, 9, 2 }), 37, format);
    check (caps.c_str (), frame, levels);
  }
}

/// Any opacity, to within the rounding.
TEST (opacities)
{
  const Texture picture (48, 36, 1);
  g_autoptr (GstBuffer) frame = counted (picture);
  Likelihood gray ("mode=gray", picture.caps ()), heat ("mode=heat", picture.caps ()),
      blend ("", picture.caps ());
  const Bytes levels = gray.bytes (gst_buffer_ref (frame)),
              colours = heat.bytes (gst_buffer_ref (frame));
  const Bytes shown = converted (info_of (picture.caps ()), heat.info (), frame);
  for (int percent = 0; percent <= 100; percent += 7) {
    blend.set ("opacity", percent / 100.0);
    check_blend (blend.bytes (gst_buffer_ref (frame)), shown, colours, levels, percent / 100.0,
                 "an opacity");
  }
}

/// If nothing is alike, a blend shows the frame itself; if everything is, at full opacity, it shows
/// the colour.
TEST (ends_of_a_blend)
{
  Bytes values (64 * 8, 0);
  for (gsize i = 0; i < values.size (); i++)
    values[i] = i % 64 < 32 ? 40 : 220;
  const Texture picture (64, 8, values);
  g_autoptr (GstBuffer) frame = counted (picture, 2);
  const std::string properties =
      "histogram=0,1 measure=intersection window-width=1 window-height=1 step=1 opacity=1 mode=";
  Likelihood heat (properties + "heat", picture.caps ()),
      blend (properties + "blend", picture.caps ());
  const Bytes colours = heat.bytes (gst_buffer_ref (frame)),
              mixed = blend.bytes (gst_buffer_ref (frame));
  const Bytes shown = converted (info_of (picture.caps ()), heat.info (), frame);
  for (gsize i = 0; i < mixed.size (); i++)
    if (i % 4 < 3)
      fail_unless_equals_int (mixed[i], (i / 4 % 64 < 32 ? shown : colours)[i]);
}

/// In frames that have room for it a bar shows which colour is 0 and which is 1.
TEST (scale)
{
  for (const auto &[width, height, has_room] :
       { std::tuple (320, 240, true), std::tuple (160, 120, true), std::tuple (333, 481, true),
         std::tuple (160, 2400, true), std::tuple (159, 120, false), std::tuple (160, 119, false) })
    for (const char *mode : { "heat", "blend", "gray" }) {
      const Texture picture (width, height, 1);
      GstBuffer *frame = counted (picture);
      const std::string properties = std::string ("step=8 mode=") + mode;
      Likelihood with (properties, picture.caps ()),
          without (properties + " scale=false", picture.caps ());
      const Bytes a = with.bytes (gst_buffer_ref (frame)),
                  b = without.bytes (gst_buffer_ref (frame));
      const bool is_drawn = has_room && std::string (mode) != "gray";
      fail_unless_equals_int (a != b, is_drawn);
      with.set ("opacity", 0.0);
      without.set ("opacity", 0.0);
      if (std::string (mode) == "blend")
        fail_unless (with.bytes (gst_buffer_ref (frame)) == without.bytes (gst_buffer_ref (frame)),
                     "a frame alone has a scale");
      gst_buffer_unref (frame);
      if (!is_drawn)
        continue;

      // only in the lower right corner
      const auto pixel = [&, w = width] (int x, int y) { return &a[gsize (4 * (y * w + x))]; };
      for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
          if (x < width / 2 || y < height * 7 / 8) {
            const gsize i = gsize (4 * (y * width + x));
            fail_unless (std::equal (&a[i], &a[i + 4], &b[i]), "%s: pixel %d,%d", mode, x, y);
          }
      // one of its rows has the colours of 0 and 1 as the ends of a bar that gets ever lighter
      const auto is = [&] (int x, int y, std::array<int, 3> rgb) {
        return pixel (x, y)[2] == rgb[0] && pixel (x, y)[1] == rgb[1] && pixel (x, y)[0] == rgb[2];
      };
      const std::array lowest = { 68, 1, 84 }, highest = { 253, 231, 37 }, ink = { 255, 255, 255 };
      int rows = 0;
      std::array<int, 2> inked = {};  // to the left and to the right
      for (int y = height * 7 / 8; y < height; y++) {
        int first = -1, last = -1;
        for (int x = width / 2; x < width; x++) {
          if (first < 0 && is (x, y, lowest))
            first = x;
          if (is (x, y, highest))
            last = x;
        }
        if (first < 0 || last - first != width / 4 - 1)
          continue;
        rows++;
        for (int x = first + 1; x <= last; x++) {
          const auto light = [&] (int at) { return 2 * pixel (at, y)[2] + 5 * pixel (at, y)[1]; };
          fail_unless (light (x) + 16 >= light (x - 1), "%s: pixel %d,%d", mode, x, y);
        }
        for (int x = width / 2; x < width; x++)
          inked[x > last] += is (x, y, ink) && (x < first || x > last);
      }
      const int dot = std::clamp (height / 240, 1, width / 84);
      fail_unless_equals_int (rows, 5 * dot);
      fail_unless_equals_int (inked[0], 12 * dot * dot);  // the points of a 0
      fail_unless_equals_int (inked[1], 8 * dot * dot);   // and of a 1
    }
}

namespace {

/// CIELAB of sRGB.
std::array<double, 3> lab (const guint8 *bgrx)
{
  std::array<double, 3> c;  // linear r, g, b
  for (int i = 0; i < 3; i++) {
    const double v = bgrx[2 - i] / 255.0;
    c[i] = v <= 0.04045 ? v / 12.92 : std::pow ((v + 0.055) / 1.055, 2.4);
  }
  const auto f = [] (double t) { return t > 0.008856 ? std::cbrt (t) : 7.787 * t + 16.0 / 116; };
  const double x = f ((0.4124 * c[0] + 0.3576 * c[1] + 0.1805 * c[2]) / 0.9505),
               y = f (0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]),
               z = f ((0.0193 * c[0] + 0.1192 * c[1] + 0.9505 * c[2]) / 1.089);
  return { 116 * y - 16, 500 * (x - y), 200 * (y - z) };
}

}  // namespace

/// A colour for each level, lighter and lighter, in steps that look the same.
TEST (colours)
{
  // one window at each pixel, and each with another level: of two bins the first has 0 to 255 parts
  // of 255
  std::array<const guint8 *, 256> colour_of = {};
  std::vector<Bytes> kept;
  for (int bright = 0; bright <= 255; bright++) {
    Bytes values (255, 0);
    std::fill_n (values.begin (), bright, 255);
    const Texture picture (255, 1, values);
    GstBuffer *frame = counted (picture, 2);
    const std::string properties =
        "histogram=0,1 measure=intersection window-width=1000 step=64 mode=";
    Likelihood gray (properties + "gray", picture.caps ()),
        heat (properties + "heat", picture.caps ());
    fail_unless_equals_int (gray.bytes (gst_buffer_ref (frame))[0], bright);
    kept.push_back (heat.bytes (frame));
  }
  for (gsize i = 0; i < 256; i++)
    colour_of[i] = kept[i].data ();
  for (int i = 16; i < 256; i++) {
    const auto a = lab (colour_of[i - 16]), b = lab (colour_of[i]);
    const double step = std::hypot (b[0] - a[0], b[1] - a[1], b[2] - a[2]);
    fail_unless (b[0] > a[0] + 3 && step > 7 && step < 21, "%d to %d: %f lighter, %f away", i - 16,
                 i, b[0] - a[0], step);
    fail_unless_equals_int (colour_of[i][3], 255);
  }
}
