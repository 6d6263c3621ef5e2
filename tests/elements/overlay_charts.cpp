// SPDX-License-Identifier: LGPL-2.1-or-later
//
// integralhistoverlay draws charts and labels next to boxes if the frame has histograms, also in
// scaled frames.
#include <cmath>
#include <map>
#include <set>

#include <gst/integralhist/api/histogram.hpp>

#include "broken_tensor.hpp"
#include "drawn.hpp"
#include "test.hpp"

namespace {

/// The white columns of a part of a GRAY8 frame: the height of each, all of them on one row.
std::vector<int> white_columns (const GstVideoInfo &info, const std::vector<guint8> &bytes,
                                const GstVideoRectangle &in)
{
  std::vector<int> heights;
  std::set<int> feet;
  for (int x = in.x; x < in.x + in.w; x++) {
    int height = 0, foot = 0;
    for (int y = in.y; y < in.y + in.h; y++)
      if (bytes[gsize (y * info.stride[0] + x)] >= 234) {
        height++;
        foot = y;
      }
    if (height > 0) {
      heights.push_back (height);
      feet.insert (foot);
    }
  }
  fail_unless (feet.size () <= 1, "the bars do not stand on one row");
  return heights;
}

/// 320x240 pixels of 10, but 200 in the rectangle.
GstBuffer *two_valued (const Overlay &overlay, const GstVideoRectangle &r)
{
  GstBuffer *buffer = overlay.even (10);
  GstMapInfo map;
  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  for (int y = r.y; y < r.y + r.h; y++)
    memset (map.data + y * overlay.info.stride[0] + r.x, 200, gsize (r.w));
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

}  // namespace

/// A chart for a frame of 240 rows is 32 columns of up to 16 rows.
TEST (bars)
{
  const std::string caps = caps_of ("GRAY8", 320, 240);
  const auto heights = [&] (const char *hist, const char *regions, const GstVideoRectangle &bright,
                            const GstVideoRectangle &look) {
    Overlay overlay (std::string ("histograms=true regions=") + regions, caps,
                     std::string ("cudaintegralhist backend=cpu tuning-time=0 ") + hist + " ! ");
    return white_columns (overlay.info, overlay.bytes (two_valued (overlay, bright)), look);
  };
  const auto columns = [] (int n, int height) { return std::vector<int> (gsize (n), height); };
  const auto joined = [] (std::vector<int> a, const std::vector<int> &b) {
    a.insert (a.end (), b.begin (), b.end ());
    return a;
  };
  const GstVideoRectangle below = { 0, 200, 320, 40 };
  // a quarter of the region is dark, and then three quarters
  fail_unless (heights ("bins=2", "100,100,40,40", { 110, 0, 200, 240 }, below)
               == joined (columns (16, 5), columns (16, 16)));
  fail_unless (heights ("bins=2", "100,100,40,40", { 130, 0, 190, 240 }, below)
               == joined (columns (16, 16), columns (16, 5)));
  // half of it is dark; the bins of 10 and 200 are the first and the seventh of eight
  fail_unless (heights ("bins=8", "100,100,40,40", { 120, 0, 200, 240 }, below) == columns (8, 16));
  // 256 bins: eight in each column
  fail_unless (heights ("bins=256", "100,100,40,40", { 120, 0, 200, 240 }, below)
               == columns (2, 16));
  // a chart for 720 rows is 96 columns of up to 48 rows: eight bins are three columns
  Overlay large ("histograms=true regions=100,100,40,40", caps_of ("GRAY8", 1280, 720),
                 "cudaintegralhist backend=cpu tuning-time=0 bins=256 ! ");
  fail_unless (white_columns (large.info, large.bytes (two_valued (large, { 120, 0, 200, 240 })),
                              { 0, 600, 1280, 120 })
               == columns (6, 48));
  // wherever the box is: one that fills the frame, and one in the corner of the chart, which is
  // then at the other edge
  fail_unless (heights ("bins=1", "-5,-5,400,400", { 0, 0, 0, 0 }, { 0, 0, 320, 240 })
               == columns (32, 16));
  fail_unless (heights ("bins=1", "310,20,40,40", { 0, 0, 0, 0 }, { 0, 62, 320, 178 })
               == columns (32, 16));
  fail_unless (heights ("bins=1", "0,210,40,40", { 0, 0, 0, 0 }, { 0, 0, 320, 200 })
               == columns (32, 16));
}

namespace {

constexpr int kChartWidth = 34, kChartHeight = 18, kPitch = 36;  // in frames of 240 rows

/// Frames of 320x240 pixels of 100 with small regions in the middle, and their charts.
class Charts {
public:
  explicit Charts (const std::string &properties)
      : overlay_ ("histograms=true " + properties, caps_of ("GRAY8", 320, 240),
                  "cudaintegralhist bins=1 backend=cpu tuning-time=0 ! ")
  {
  }

