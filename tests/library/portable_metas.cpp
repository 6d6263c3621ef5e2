// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Regions and tracks as bytes and back. The bytes are compared with bytes written out by hand, and
// the numbers with what is counted in the pixels. Bytes that are cut off, changed or random are
// refused, or give a meta that answers; sanitizers look on.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "alone.hpp"
#include "pixel_sums.hpp"
#include "repeats.hpp"
#include "test.hpp"

namespace {

constexpr int kWidth = 61, kHeight = 43;
constexpr GstVideoRectangle kRegions[] = { { 3, 4, 20, 10 }, { 0, 0, 61, 43 }, { 50, 30, 11, 13 } };
constexpr char kText[] = "regions=\"3,4,20,10;0,0,61,43;50,30,40,40\"";  // is clipped

GstBuffer *noise_of (unsigned seed, GstVideoFormat format = GST_VIDEO_FORMAT_GRAY8)
{
  return noise (info_of (caps_of (gst_video_format_to_string (format), kWidth, kHeight)), seed);
}

/// Values of a region's pixels, by value. A row has bytes behind it.
std::vector<guint64> count (GstBuffer *buffer, const GstVideoRectangle &r)
{
  return count_pixels (bytes_of (buffer), GST_ROUND_UP_4 (kWidth), r, 256);
}

GstVideoRectangle region_of (GstIntegralHistogramRegionsMeta *meta, guint i)
{
  GstVideoRectangle r;
  fail_unless (gst_integral_histogram_regions_meta_get_region (meta, i, &r.x, &r.y, &r.w, &r.h));
  return r;
}

bool is_same (const GstVideoRectangle &a, const GstVideoRectangle &b)
{
  return a.x == b.x && a.y == b.y && a.w == b.w && a.h == b.h;
}

std::vector<guint64> values (GstIntegralHistogramRegionsMeta *meta, guint index)
{
  gsize n;
  g_autoptr (GError) error = nullptr;
  g_autofree guint64 *values =
      gst_integral_histogram_regions_meta_get_values (meta, index, &n, &error);
  fail_unless (values != nullptr, "%s", error ? error->message : "");
  return { values, values + n };
}

/// All fields of a meta, as text.
std::string described (GstIntegralHistogramRegionsMeta *meta)
{
  guint parts[3];
  gst_integral_histogram_regions_meta_get_quantization (meta, parts);
  std::string text;
  for (const guint number :
       { guint (gst_integral_histogram_regions_meta_get_content (meta)),
         guint (gst_integral_histogram_regions_meta_get_feature (meta)),
         guint (gst_integral_histogram_regions_meta_get_weight_unit (meta)),
         gst_integral_histogram_regions_meta_get_bins (meta),
         gst_integral_histogram_regions_meta_get_first_bin (meta),
         gst_integral_histogram_regions_meta_get_all_bins (meta), parts[0], parts[1], parts[2] })
    text += std::to_string (number) + " ";
  for (guint i = 0; i < gst_integral_histogram_regions_meta_get_n_regions (meta); i++) {
    const GstVideoRectangle r = region_of (meta, i);
    for (const gint number : { r.x, r.y, r.w, r.h })
      text += " " + std::to_string (number);
    text +=
        " of " + std::to_string (gst_integral_histogram_regions_meta_get_pixels (meta, i)) + ":";
    for (const guint64 value : values (meta, i))
      text += " " + std::to_string (value);
  }
  return text;
}

GBytes *bytes_of (GstIntegralHistogramRegionsMeta *meta)
{
  g_autoptr (GError) error = nullptr;
  GBytes *const bytes = gst_integral_histogram_regions_meta_to_bytes (meta, &error);
  fail_unless (bytes != nullptr, "%s", error ? error->message : "");
  return bytes;
}

std::vector<guint8> vector_of (GBytes *bytes)
{
  gsize size;
  const auto *const data = static_cast<const guint8 *> (g_bytes_get_data (bytes, &size));
  return { data, data + size };
}

GstBuffer *with_regions (const std::string &element, GstVideoFormat format = GST_VIDEO_FORMAT_GRAY8)
{
  Alone alone (element + " backend=cpu tuning-time=0 " + kText,
               caps_of (gst_video_format_to_string (format), kWidth, kHeight));
  return alone.pass (noise_of (3, format));
}

using Structure = std::unique_ptr<GstStructure, decltype (&gst_structure_free)>;

Structure track (guint id, gint x, gboolean lost, const char *class_name)
{
  GstStructure *const structure =
      gst_structure_new ("track", "id", G_TYPE_UINT, id, "parent", G_TYPE_INT, 7, "x", G_TYPE_INT,
                         x, "y", G_TYPE_INT, 20, "width", G_TYPE_INT, 30, "height", G_TYPE_INT, 40,
                         "confidence", G_TYPE_DOUBLE, 0.75, "lost", G_TYPE_BOOLEAN, lost, nullptr);
  if (class_name)
    gst_structure_set (structure, "class", G_TYPE_STRING, class_name, "detection-confidence",
                       G_TYPE_DOUBLE, 0.5, nullptr);
  return { structure, gst_structure_free };
}

GstIntegralHistogramTracksMeta *add_tracks (GstBuffer *buffer, guint width, guint height,
                                            std::initializer_list<Structure> tracks)
{
  auto *const meta = gst_buffer_add_integral_histogram_tracks_meta (buffer, width, height);
  for (const Structure &one : tracks)
    fail_unless (gst_integral_histogram_tracks_meta_add_track (meta, one.get ()));
  return meta;
}

/// A buffer with three tracks, one of them lost.
GstBuffer *with_tracks ()
{
  GstBuffer *const buffer = gst_buffer_new ();
  add_tracks (buffer, 640, 480,
              { track (1, -5, FALSE, "per\xc3\xa7on"), track (G_MAXUINT, 100, FALSE, nullptr),
                track (3, 9, TRUE, "") });
  return buffer;
}

std::string described (GstIntegralHistogramTracksMeta *meta)
{
  std::string text;
  for (guint i = 0; i < gst_integral_histogram_tracks_meta_get_n_tracks (meta); i++) {
    g_autoptr (GstStructure) track = gst_integral_histogram_tracks_meta_get_track (meta, i);
    g_autofree char *line = gst_structure_to_string (track);
    text += line;
  }
  return text;
}

}  // namespace

