// SPDX-License-Identifier: LGPL-2.1-or-later
//
// integralhistoverlay draws charts and labels beside boxes, where there are histograms, in frames
// that were scaled too.
#include <cmath>
#include <set>

#include "broken_tensor.hpp"
#include "drawn.hpp"

namespace {

/// The white columns of a part of a GRAY8 frame: each with how high it stands, and all of them on
/// one row.
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
GST_START_TEST (bars)
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
  const GstVideoRectangle below = { 80, 140, 100, 40 };
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
  // no room below: beside the box, to the right and to the left, or in it, and always in the frame
  fail_unless (heights ("bins=1", "100,210,40,40", { 0, 0, 0, 0 }, { 140, 0, 180, 240 })
               == columns (32, 16));
  fail_unless (heights ("bins=1", "290,210,40,40", { 0, 0, 0, 0 }, { 0, 0, 290, 240 })
               == columns (32, 16));
  fail_unless (heights ("bins=1", "-5,-5,400,400", { 0, 0, 0, 0 }, { 0, 0, 320, 240 })
               == columns (32, 16));
  fail_unless (heights ("bins=1", "310,20,40,40", { 0, 0, 0, 0 }, { 0, 62, 320, 178 })
               == columns (32, 16));
}
GST_END_TEST;

/// Bars of regions of interest, in frames that were scaled, where they are asked for and where
/// there is a histogram.
GST_START_TEST (bars_where_there_are_histograms)
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
  GstBuffer *out = scaled.pass (in);
  const GstVideoInfo small = info_of (caps_of ("GRAY8", 320, 240));
  fail_unless (white_columns (small, bytes_of (out), { 40, 70, 100, 60 })
               == std::vector<int> (16, 16));
  gst_buffer_unref (out);
}
GST_END_TEST;

GST_START_TEST (failed_query)
{
  Overlay overlay ("histograms=true regions=1,1,20,20;5,5,20,20", caps_of ("GRAY8", 64, 48));
  GstBuffer *in = overlay.even (1);
  g_autoptr (GstIntegralHistogram) histogram =
      integralhist::new_histogram (std::make_shared<BrokenTensor> (2));
  gst_buffer_add_integral_histogram_meta (in, histogram);
  const std::string error = overlay.error_of (in);
  fail_unless (error.find ("histogram") != error.npos
                   && error.find ("the device fell off the bus") != error.npos,
               "%s", error.c_str ());
}
GST_END_TEST;

GST_START_TEST (labels)
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
  fail_unless (drawn ("labels=true", "a track of another kind", -1, 100).first > plain);
  fail_unless (drawn ("labels=true", "\xff\xfe no UTF-8", -1, 100).first > plain);
  // no room above: in the box
  fail_unless (drawn ("labels=true", "track", -1, 0).second
               > drawn ("labels=false", "track", -1, 0).second);
}
GST_END_TEST;

static Suite *overlay_charts_suite ()
{
  Suite *suite = suite_create ("overlay_charts");
  TCase *tests = tcase_create ("general");
  tcase_set_timeout (tests, 120);
  suite_add_tcase (suite, tests);
  tcase_add_test (tests, bars);
  tcase_add_test (tests, bars_where_there_are_histograms);
  tcase_add_test (tests, failed_query);
  tcase_add_test (tests, labels);
  return suite;
}

GST_CHECK_MAIN (overlay_charts);