  void draw (int regions)
  {
    std::string text;
    for (int i = 0; i < regions; i++)
      text += (i ? ";" : "") + std::to_string (20 + 20 * i) + ",100,12,12";
    draw (text);
  }
  void draw (const std::string &regions)
  {
    overlay_.set ("regions", regions.c_str ());
    bytes_ = overlay_.bytes (overlay_.even (100));
  }

  bool is_changed (int x, int y) const { return at (x, y) != 100; }
  int changed (const GstVideoRectangle &r) const
  {
    int n = 0;
    for (int y = r.y; y < r.y + r.h; y++)
      for (int x = r.x; x < r.x + r.w; x++)
        n += is_changed (x, y);
    return n;
  }
  std::vector<guint8> part (const GstVideoRectangle &r) const
  {
    std::vector<guint8> pixels;
    for (int y = r.y; y < r.y + r.h; y++)
      for (int x = r.x; x < r.x + r.w; x++)
        pixels.push_back (at (x, y));
    return pixels;
  }

private:
  guint8 at (int x, int y) const { return bytes_[gsize (y * 320 + x)]; }

  Overlay overlay_;
  std::vector<guint8> bytes_;
};

}  // namespace

/// Charts lie side by side along the lower edge, as many as fit; a text says how many are missing.
TEST (charts_in_a_row)
{
  const GstVideoRectangle edge = { 0, 240 - kChartHeight, 320, kChartHeight };
  Charts charts ("");
  for (const int n : { 1, 2, 5, 8 }) {
    charts.draw (n);
    for (int i = 0; i < n; i++)
      fail_unless_equals_int (charts.changed ({ i * kPitch, edge.y, kChartWidth, kChartHeight }),
                              kChartWidth * kChartHeight);
    fail_unless_equals_int (charts.changed (edge), n * kChartWidth * kChartHeight);
    // elsewhere only the boxes are drawn
    fail_unless_equals_int (charts.changed ({ 0, 0, 320, 100 }), 0);
    fail_unless_equals_int (charts.changed ({ 0, 112, 320, edge.y - 112 }), 0);
  }
  const GstVideoRectangle last = { 7 * kPitch, 200, 320 - 7 * kPitch, 40 };
  std::set<std::vector<guint8>> notes;
  for (const int n : { 9, 10, 14 }) {
    charts.draw (n);
    fail_unless_equals_int (charts.changed ({ 0, edge.y, 7 * kPitch, kChartHeight }),
                            7 * kChartWidth * kChartHeight);
    fail_unless (charts.changed (last) > 100 && charts.changed (last) < 600);
    notes.insert (charts.part (last));
  }
  fail_unless_equals_int (int (notes.size ()), 3);
}

/// The text with the number of missing charts stays inside the frame if only one chart fits.
TEST (one_chart_fits)
{
  constexpr int kWidth = 44;
  Overlay overlay ("histograms=true labels=false", caps_of ("GRAY8", kWidth, 240),
                   "cudaintegralhist bins=1 backend=cpu tuning-time=0 ! ");
  std::set<std::vector<guint8>> notes;
  for (const int n : { 2, 10, 13 }) {
    std::string regions;
    for (int i = 0; i < n; i++)
      regions += (i ? ";" : "") + std::string ("2,100,12,12");
    overlay.set ("regions", regions.c_str ());
    const auto bytes = overlay.bytes (overlay.even (100));
    notes.emplace (bytes.begin () + 200 * kWidth, bytes.end ());
    int white = 0;  // in the last column, where a text has a margin
    for (int y = 200; y < 240; y++)
      white += bytes[gsize (y * kWidth + kWidth - 1)] > 200;
    fail_unless_equals_int (white, 0);
  }
  fail_unless_equals_int (int (notes.size ()), 3);
}

/// Charts do not hide a box if another edge is free.
TEST (charts_beside_boxes)
{
  struct Case {
    const char *regions;
    int y;
  };
  const int low = 240 - kChartHeight;
  for (const Case &c :
       { Case{ "0,180,60,60", 0 }, Case{ "200,180,60,60", low }, Case{ "0,0,60,60", low },
         Case{ "0,0,60,60;10,0,40,240", low }, Case{ "0,180,60,60;10,170,60,70;0,0,9,9", 0 } }) {
    Charts charts ("");
    charts.draw (std::string (c.regions));
    fail_unless_equals_int (charts.changed ({ 0, c.y, kChartWidth, kChartHeight }),
                            kChartWidth * kChartHeight);
    // where the other edge's chart would be, inside of the boxes
    fail_unless_equals_int (charts.changed ({ 14, low - c.y + 6, 16, 8 }), 0);
  }
}

/// Each chart has a caption above it, with the same name as the label of its box.
TEST (captions)
{
  Charts plain (""), named ("labels=true");
  plain.draw (2);
  named.draw (2);
  const GstVideoRectangle above = { 0, 190, 320, 240 - kChartHeight - 190 };
  fail_unless_equals_int (plain.changed (above), 0);
  fail_unless (named.changed (above) > 2 * 10 * kChartWidth);
  const GstVideoRectangle lines[] = { { 0, 205, kChartWidth, 17 },
                                      { kPitch, 205, kChartWidth, 17 } };
  fail_unless (named.part (lines[0]) != named.part (lines[1]), "region 1 and 2 have one caption");
  // the bars stay as they are
  const GstVideoRectangle bars = { 0, 240 - kChartHeight, 2 * kPitch, kChartHeight };
  fail_unless (plain.part (bars) == named.part (bars));
}

/// Bars of regions of interest, in scaled frames too, are drawn if they are requested and the frame
/// has a histogram.
TEST (bars_where_there_are_histograms)
{
  struct Case {
    const char *before, *properties;
    bool bars;
  };
  for (const Case &c :
       { Case{ "cudaintegralhist bins=2 backend=cpu tuning-time=0 ! ", "histograms=true", true },
         Case{ "cudaintegralhist bins=2 backend=cpu tuning-time=0 ! ", "histograms=false", false },
         Case{ "", "histograms=true", false },
         Case{ "cudaintegralimage backend=cpu tuning-time=0 ! ", "histograms=true", false },
         Case{ "cudaintegralimage backend=cpu tuning-time=0 ! cudaintegralhist bins=2 backend=cpu "
               "tuning-time=0 ! ",
               "histograms=true", true } }) {
    Overlay overlay (c.properties, caps_of ("GRAY8", 320, 240), c.before);
    GstBuffer *in = two_valued (overlay, { 120, 0, 20, 240 });
    add_roi (in, "face", 1, { 100, 100, 40, 40 });
    const auto before = bytes_of (in), after = overlay.bytes (in);
    int changed = 0;
    for (int y = 140; y < 240; y++)
      for (int x = 0; x < 320; x++)
        changed += before[gsize (y * 320 + x)] != after[gsize (y * 320 + x)];
    fail_unless_equals_int (changed > 0, c.bars);
    // a panel around two bars of 16 by 16 pixels each
    if (c.bars)
      fail_unless_equals_int (changed, 34 * 18);
  }
  // 200 is everywhere in the region of the scaled frame
  Overlay scaled ("histograms=true regions=50,50,20,20", caps_of ("GRAY8", 640, 480),
                  "cudaintegralhist bins=2 backend=cpu tuning-time=0 ! videoscale ! "
                  "video/x-raw,width=320,height=240 ! ");
  GstBuffer *in = two_valued (scaled, { 100, 100, 40, 40 });
  g_autoptr (GstBuffer) out = scaled.pass (in);
  const GstVideoInfo small = info_of (caps_of ("GRAY8", 320, 240));
  fail_unless (white_columns (small, bytes_of (out), { 0, 200, 100, 40 })
               == std::vector<int> (16, 16));
}

namespace {

/// 320x240 RGB pixels of a colour, and another one from column 120 on.
GstBuffer *two_coloured (const Overlay &overlay, const Rgb &left, const Rgb &right)
{
  GstBuffer *buffer = overlay.even (0);
  GstMapInfo map;
  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  for (int y = 0; y < 240; y++)
    for (int x = 0; x < 320; x++) {
      guint8 *pixel = map.data + y * overlay.info.stride[0] + 3 * x;
      const Rgb &c = x < 120 ? left : right;
      pixel[0] = guint8 (c.r);
      pixel[1] = guint8 (c.g);
      pixel[2] = guint8 (c.b);
    }
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

/// Pixels of the colour along the lower edge.
int count_of (const Overlay &overlay, const std::vector<guint8> &bytes, const Rgb &c)
{
  int n = 0;
  for (int y = 240 - kChartHeight; y < 240; y++)
    for (int x = 0; x < kChartWidth; x++) {
      const guint8 *pixel = &bytes[gsize (y * overlay.info.stride[0] + 3 * x)];
      n += std::abs (pixel[0] - c.r) < 2 && std::abs (pixel[1] - c.g) < 2
           && std::abs (pixel[2] - c.b) < 2;
    }
  return n;
}

}  // namespace

/// If bins are colours, a bar has the colour in the middle of its bin, and ends in a line of the
/// region's colour, which is white. Three quarters of the region have the first colour.
TEST (bars_in_colours)
{
  constexpr Rgb kRed = { 255, 0, 0 }, kGreen = { 0, 255, 0 }, kPureBlue = { 0, 0, 255 };
  struct Case {
    const char *feature;
    Rgb left, right, left_bar, right_bar;
    int left_columns, right_columns;
  };
  for (const Case &c : {
           // 30 and 150 degrees, of 6 bins in 32 columns
           Case{ "hue bins=6", kRed, kGreen, { 255, 127.5, 0 }, { 0, 255, 127.5 }, 5, 6 },
           // 45 and 225 degrees, and saturations of 3/4
           Case{ "hue-saturation quantization=4,2",
                 kRed,
                 kPureBlue,
                 { 255, 207, 64 },
                 { 64, 111.6, 255 },
                 4,
                 4 },
           Case{ "hsv quantization=2,1,2",
                 kRed,
                 kPureBlue,
                 { 143.4, 191, 96 },
                 { 143.4, 96, 191 },
                 8,
                 8 },
           Case{ "rgb quantization=2,2,2", kGreen, kRed, { 64, 191, 64 }, { 191, 64, 64 }, 4, 4 },
           // lumas of 182 and 54, differences of 30 and 12, and of 99 and 255
           Case{ "ycbcr quantization=2,4,2",
                 kGreen,
                 kRed,
                 { 90.9, 239, 13.8 },
                 { 164.1, 39.9, 4.6 },
                 2,
                 2 },
           Case{ "saturation bins=2", kRed, kGreen, kWhite, kWhite, 16, 0 },
           Case{ "hue bins=6 lut=0", kRed, kGreen, kWhite, kWhite, 5, 0 },
       }) {
    Overlay overlay ("histograms=true regions=90,100,40,40", caps_of ("RGB", 320, 240),
                     std::string ("cudaintegralhist backend=cpu tuning-time=0 feature=") + c.feature
                         + " ! ");
    const auto bytes = overlay.bytes (two_coloured (overlay, c.left, c.right));
    // 16 rows, and a third of them
    if (c.left_bar.b == 255 && c.right_bar.b == 255) {
      fail_unless_equals_int (count_of (overlay, bytes, kWhite),
                              16 * c.left_columns + 5 * c.right_columns);
      continue;
    }
    fail_unless_equals_int (count_of (overlay, bytes, c.left_bar), 15 * c.left_columns);
    fail_unless_equals_int (count_of (overlay, bytes, c.right_bar), 4 * c.right_columns);
    fail_unless_equals_int (count_of (overlay, bytes, kWhite), c.left_columns + c.right_columns);
  }
}

/// With labels, the feature of the charts is written behind them, except for luma.
TEST (features_are_named)
{
  const auto behind = [] (const char *feature, const char *labels, int regions) {
    Overlay overlay (std::string ("histograms=true labels=") + labels, caps_of ("RGB", 320, 240),
                     std::string ("cudaintegralhist bins=8 backend=cpu tuning-time=0 feature=")
                         + feature + " ! ");
    std::string text;
    for (int i = 0; i < regions; i++)
      text += (i ? ";" : "") + std::string ("100,100,12,12");
    overlay.set ("regions", text.c_str ());
    const auto bytes = overlay.bytes (overlay.even (100));
    std::vector<guint8> pixels;
    int changed = 0;
    for (int y = 240 - kChartHeight; y < 240; y++)
      for (int x = std::min (regions, 7) * kPitch; x < 320; x++) {
        pixels.push_back (bytes[gsize (y * overlay.info.stride[0] + 3 * x)]);
        changed += pixels.back () != 100;
      }
    return std::pair (changed, pixels);
  };
  fail_unless_equals_int (behind ("luma", "true", 1).first, 0);
  fail_unless_equals_int (behind ("value", "false", 1).first, 0);
  fail_unless (behind ("value", "true", 1).first > 200);
  fail_unless (behind ("saturation", "true", 1).first > behind ("value", "true", 1).first);
  // weights are written too
  fail_unless (behind ("luma weight=gradient", "true", 1).first > 200);
  fail_unless (behind ("value soft=true", "true", 1).first > behind ("value", "true", 1).first);
  fail_unless_equals_int (behind ("value soft=true", "false", 1).first, 0);
  // without room the text is left out, and the number of missing charts stays
  fail_unless_equals_int (behind ("saturation", "true", 8).first, kChartWidth * kChartHeight);
  fail_unless (behind ("saturation", "true", 9) == behind ("luma", "true", 9));
}

TEST (failed_query)
{
  Overlay overlay ("histograms=true regions=1,1,20,20;5,5,20,20", caps_of ("GRAY8", 64, 48));
  GstBuffer *in = overlay.even (1);
  g_autoptr (GstIntegralHistogram) histogram =
      integralhist::new_histogram (std::make_shared<BrokenTensor> (2));
  gst_buffer_add_integral_histogram_meta (in, histogram);
  expect_parts (overlay.error_of (in), { "histogram", "the device fell off the bus" });
}

TEST (labels)
{
  // how many pixels change above the box of a track
  const auto drawn = [] (const char *properties, const char *type, double confidence, int y) {
    Overlay overlay (properties, caps_of ("GRAY8", 320, 240));
    GstBuffer *in = overlay.even (90);
    auto *roi = add_roi (in, type, 1, { 100, y, 60, 60 });
    if (confidence >= 0)
      add_confidence (roi, confidence);
    const auto bytes = overlay.bytes (in);
    int above = 0, all = 0;
    for (int i = 0; i < 320 * 240; i++)
      if (bytes[gsize (i)] != 90) {
        all++;
        above += i / 320 < y;
      }
    return std::pair (above, all);
  };
  const int plain = drawn ("labels=true", "track", -1, 100).first;
  fail_unless_equals_int (drawn ("labels=false", "track", -1, 100).first, 0);
  fail_unless (plain > 200, "%d", plain);
  fail_unless (drawn ("labels=true", "track", 0.5, 100).first > plain);
  fail_unless_equals_int (drawn ("labels=true", "track", NAN, 100).first, plain);
  fail_unless_equals_int (drawn ("labels=true", "track", 1, 100).first, plain);  // a start
  fail_unless (drawn ("labels=true", "a track of another kind", -1, 100).first > plain);
  fail_unless (drawn ("labels=true", "\xff\xfe no UTF-8", -1, 100).first > plain);
  // no room above: elsewhere
  fail_unless (drawn ("labels=true", "track", -1, 0).second
               > drawn ("labels=false", "track", -1, 0).second);
}

namespace {

/// Counts the pixels of an RGB frame that have the colour of an id: its box's and its label's.
std::map<int, int> pixels_by_id (const Overlay &overlay, const std::vector<guint8> &bytes)
{
  constexpr int kColours[7][3] = { { 230, 158, 0 },  { 87, 181, 232 }, { 0, 158, 115 },
                                   { 240, 227, 66 }, { 0, 115, 179 },  { 214, 94, 0 },
                                   { 204, 120, 166 } };
  std::map<int, int> counts;
  for (int y = 0; y < overlay.info.height; y++)
    for (int x = 0; x < overlay.info.width; x++)
      for (int id = 0; id < 7; id++) {
        const guint8 *pixel = &bytes[gsize (y * overlay.info.stride[0] + 3 * x)];
        counts[id] += std::abs (pixel[0] - kColours[id][0]) <= 1
                      && std::abs (pixel[1] - kColours[id][1]) <= 1
                      && std::abs (pixel[2] - kColours[id][2]) <= 1;
      }
  return counts;
}

}  // namespace

/// Labels of boxes at one place are all visible, as far as the frame has room for them.
TEST (labels_beside_each_other)
{
  for (const auto &[width, height, all_fit] :
       { std::tuple (320, 240, true), std::tuple (320, 60, true), std::tuple (70, 200, true),
         std::tuple (120, 40, false) })
    for (const GstVideoRectangle &box : { GstVideoRectangle{ width / 2, height / 2, 4, 4 },
                                          { 0, 0, 4, 4 },
                                          { width - 4, height - 4, 4, 4 },
                                          { width / 3, 1, 4, 4 } }) {
      Overlay overlay ("labels=true", caps_of ("RGB", width, height));
      const auto alone = [&] (int id) {
        GstBuffer *in = overlay.even (0);
        add_roi (in, "face", id, box);
        return pixels_by_id (overlay, overlay.bytes (in))[id];
      };
      GstBuffer *in = overlay.even (0);
      for (int id = 0; id < 7; id++)
        add_roi (in, "face", id, box);
      auto counts = pixels_by_id (overlay, overlay.bytes (in));
      int whole = 0;
      for (int id = 0; id < 7; id++) {
        const int all = alone (id), box_pixels = box.w * box.h;
        const bool is_whole = std::abs (counts[id] - all) <= box_pixels;
        fail_unless (all > 200);
        fail_unless (is_whole || (!all_fit && counts[id] <= box_pixels),
                     "%dx%d at %d,%d: %d of %d pixels of the label %d", width, height, box.x, box.y,
                     counts[id], all, id);
        whole += is_whole;
      }
      fail_unless (all_fit ? whole == 7 : whole > 0 && whole < 7, "%dx%d: %d labels", width, height,
                   whole);
    }
}

/// A label that would lie on the charts moves.
TEST (labels_beside_charts)
{
  // the first box sends the charts to the upper edge, to which the second is near
  const GstVideoRectangle charts_area = { 0, 0, 2 * kPitch, kChartHeight };
  Charts far ("labels=true"), near ("labels=true");
  far.draw (std::string ("0,200,40,40;0,100,20,20"));
  near.draw (std::string ("0,200,40,40;0,34,20,20"));
  fail_unless_equals_int (far.changed (charts_area), 2 * kChartWidth * kChartHeight);
  fail_unless (far.part ({ 0, 0, 320, 32 }) == near.part ({ 0, 0, 320, 32 }));
  // the label is complete
  fail_unless_equals_int (far.changed ({ 0, 0, 320, 240 }), near.changed ({ 0, 0, 320, 240 }));
}