/// The counts of the regions: late, in a copy, and after the way through bytes.
TEST (regions)
{
  const auto pixels = noise_of (3);
  GstBuffer *const buffer = with_regions ("cudaintegralhist bins=256");
  g_autoptr (GstBuffer) copy = gst_buffer_copy (buffer);
  gst_buffer_unref (buffer);
  auto *const meta = gst_buffer_get_integral_histogram_regions_meta (copy);
  fail_unless (meta != nullptr);
  fail_unless_equals_int (gst_integral_histogram_regions_meta_get_n_regions (meta), 3);
  for (guint i = 0; i < 3; i++) {
    const GstVideoRectangle &r = kRegions[i];
    fail_unless (values (meta, i) == count (pixels, r), "region %u", i);
    fail_unless_equals_int (gst_integral_histogram_regions_meta_get_pixels (meta, i), r.w * r.h);
    fail_unless (is_same (region_of (meta, i), r));
  }
  g_autoptr (GError) error = nullptr;
  gsize n = 1;
  fail_unless (!gst_integral_histogram_regions_meta_get_values (meta, 3, &n, &error) && n == 0);
  fail_unless (g_error_matches (error, GST_INTEGRAL_HISTOGRAM_ERROR,
                                GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION));
  fail_unless (!gst_integral_histogram_regions_meta_get_region (meta, 3, nullptr, nullptr, nullptr,
                                                                nullptr));
  fail_unless_equals_int (gst_integral_histogram_regions_meta_get_pixels (meta, 3), 0);
  gst_buffer_unref (pixels);
}

/// All kinds of numbers go through the bytes.
TEST (kinds)
{
  for (const char *element :
       { "cudaintegralhist bins=8", "cudaintegralhist bins=256 counter=u16",
         "cudaintegralhist feature=gradient bins=9 weight=gradient soft=true",
         // a table puts the bins of twelve parts together
         "cudaintegralhist feature=hue-saturation quantization=6,2 bins=3 "
         "lut=0,0,1,1,2,2,0,0,1,1,2,2",
         "cudaintegralhist bins=8 first-bin=3 n-bins=5", "cudaintegralhist bins=256 n-bins=255",
         "cudaintegralhist feature=gradient bins=9 weight=gradient soft=true "
         "first-bin=8",
         "cudaintegralimage" }) {
    const bool is_colour = strstr (element, "hue") != nullptr;
    g_autoptr (GstBuffer) buffer =
        with_regions (element, is_colour ? GST_VIDEO_FORMAT_I420 : GST_VIDEO_FORMAT_GRAY8);
    auto *const meta = gst_buffer_get_integral_histogram_regions_meta (buffer);
    g_autoptr (GBytes) bytes = bytes_of (meta);
    g_autoptr (GstBuffer) other = gst_buffer_new ();
    g_autoptr (GError) error = nullptr;
    auto *const back =
        gst_buffer_add_integral_histogram_regions_meta_from_bytes (other, bytes, &error);
    fail_unless (back != nullptr, "%s", error ? error->message : "");
    fail_unless (described (back) == described (meta), "%s: %s instead of %s", element,
                 described (back).c_str (), described (meta).c_str ());
    // once more, without a histogram
    g_autoptr (GBytes) again = bytes_of (back);
    fail_unless (g_bytes_equal (bytes, again));
  }
}

/// The bytes of the format are a promise: other programs may read them.
TEST (format)
{
  Alone alone ("cudaintegralhist bins=2 backend=cpu tuning-time=0 regions=\"1,0,3,2\"",
               caps_of ("GRAY8", 4, 2));
  static const guint8 kPixels[] = { 0, 255, 0, 0, 0, 0, 0, 255 };
  GstBuffer *const in = gst_buffer_new_allocate (nullptr, sizeof kPixels, nullptr);
  gst_buffer_fill (in, 0, kPixels, sizeof kPixels);
  g_autoptr (GstBuffer) buffer = alone.pass (in);
  g_autoptr (GBytes) regions = bytes_of (gst_buffer_get_integral_histogram_regions_meta (buffer));
  static const guint8 kBytes[] = {
    1,                                               // version
    0,                                               // content: counts
    2, 0,                                            // bins
    0, 0, 0, 0,                                      // feature: luma
    1, 0, 0, 0,                                      // unit of weights
    0, 0, 0, 0, 0, 0,                                // parts of a joint feature
    4, 0, 0, 0, 2, 0, 0, 0,                          // width, height
    1, 0, 0, 0,                                      // regions
    1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0,  // x, y, width, height
    6, 0, 0, 0, 0, 0, 0, 0,                          // pixels
    4, 0, 0, 0, 2, 0, 0, 0,                          // counts
  };
  fail_unless_equals_int (g_bytes_get_size (regions), sizeof kBytes);
  fail_unless (!memcmp (g_bytes_get_data (regions, nullptr), kBytes, sizeof kBytes));

  g_autoptr (GstBuffer) tracked = gst_buffer_new ();
  auto *const meta = add_tracks (tracked, 640, 480, { track (258, -2, TRUE, "ab") });
  g_autoptr (GBytes) tracks = gst_integral_histogram_tracks_meta_to_bytes (meta, nullptr);
  static const guint8 kTrack[] = {
    1,                                                              // version
    128, 2,   0,   0,   224, 1, 0,   0,                             // width, height
    1,   0,   0,   0,                                               // tracks
    2,   1,   0,   0,                                               // id
    7,   0,   0,   0,                                               // parent
    254, 255, 255, 255, 20,  0, 0,   0,  30, 0, 0, 0, 40, 0, 0, 0,  // x, y, width, height
    0,   0,   0,   0,   0,   0, 232, 63,                            // confidence, 0.75
    3,                                    // is lost, has a detection's confidence
    0,   0,   0,   0,   0,   0, 224, 63,  // which is 0.5
    2,   0,   'a', 'b',                   // class
  };
  fail_unless_equals_int (g_bytes_get_size (tracks), sizeof kTrack);
  fail_unless (!memcmp (g_bytes_get_data (tracks, nullptr), kTrack, sizeof kTrack));
}

/// A range of the bins has its own version of the format, and says which bins it has.
TEST (format_of_a_range)
{
  const auto bytes_with = [] (const char *range) {
    g_autoptr (GstBuffer) buffer = with_regions (std::string ("cudaintegralhist bins=8 ") + range);
    auto *const meta = gst_buffer_get_integral_histogram_regions_meta (buffer);
    const bool is_part = *range;
    fail_unless_equals_int (gst_integral_histogram_regions_meta_get_first_bin (meta),
                            is_part ? 3 : 0);
    fail_unless_equals_int (gst_integral_histogram_regions_meta_get_bins (meta), is_part ? 2 : 8);
    fail_unless_equals_int (gst_integral_histogram_regions_meta_get_all_bins (meta), 8);
    g_autoptr (GBytes) bytes = bytes_of (meta);
    return vector_of (bytes);
  };
  const auto all = bytes_with (""), some = bytes_with ("first-bin=3 n-bins=2");
  constexpr std::size_t kHead = 18;  // up to the parts of a joint feature
  std::vector<guint8> wanted (all.begin (), all.begin () + kHead);
  wanted[0] = 2;                                           // version
  wanted[2] = 2;                                           // bins
  wanted.insert (wanted.end (), { 3, 0, 8, 0 });           // first bin, all bins
  constexpr std::size_t kRegionBytes = 12 + 3 * (16 + 8);  // and the frame's size
  wanted.insert (wanted.end (), all.begin () + kHead, all.begin () + kHead + kRegionBytes);
  for (int region = 0; region < 3; region++) {
    const auto counts = all.begin () + kHead + kRegionBytes + region * 8 * 4;
    wanted.insert (wanted.end (), counts + 3 * 4, counts + 5 * 4);
  }
  fail_unless (some == wanted);
}

/// Tracks, and the regions of interest that come with them, once each.
TEST (tracks)
{
  g_autoptr (GstBuffer) buffer = with_tracks ();
  auto *const meta = gst_buffer_get_integral_histogram_tracks_meta (buffer);
  fail_unless (rois_of (buffer).empty ());
  g_autoptr (GBytes) bytes = gst_integral_histogram_tracks_meta_to_bytes (meta, nullptr);
  g_autoptr (GstBuffer) other = gst_buffer_new ();
  for (int twice = 0; twice < 2; twice++) {
    auto *const back =
        gst_buffer_add_integral_histogram_tracks_meta_from_bytes (other, bytes, nullptr);
    fail_unless (back && described (back) == described (meta), "%s", described (back).c_str ());
    fail_unless_equals_int (rois_of (other).size (), 2);
  }
  const auto *const roi = rois_of (other)[0];
  fail_unless (roi->roi_type == g_quark_from_string ("track") && roi->id == 1 && roi->parent_id == 7
               && gint (roi->x) == -5 && roi->y == 20 && roi->w == 30 && roi->h == 40);
  const GstStructure *const param = gst_video_region_of_interest_meta_get_param (
      const_cast<GstVideoRegionOfInterestMeta *> (roi), "track");
  double confidence, of_detection;
  fail_unless (gst_structure_get (param, "confidence", G_TYPE_DOUBLE, &confidence,
                                  "detection-confidence", G_TYPE_DOUBLE, &of_detection, nullptr));
  fail_unless (confidence == 0.75 && of_detection == 0.5);
  fail_unless_equals_string (gst_structure_get_string (param, "class"), "per\xc3\xa7on");
  // a target that was re-identified: only then the bytes have version 2
  const Structure known = track (4, 1, FALSE, nullptr);
  gst_structure_set (known.get (), "former-id", G_TYPE_UINT, G_MAXUINT, nullptr);
  fail_unless (gst_integral_histogram_tracks_meta_add_track (meta, known.get ()));
  g_autoptr (GBytes) later = gst_integral_histogram_tracks_meta_to_bytes (meta, nullptr);
  const auto version_of = [] (GBytes *of) {
    return *static_cast<const guint8 *> (g_bytes_get_data (of, nullptr));
  };
  fail_unless (version_of (bytes) == 1 && version_of (later) == 2);
  g_autoptr (GstBuffer) third = gst_buffer_new ();
  auto *const again =
      gst_buffer_add_integral_histogram_tracks_meta_from_bytes (third, later, nullptr);
  fail_unless (again && described (again) == described (meta)
               && described (again).ends_with ("former-id=(uint)4294967295;"));
  gst_structure_set (known.get (), "former-id", G_TYPE_INT, -1, nullptr);
  fail_unless (!gst_integral_histogram_tracks_meta_add_track (meta, known.get ()));
  // structures that are not a track
  const Structure one = track (1, 0, FALSE, nullptr);
  GstStructure *const bad = one.get ();
  gst_structure_set (bad, "confidence", G_TYPE_DOUBLE, double (NAN), nullptr);
  fail_unless (!gst_integral_histogram_tracks_meta_add_track (meta, bad));
  gst_structure_remove_field (bad, "confidence");
  fail_unless (gst_integral_histogram_tracks_meta_add_track (meta, bad));
  // numbers of other types are taken too, if they fit
  gst_structure_set (bad, "confidence", G_TYPE_FLOAT, 0.75, "detection-confidence", G_TYPE_INT, 1,
                     "id", G_TYPE_INT64, gint64 (9), "x", G_TYPE_UINT, 3u, "width", G_TYPE_DOUBLE,
                     30.0, nullptr);
  fail_unless (gst_integral_histogram_tracks_meta_add_track (meta, bad));
  g_autoptr (GstStructure) last = gst_integral_histogram_tracks_meta_get_track (
      meta, gst_integral_histogram_tracks_meta_get_n_tracks (meta) - 1);
  guint id;
  gint x, width;
  fail_unless (gst_structure_get (last, "confidence", G_TYPE_DOUBLE, &confidence,
                                  "detection-confidence", G_TYPE_DOUBLE, &of_detection, "id",
                                  G_TYPE_UINT, &id, "x", G_TYPE_INT, &x, "width", G_TYPE_INT,
                                  &width, nullptr));
  fail_unless (confidence == 0.75 && of_detection == 1 && id == 9 && x == 3 && width == 30);
  gst_structure_set (bad, "x", G_TYPE_DOUBLE, 3.5, nullptr);
  fail_unless (!gst_integral_histogram_tracks_meta_add_track (meta, bad));
  gst_structure_set (bad, "x", G_TYPE_INT64, G_MAXINT64, nullptr);
  fail_unless (!gst_integral_histogram_tracks_meta_add_track (meta, bad));
  gst_structure_set (bad, "x", G_TYPE_INT, 3, "detection-confidence", G_TYPE_STRING, "high",
                     nullptr);
  fail_unless (!gst_integral_histogram_tracks_meta_add_track (meta, bad));
  gst_structure_remove_field (bad, "detection-confidence");
  gst_structure_remove_field (bad, "id");
  fail_unless (!gst_integral_histogram_tracks_meta_add_track (meta, bad));
}

/// The tracker's frames have as many tracks as regions of interest, at the same places.
TEST (of_the_tracker)
{
  Alone alone ("cudaintegralhist backend=cpu bins=16 tuning-time=0 ! integralhisttrack "
               "method=fragments targets=\"10,10,20,15;30,20,20,15\"",
               caps_of ("GRAY8", kWidth, kHeight));
  g_autoptr (GstBuffer) buffer = alone.pass (noise_of (5));
  auto *const meta = gst_buffer_get_integral_histogram_tracks_meta (buffer);
  fail_unless (meta && gst_integral_histogram_tracks_meta_get_n_tracks (meta) == 2);
  const auto regions = rois_of (buffer);
  fail_unless_equals_int (regions.size (), 2);
  for (guint i = 0; i < 2; i++) {
    const auto *const roi = regions[i];
    g_autoptr (GstStructure) track = gst_integral_histogram_tracks_meta_get_track (meta, i);
    guint id;
    gint x, y, w, h;
    fail_unless (gst_structure_get (track, "id", G_TYPE_UINT, &id, "x", G_TYPE_INT, &x, "y",
                                    G_TYPE_INT, &y, "width", G_TYPE_INT, &w, "height", G_TYPE_INT,
                                    &h, nullptr));
    fail_unless (gint (id) == roi->id && x == gint (roi->x) && y == gint (roi->y)
                 && w == gint (roi->w) && h == gint (roi->h));
  }
}

/// In scaled frames places are scaled, and numbers stay.
TEST (scaled)
{
  g_autoptr (GstBuffer) buffer = with_regions ("cudaintegralhist bins=8");
  auto *const tracks = add_tracks (buffer, kWidth, kHeight, { track (1, 10, FALSE, nullptr) });
  GstVideoInfo in = gray (kWidth, kHeight), out = gray (2 * kWidth, 2 * kHeight);
  GstVideoMetaTransform scale = { &in, &out };
  g_autoptr (GstBuffer) target = gst_buffer_new ();
  auto *const regions = gst_buffer_get_integral_histogram_regions_meta (buffer);
  for (GstMeta *const meta : { &regions->meta, &tracks->meta })
    fail_unless (meta->info->transform_func (target, meta, buffer,
                                             gst_video_meta_transform_scale_get_quark (), &scale));
  auto *const now = gst_buffer_get_integral_histogram_regions_meta (target);
  for (guint i = 0; i < 3; i++) {
    const GstVideoRectangle &r = kRegions[i];
    fail_unless (is_same (region_of (now, i), { 2 * r.x, 2 * r.y, 2 * r.w, 2 * r.h }));
    fail_unless (values (now, i) == values (regions, i));
    fail_unless_equals_int (gst_integral_histogram_regions_meta_get_pixels (now, i), r.w * r.h);
  }
  g_autoptr (GstStructure) moved = gst_integral_histogram_tracks_meta_get_track (
      gst_buffer_get_integral_histogram_tracks_meta (target), 0);
  gint x, w;
  fail_unless (gst_structure_get (moved, "x", G_TYPE_INT, &x, "width", G_TYPE_INT, &w, nullptr));
  fail_unless (x == 20 && w == 60);
}

/// A track outside of its frame, for example behind a crop, has no region of interest. A track that
/// is partly inside has one.
TEST (outside)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  auto *const meta = gst_buffer_add_integral_histogram_tracks_meta (buffer, 100, 80);
  guint id = 0;
  for (const gint x : { -31, -30, -29, 0, 99, 100, G_MAXINT / 16 }) {
    const Structure one = track (id++, x, FALSE, nullptr);
    fail_unless (gst_integral_histogram_tracks_meta_add_track (meta, one.get ()));
  }
  g_autoptr (GBytes) bytes = gst_integral_histogram_tracks_meta_to_bytes (meta, nullptr);
  g_autoptr (GstBuffer) other = gst_buffer_new ();
  auto *const back =
      gst_buffer_add_integral_histogram_tracks_meta_from_bytes (other, bytes, nullptr);
  fail_unless (back && described (back) == described (meta));
  std::vector<gint> ids;
  for (const auto *roi : rois_of (other))
    ids.push_back (roi->id);
  const std::vector<gint> wanted = { 2, 3, 4 };
  fail_unless (ids == wanted);
}

/// Metas that an application adds through GStreamer's own functions are empty.
TEST (empty)
{
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  for (const GstMetaInfo *info :
       { gst_integral_histogram_meta_get_info (), gst_integral_histogram_regions_meta_get_info (),
         gst_integral_histogram_tracks_meta_get_info () })
    fail_unless (gst_buffer_add_meta (buffer, info, nullptr) != nullptr);
  g_autoptr (GstBuffer) copy = gst_buffer_copy (buffer);
  fail_unless (gst_buffer_get_integral_histogram_meta (buffer) == nullptr);
  auto *const regions = gst_buffer_get_integral_histogram_regions_meta (copy);
  auto *const tracks = gst_buffer_get_integral_histogram_tracks_meta (copy);
  fail_unless (regions && tracks);
  fail_unless_equals_int (gst_integral_histogram_regions_meta_get_n_regions (regions), 0);
  fail_unless_equals_int (gst_integral_histogram_tracks_meta_get_n_tracks (tracks), 0);
  g_autoptr (GBytes) bytes = bytes_of (regions);
  g_autoptr (GstBuffer) other = gst_buffer_new ();
  auto *const back =
      gst_buffer_add_integral_histogram_regions_meta_from_bytes (other, bytes, nullptr);
  fail_unless (back && described (back) == described (regions));
}

namespace {

struct Taken {
  bool regions, tracks;
};

/// Reads bytes as regions and as tracks, and asks the metas that result.
Taken try_bytes (const std::vector<guint8> &data)
{
  // a block of the exact size, so that sanitizers see a read behind it
  g_autoptr (GBytes) bytes = g_bytes_new (data.data (), data.size ());
  g_autoptr (GstBuffer) buffer = gst_buffer_new ();
  g_autoptr (GError) error = nullptr;
  const auto is_refused = [&] {
    return g_error_matches (error, GST_INTEGRAL_HISTOGRAM_ERROR,
                            GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION);
  };
  auto *const regions =
      gst_buffer_add_integral_histogram_regions_meta_from_bytes (buffer, bytes, &error);
  fail_unless (regions ? !described (regions).empty () : is_refused ());
  g_clear_error (&error);
  auto *const tracks =
      gst_buffer_add_integral_histogram_tracks_meta_from_bytes (buffer, bytes, &error);
  fail_unless (tracks || is_refused ());
  if (tracks)
    described (tracks);
  return { regions != nullptr, tracks != nullptr };
}

}  // namespace

TEST (hostile)
{
  std::mt19937 random (seed ());
  const auto pick = [&] (std::size_t from, std::size_t to) {
    return std::uniform_int_distribution<std::size_t> (from, to) (random);
  };
  g_autoptr (GstBuffer) buffer = with_regions ("cudaintegralhist bins=3");
  g_autoptr (GstBuffer) of_some = with_regions ("cudaintegralhist bins=8 first-bin=4 n-bins=3");
  g_autoptr (GstBuffer) tracked = with_tracks ();
  g_autoptr (GBytes) regions = bytes_of (gst_buffer_get_integral_histogram_regions_meta (buffer));
  g_autoptr (GBytes) some = bytes_of (gst_buffer_get_integral_histogram_regions_meta (of_some));
  g_autoptr (GBytes) tracks = gst_integral_histogram_tracks_meta_to_bytes (
      gst_buffer_get_integral_histogram_tracks_meta (tracked), nullptr);
  for (GBytes *const bytes : { regions, some, tracks }) {
    const bool is_tracks = bytes == tracks;
    const auto good = vector_of (bytes);
    const auto is_taken = [=] (const std::vector<guint8> &bytes) {
      const Taken taken = try_bytes (bytes);
      return is_tracks ? taken.tracks : taken.regions;
    };
    fail_unless (is_taken (good));
    for (std::size_t n = 0; n < good.size (); n++)
      fail_unless (!is_taken ({ good.begin (), good.begin () + gint64 (n) }), "%zu bytes", n);
    auto longer = good;
    longer.push_back (0);
    fail_unless (!is_taken (longer));
    auto later = good;
    later[0] = is_tracks ? 2 : 3;
    fail_unless (!is_taken (later));
    // numbers of regions and tracks that do not exist
    for (std::size_t at = 0; at + 4 <= good.size () && at < 48; at++) {
      auto many = good;
      std::fill_n (many.begin () + gint64 (at), 4, guint8 (255));
      try_bytes (many);
    }
    for (int n = 0; n < repeats (20000); n++) {
      auto changed = good;
      for (std::size_t i = pick (1, 6); i > 0; i--)
        changed[pick (0, good.size () - 1)] = guint8 (random ());
      if (pick (0, 3) == 0)
        changed.resize (pick (0, good.size () + 20));
      try_bytes (changed);
    }
  }
  for (int n = 0; n < repeats (20000); n++) {
    std::vector<guint8> bytes (pick (0, 120));
    for (guint8 &byte : bytes)
      byte = guint8 (pick (0, 2) ? random () : 0);
    if (!bytes.empty ())
      bytes[0] = guint8 (pick (1, 2));
    try_bytes (bytes);
  }
}

/// Numbers that do not fit each other are refused, though each is within its range.
TEST (contradictions)
{
  const struct {
    const char *element;
    std::size_t at;  // in the bytes; see format
    guint8 value;
  } kCases[] = {
    { "cudaintegralhist feature=gradient bins=9 weight=gradient", 8, 0 },   // the unit: 0 for 16
    { "cudaintegralhist feature=hue-saturation quantization=4,2", 14, 0 },  // 4 parts and none
    { "cudaintegralhist feature=hue-saturation quantization=4,2", 16, 1 },  // a third part
    { "cudaintegralhist bins=8", 12, 8 },                                   // luma has no parts
    { "cudaintegralhist bins=8 first-bin=4 n-bins=3", 20, 6 },              // 4 to 6 of 6 bins
    { "cudaintegralhist bins=8 first-bin=4 n-bins=3", 18, 6 },              // 6 to 8 of 8 bins
    { "cudaintegralhist bins=8 n-bins=7", 20, 7 },                          // all of them
    { "cudaintegralhist bins=8 n-bins=7", 21, 1 },                          // of 264
    { "cudaintegralhist bins=8 n-bins=7", 1, 1 },                           // a table's
  };
  for (const auto &[element, at, value] : kCases) {
    g_autoptr (GstBuffer) buffer = with_regions (element, GST_VIDEO_FORMAT_I420);
    g_autoptr (GBytes) bytes = bytes_of (gst_buffer_get_integral_histogram_regions_meta (buffer));
    auto changed = vector_of (bytes);
    fail_unless (try_bytes (changed).regions);
    fail_unless (changed[at] != value, "%s: %u", element, value);
    changed[at] = value;
    if (at == 8)  // all of it
      std::fill_n (changed.begin () + 8, 4, value);
    fail_unless (!try_bytes (changed).regions, "%s: %u at %zu", element, value, at);
  }
}

/// Metas go through GStreamer's own bytes, as unixfdsink writes them.
TEST (by_gstreamer)
{
#if GST_CHECK_VERSION(1, 24, 0)
  g_autoptr (GstBuffer) buffer = with_regions ("cudaintegralhist bins=8");
  auto *const tracks = add_tracks (buffer, kWidth, kHeight, { track (1, 10, FALSE, "cat") });
  auto *const regions = gst_buffer_get_integral_histogram_regions_meta (buffer);
  g_autoptr (GByteArray) data = g_byte_array_new ();
  guint n_metas = 0;
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta (buffer, &state))
    n_metas += gst_meta_serialize_simple (meta, data) ? 1 : 0;
  fail_unless (n_metas >= 2);
  g_autoptr (GstBuffer) other = gst_buffer_new ();
  for (gsize at = 0; n_metas > 0; n_metas--) {
    guint32 consumed = 0;
    gst_meta_deserialize (other, data->data + at, data->len - at, &consumed);
    fail_unless (consumed > 0);
    at += consumed;
  }
  fail_unless (described (gst_buffer_get_integral_histogram_regions_meta (other))
               == described (regions));
  fail_unless (described (gst_buffer_get_integral_histogram_tracks_meta (other))
               == described (tracks));
  fail_unless_equals_int (rois_of (other).size (), 1);
#else
  g_print ("SKIP: by_gstreamer: GStreamer before 1.24 makes no bytes of metas\n");
#endif
}
