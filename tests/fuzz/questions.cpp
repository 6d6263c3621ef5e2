// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Any question about any tensor. The tensors are made once, from pictures that are known; the bytes
// of an input say which of them is asked what: rectangles, grids, models and numbers of every kind.
// What the headers allow must be answered, what they do not must be refused with an error of ours.
// Counts, sums and quantiles are compared with the pixels, measures with the formulas in double
// precision.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/integralhist/gstintegralhist.h>

#include "require.hpp"

namespace {

using Grid = GstIntegralHistogramGrid;
using Best = GstIntegralHistogramBest;
using Measure = GstIntegralHistogramMeasure;
using Rectangle = GstVideoRectangle;

constexpr int kMeasures = GST_INTEGRAL_HISTOGRAM_MEASURE_KOLMOGOROV_SMIRNOV + 1;
constexpr gint64 kMostWindows = G_MAXINT / 8;  // that the library takes at once
constexpr gint64 kManyWindows = 1500;          // that a fuzzer has time for

// pictures and their tensors

struct Picture {
  int width, height;
  std::vector<guint8> pixels;
};

/// Noise, or nearly all of one value, so that counts take more than 16 bits.
Picture make_picture (int width, int height, bool noise)
{
  Picture picture = { width, height, std::vector<guint8> (gsize (width) * height, 77) };
  std::mt19937 random (5);
  for (guint8 &pixel : picture.pixels)
    if (noise || random () % 50 == 0)
      pixel = guint8 (random ());
  return picture;
}

struct Tensor {
  const Picture *picture;
  GstBuffer *buffer;  // has the meta
  GstIntegralHistogramMeta *meta;
  GstIntegralHistogram *histogram;
  guint planes;
  bool sums;
};

std::vector<Tensor> tensors;

Tensor make_tensor (const Picture &picture, const char *element)
{
  g_autofree char *line = g_strdup_printf (
      "appsrc name=source caps=video/x-raw,format=GRAY8,width=%d,height=%d,framerate=0/1 ! "
      "%s backend=cpu tuning-time=0 ! appsink name=sink sync=false enable-last-sample=false",
      picture.width, picture.height, element);
  GstElement *const pipeline = gst_parse_launch (line, nullptr);
  REQUIRE (pipeline, "no pipeline: %s", line);
  g_autoptr (GstElement) source = gst_bin_get_by_name (GST_BIN (pipeline), "source"),
                         sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  const int stride = GST_ROUND_UP_4 (picture.width);
  GstBuffer *const frame =
      gst_buffer_new_allocate (nullptr, gsize (stride) * picture.height, nullptr);
  for (int y = 0; y < picture.height; y++)
    gst_buffer_fill (frame, gsize (y) * stride, &picture.pixels[gsize (y) * picture.width],
                     picture.width);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_app_src_push_buffer (GST_APP_SRC (source), frame);
  g_autoptr (GstSample) sample =
      gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 60 * GST_SECOND);
  REQUIRE (sample, "no sample from %s", line);
  GstBuffer *const buffer = gst_buffer_copy (gst_sample_get_buffer (sample));
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  GstIntegralHistogramMeta *const meta = gst_buffer_get_integral_histogram_meta (buffer);
  REQUIRE (meta, "no histogram from %s", line);
  GstIntegralHistogram *const histogram = meta->histogram;
  return { &picture,
           buffer,
           meta,
           histogram,
           gst_integral_histogram_get_bins (histogram),
           gst_integral_histogram_get_content (histogram) == GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS };
}

void make_tensors ()
{
  static const Picture small = make_picture (37, 29, true), large = make_picture (300, 250, false),
                       dot = make_picture (1, 1, true);
  for (const char *element :
       { "cudaintegralhist bins=8", "cudaintegralhist bins=256 counter=u16",
         "cudaintegralhist bins=7 counter=u16-anchored", "cudaintegralhist bins=1",
         "cudaintegralhist bins=20 cuda-device-ids=0,1,2",
         "cudaintegralhist bins=20 max-device-memory=40000",
         "cudaintegralhist bins=5 counter=u16 cuda-device-ids=0,1,2 task-bins=1",
         "cudaintegralimage", "cudaintegralimage squared=true" })
    tensors.push_back (make_tensor (small, element));
  for (const char *element : { "cudaintegralhist bins=3", "cudaintegralhist bins=3 counter=u16",
                               "cudaintegralhist bins=3 counter=u16-anchored",
                               "cudaintegralhist bins=9 counter=u16-anchored cuda-device-ids=0,1,2",
                               "cudaintegralimage squared=true" })
    tensors.push_back (make_tensor (large, element));
  tensors.push_back (make_tensor (dot, "cudaintegralhist bins=2 counter=u16-anchored"));
  tensors.push_back (make_tensor (dot, "cudaintegralimage"));
}

// numbers out of bytes

/// The bytes of an input, and behind them any, which depend on all of these.
class Bytes {
public:
  Bytes (const guint8 *data, std::size_t size) : at_ (data), end_ (data + size)
  {
    std::seed_seq seeds (at_, end_);
    more_.seed (seeds);
  }

  guint8 byte () { return at_ < end_ ? *at_++ : guint8 (more_ () >> 8); }
  guint below (guint n) { return byte () % n; }
  gint32 word ()
  {
    guint32 word = 0;
    for (int i = 0; i < 4; i++)
      word = word << 8 | byte ();
    return gint32 (word);
  }

  /// Mostly about the frame, sometimes at the limits, sometimes anything.
  int coordinate (int size)
  {
    const std::array<int, 12> limits = {
      G_MININT, G_MININT + 1, -1,           0,        1,       2,
      size,     size + 1,     G_MAXINT - 1, G_MAXINT, 1 << 30, -(1 << 30)
    };
    const guint8 kind = byte ();
    if (kind >= 64)
      return int (byte () * 256u + byte ()) % (size + 12) - 6;
    return kind < 56 ? limits[kind % limits.size ()] : word ();
  }

  /// Of a model: mostly valid.
  float share ()
  {
    constexpr std::array kOdd = { 0.0f,
                                  -0.0f,
                                  1.0f,
                                  std::numeric_limits<float>::denorm_min (),
                                  std::numeric_limits<float>::min (),
                                  std::numeric_limits<float>::max (),
                                  -1.0f,
                                  std::numeric_limits<float>::quiet_NaN (),
                                  std::numeric_limits<float>::infinity (),
                                  -std::numeric_limits<float>::infinity () };
    const guint8 kind = byte ();
    if (kind > 250)
      return kOdd[byte () % kOdd.size ()];
    return kind > 200 ? kOdd[kind % 6] : float (kind);
  }

  /// A number, as an enum that has no such value may not even be looked at.
  guint measure ()
  {
    const guint8 kind = byte ();
    return kind < 250 ? kind % kMeasures : guint (word ());
  }

  double quantile ()
  {
    constexpr std::array kOdd = { 0.0,
                                  -0.0,
                                  0.5,
                                  1.0,
                                  -1.0,
                                  1.0000001,
                                  std::numeric_limits<double>::quiet_NaN (),
                                  std::numeric_limits<double>::infinity () };
    const guint8 kind = byte ();
    return kind < 200 ? kind / 199.0 : kOdd[kind % kOdd.size ()];
  }

private:
  const guint8 *at_, *const end_;
  std::minstd_rand more_;
};

Rectangle rectangle_from (Bytes &bytes, const Picture &picture)
{
  const int x = bytes.coordinate (picture.width), y = bytes.coordinate (picture.height);
  return { x, y, bytes.coordinate (picture.width), bytes.coordinate (picture.height) };
}

std::vector<Rectangle> rectangles_from (Bytes &bytes, const Picture &picture, guint most)
{
  std::vector<Rectangle> rectangles (bytes.below (most + 1));
  for (Rectangle &r : rectangles)
    r = rectangle_from (bytes, picture);
  return rectangles;
}

bool is_valid (const Grid &grid)
{
  return std::min ({ grid.window_width, grid.window_height, grid.step_x, grid.step_y, grid.columns,
                     grid.rows })
             >= 1
         && gint64 (grid.columns) * grid.rows <= kMostWindows;
}

/// One that the fuzzer has time for where it is valid.
Grid grid_from (Bytes &bytes, const Picture &picture)
{
  const int w = picture.width, h = picture.height;
  Grid grid = { bytes.coordinate (w), bytes.coordinate (h), bytes.coordinate (w),
                bytes.coordinate (h), bytes.coordinate (w), bytes.coordinate (h),
                bytes.coordinate (w), bytes.coordinate (h) };
  if (is_valid (grid) && gint64 (grid.columns) * grid.rows > kManyWindows) {
    grid.columns = 1 + grid.columns % 38;
    grid.rows = 1 + grid.rows % 38;
  }
  return grid;
}

std::vector<Grid> grids_from (Bytes &bytes, const Picture &picture)
{
  std::vector<Grid> grids (bytes.below (4));
  for (Grid &grid : grids)
    grid = grid_from (bytes, picture);
  return grids;
}

std::vector<float> models_from (Bytes &bytes, gsize n)
{
  std::vector<float> models (n);
  for (float &share : models)
    share = bytes.share ();
  return models;
}

/// Whether each run of `bins` numbers is a model.
bool are_models (const std::vector<float> &numbers, gsize bins)
{
  for (gsize from = 0; from < numbers.size (); from += bins) {
    double sum = 0;
    for (gsize b = 0; b < bins; b++) {
      if (!(numbers[from + b] >= 0) || !std::isfinite (numbers[from + b]))
        return false;
      sum += double (numbers[from + b]);
    }
    if (!(sum > 0))
      return false;
  }
  return true;
}

bool is_measure (guint number)
{
  return number < guint (kMeasures);
}

/// How many windows valid grids have.
gsize count_windows (const std::vector<Grid> &grids)
{
  gsize n = 0;
  for (const Grid &grid : grids)
    n += is_valid (grid) ? gsize (grid.columns) * gsize (grid.rows) : 0;
  return n;
}

// the truth

/// A rectangle whose edges may lie anywhere.
struct Window {
  gint64 x, y, width, height;
};

Window window_of (const Rectangle &r)
{
  return { r.x, r.y, r.w, r.h };
}

Window window_of (const Grid &grid, gint64 i)
{
  return { grid.x + i % grid.columns * grid.step_x, grid.y + i / grid.columns * grid.step_y,
           grid.window_width, grid.window_height };
}

/// What the pixels of a window add up to in each plane.
std::vector<guint64> count (const Tensor &tensor, const Window &window)
{
  const Picture &picture = *tensor.picture;
  std::vector<guint64> sums (tensor.planes);
  const gint64 x1 = std::min<gint64> (window.x + window.width, picture.width),
               y1 = std::min<gint64> (window.y + window.height, picture.height);
  for (gint64 y = std::max<gint64> (window.y, 0); y < y1; y++)
    for (gint64 x = std::max<gint64> (window.x, 0); x < x1; x++) {
      const guint64 value = picture.pixels[gsize (y * picture.width + x)];
      if (!tensor.sums)
        sums[value * tensor.planes / 256]++;
      for (guint64 plane = 0, power = value; tensor.sums && plane < tensor.planes;
           plane++, power *= value)
        sums[plane] += power;
    }
  return sums;
}

/// The formulas of the header in double precision, of shares p and q; `empty` is a window without
/// pixels.
double compare (Measure measure, const std::vector<double> &p, const std::vector<double> &q,
                bool empty)
{
  double sum = 0, gap = 0, pq = 0, pp = 0, qq = 0;
  const double mean_q = 1.0 / double (q.size ()), mean_p = empty ? 0 : mean_q;
  for (gsize b = 0; b < p.size (); b++) {
    const double d = p[b] - q[b], x = p[b] - mean_p, y = q[b] - mean_q;
    gap += d;
    pq += x * y;
    pp += x * x;
    qq += y * y;
    switch (measure) {
      case GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION: sum += std::min (p[b], q[b]); break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA: sum += std::sqrt (p[b] * q[b]); break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE: sum += q[b] > 0 ? d * d / q[b] : 0; break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE_ALT:
        sum += p[b] + q[b] > 0 ? 2 * d * d / (p[b] + q[b]) : 0;
        break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_L1: sum += std::abs (d); break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_L2: sum += d * d; break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION: break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_KULLBACK_LEIBLER:
        sum += q[b] > 0 ? q[b] * std::log (q[b] / std::max (p[b], 1e-10)) : 0;
        break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_EMD: sum += std::abs (gap); break;
      case GST_INTEGRAL_HISTOGRAM_MEASURE_KOLMOGOROV_SMIRNOV:
        sum = std::max (sum, std::abs (gap));
        break;
    }
  }
  switch (measure) {
    case GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA:
      return empty ? 1 : std::sqrt (std::max (1 - sum, 0.0));
    case GST_INTEGRAL_HISTOGRAM_MEASURE_L2: return std::sqrt (sum);
    case GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION:
      return pp * qq > 1e-12 ? pq / std::sqrt (pp * qq) : 1;
    default: return sum;
  }
}

/// Whether a number is the answer, as far as single precision has it. Correlations of nearly
/// constant histograms have no digits left, and are only in their range.
void check_likelihood (const Tensor &tensor, const Window &window, const float *model,
                       Measure measure, float answer)
{
  const auto counts = count (tensor, window);
  double pixels = 0, sum = 0;
  for (gsize b = 0; b < counts.size (); b++) {
    pixels += double (counts[b]);
    sum += double (model[b]);
  }
  std::vector<double> p, q;
  bool normal = true;  // numbers that single precision has in full
  for (gsize b = 0; b < counts.size (); b++) {
    p.push_back (pixels > 0 ? double (counts[b]) / pixels : 0);
    q.push_back (double (model[b]) / sum);
    normal &= q[b] == 0 || q[b] > 1e-6;
  }
  REQUIRE (std::isfinite (answer), "measure %d answers %g", measure, double (answer));
  if (measure == GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION)
    return REQUIRE (std::abs (answer) <= 1.001f, "a correlation is %g", double (answer));
  if (!normal && measure == GST_INTEGRAL_HISTOGRAM_MEASURE_CHI_SQUARE)
    return REQUIRE (answer >= 0, "a sum of squares is %g", double (answer));
  const double truth = compare (measure, p, q, pixels == 0);
  // the root of a small difference has half of its digits
  const double tolerance = measure == GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA
                               ? 2e-3
                               : 2e-5 * double (counts.size ());
  REQUIRE (std::abs (truth - double (answer)) <= tolerance * std::max (1.0, std::abs (truth)),
           "measure %d answers %.9g instead of %.9g", measure, double (answer), truth);
}

bool is_better (Measure measure, float a, float b)
{
  const bool more_is_better = measure == GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION
                              || measure == GST_INTEGRAL_HISTOGRAM_MEASURE_CORRELATION;
  return more_is_better ? a > b : a < b;
}

/// Whether `best` is the best of the answers: in a list the first of equals, on a grid the one
/// nearest to the middle.
void check_best (const Best &best, const float *answers, gint64 n, const Grid *grid,
                 Measure measure)
{
  REQUIRE (best.index >= 0 && best.index < n, "the best of %" G_GINT64_FORMAT " is number %d", n,
           best.index);
  REQUIRE (best.value == answers[best.index], "the best has %g, and its window %g",
           double (best.value), double (answers[best.index]));
  const auto distance = [grid] (gint64 i) -> double {
    if (!grid)
      return 0;
    const double dx = 2.0 * double (i % grid->columns) - (grid->columns - 1),
                 dy = 2.0 * double (i / grid->columns) - (grid->rows - 1);
    return dx * dx + dy * dy;
  };
  for (gint64 i = 0; i < n; i++) {
    REQUIRE (!is_better (measure, answers[i], best.value),
             "number %" G_GINT64_FORMAT " is better than the best", i);
    if (answers[i] == best.value && i < best.index)
      REQUIRE (distance (i) >= distance (best.index) && (grid || i == best.index),
               "number %" G_GINT64_FORMAT " is as good, and comes first", i);
  }
}

// questions

/// Takes what a question returned, and whether it should have been answered.
class Verdict {
public:
  ~Verdict () { g_clear_error (&error_); }

  GError **error () { return &error_; }

  bool check (bool answered, bool valid)
  {
    REQUIRE (answered == !error_, "answered: %d, and the error is: %s", answered,
             error_ ? error_->message : "none");
    if (error_) {
      REQUIRE (error_->domain == GST_INTEGRAL_HISTOGRAM_ERROR, "the domain is %s",
               g_quark_to_string (error_->domain));
      REQUIRE (error_->code >= 0 && error_->code <= GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION,
               "the code is %d", error_->code);
      REQUIRE (error_->message && *error_->message, "the message is empty");
    }
    REQUIRE (answered == valid, "%s: %s",
             valid ? "refused, and should be answered" : "answered, and should be refused",
             error_ ? error_->message : "");
    return answered;
  }

  bool is (GstIntegralHistogramError code) const { return error_ && error_->code == code; }

private:
  GError *error_ = nullptr;
};

template <class Answer>
void check_sums (const Tensor &tensor, const Window &window, const Answer *answers)
{
  const auto truth = count (tensor, window);
  for (gsize p = 0; p < truth.size (); p++)
    REQUIRE (guint64 (answers[p]) == truth[p],
             "plane %zu of %" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
             ",%" G_GINT64_FORMAT " is %" G_GUINT64_FORMAT " instead of %" G_GUINT64_FORMAT,
             p, window.x, window.y, window.width, window.height, guint64 (answers[p]), truth[p]);
}

bool fits_32_bits (const Tensor &tensor, const std::vector<Rectangle> &rectangles)
{
  return std::ranges::all_of (rectangles, [&] (const Rectangle &r) {
    return std::ranges::all_of (count (tensor, window_of (r)),
                                [] (guint64 sum) { return sum <= G_MAXUINT32; });
  });
}

void ask_region (const Tensor &tensor, Bytes &bytes)
{
  const Rectangle r = rectangle_from (bytes, *tensor.picture);
  const bool fits = fits_32_bits (tensor, { r });
  Verdict counted, added;
  std::vector<guint32> counts (tensor.planes);
  if (counted.check (gst_integral_histogram_region (tensor.histogram, r.x, r.y, r.w, r.h,
                                                    counts.data (), counted.error ()),
                     fits))
    check_sums (tensor, window_of (r), counts.data ());
  gsize n = 0;
  g_autofree guint64 *sums = gst_integral_histogram_query_region_sums (
      tensor.histogram, r.x, r.y, r.w, r.h, &n, added.error ());
  added.check (sums, true);
  REQUIRE (n == tensor.planes, "%zu sums of %u planes", n, tensor.planes);
  check_sums (tensor, window_of (r), sums);
}

void ask_regions (const Tensor &tensor, Bytes &bytes)
{
  const auto rectangles = rectangles_from (bytes, *tensor.picture, 9);
  const guint n = guint (rectangles.size ());
  std::vector<guint32> counts (n * tensor.planes);
  std::vector<guint64> sums (n * tensor.planes);
  Verdict counted, added;
  const bool fits = fits_32_bits (tensor, rectangles);
  if (counted.check (gst_integral_histogram_regions (tensor.histogram, rectangles.data (), n,
                                                     counts.data (), counted.error ()),
                     fits))
    for (guint i = 0; i < n; i++)
      check_sums (tensor, window_of (rectangles[i]), &counts[i * tensor.planes]);
  added.check (gst_integral_histogram_regions_sums (tensor.histogram, rectangles.data (), n,
                                                    sums.data (), added.error ()),
               true);
  for (guint i = 0; i < n; i++)
    check_sums (tensor, window_of (rectangles[i]), &sums[i * tensor.planes]);
}

/// The forms for language bindings, which take lists of any length.
void ask_list (const Tensor &tensor, Bytes &bytes)
{
  std::vector<gint> values (bytes.below (30));
  for (gint &value : values)
    value = bytes.coordinate (tensor.picture->width);
  std::vector<Rectangle> rectangles;
  for (gsize i = 0; i + 3 < values.size (); i += 4)
    rectangles.push_back ({ values[i], values[i + 1], values[i + 2], values[i + 3] });
  const bool whole = values.size () % 4 == 0;
  Verdict counted, added;
  g_autoptr (GBytes) counts = gst_integral_histogram_query_regions (
      tensor.histogram, values.data (), values.size (), counted.error ());
  counted.check (counts, whole && fits_32_bits (tensor, rectangles));
  g_autoptr (GBytes) sums = gst_integral_histogram_query_regions_sums (
      tensor.histogram, values.data (), values.size (), added.error ());
  if (!added.check (sums, whole))
    return;
  REQUIRE (g_bytes_get_size (sums) == rectangles.size () * tensor.planes * sizeof (guint64),
           "%zu bytes", g_bytes_get_size (sums));
  const auto *const answers = static_cast<const guint64 *> (g_bytes_get_data (sums, nullptr));
  for (gsize i = 0; i < rectangles.size (); i++)
    check_sums (tensor, window_of (rectangles[i]), answers + i * tensor.planes);
}

bool all_valid (const std::vector<Grid> &grids)
{
  return std::ranges::all_of (grids, [] (const Grid &grid) { return is_valid (grid); });
}

void ask_grids (const Tensor &tensor, Bytes &bytes)
{
  const auto grids = grids_from (bytes, *tensor.picture);
  const guint some = bytes.byte ();
  std::vector<guint32> counts (count_windows (grids) * tensor.planes + 1);
  Verdict verdict;
  if (!verdict.check (gst_integral_histogram_grids (tensor.histogram, grids.data (),
                                                    guint (grids.size ()), counts.data (),
                                                    verdict.error ()),
                      !tensor.sums && all_valid (grids)))
    return;
  const guint32 *answers = counts.data ();
  for (const Grid &grid : grids) {
    const gint64 n = gint64 (grid.columns) * grid.rows;
    for (gint64 i = some % n; i < n; i += 1 + n / 16)
      check_sums (tensor, window_of (grid, i), answers + i * tensor.planes);
    answers += n * tensor.planes;
  }
}

void ask_likelihoods (const Tensor &tensor, Bytes &bytes)
{
  auto rectangles = rectangles_from (bytes, *tensor.picture, 9);
  rectangles.push_back (rectangle_from (bytes, *tensor.picture));  // one at least
  const auto model = models_from (bytes, tensor.planes);
  const guint measure = bytes.measure ();
  std::vector<float> values (rectangles.size ());
  Best best;
  Verdict verdict;
  if (!verdict.check (gst_integral_histogram_likelihoods (tensor.histogram, rectangles.data (),
                                                          guint (rectangles.size ()), model.data (),
                                                          Measure (measure), values.data (), &best,
                                                          verdict.error ()),
                      !tensor.sums && are_models (model, tensor.planes) && is_measure (measure)))
    return;
  for (gsize i = 0; i < values.size (); i++)
    check_likelihood (tensor, window_of (rectangles[i]), model.data (), Measure (measure),
                      values[i]);
  check_best (best, values.data (), gint64 (values.size ()), nullptr, Measure (measure));
}

void ask_likelihood_maps (const Tensor &tensor, Bytes &bytes)
{
  const auto grids = grids_from (bytes, *tensor.picture);
  const guint measure = bytes.measure ();
  const auto model = models_from (bytes, tensor.planes);
  std::vector<float> maps (count_windows (grids) + 1);
  std::vector<Best> bests (grids.size () + 1), bests_alone (grids.size () + 1);
  Verdict verdict, alone;
  const bool valid = !tensor.sums && are_models (model, tensor.planes) && all_valid (grids)
                     && (grids.empty () || is_measure (measure));
  const guint n_grids = guint (grids.size ());
  if (!verdict.check (gst_integral_histogram_likelihood_maps (
                          tensor.histogram, grids.data (), n_grids, model.data (),
                          Measure (measure), maps.data (), bests.data (), verdict.error ()),
                      valid))
    return;
  alone.check (gst_integral_histogram_likelihood_maps (tensor.histogram, grids.data (), n_grids,
                                                       model.data (), Measure (measure), nullptr,
                                                       bests_alone.data (), alone.error ()),
               true);
  const float *answers = maps.data ();
  for (gsize g = 0; g < grids.size (); g++) {
    const gint64 n = gint64 (grids[g].columns) * grids[g].rows;
    for (gint64 i = 0; i < n; i += 1 + n / 8)
      check_likelihood (tensor, window_of (grids[g], i), model.data (), Measure (measure),
                        answers[i]);
    check_best (bests[g], answers, n, &grids[g], Measure (measure));
    REQUIRE (bests[g].index == bests_alone[g].index && bests[g].value == bests_alone[g].value,
             "without a map another window is the best");
    answers += n;
  }
}

void ask_quantile_maps (const Tensor &tensor, Bytes &bytes)
{
  const auto grids = grids_from (bytes, *tensor.picture);
  const double quantile = bytes.quantile ();
  std::vector<gint32> maps (count_windows (grids) + 1);
  Verdict verdict;
  if (!verdict.check (gst_integral_histogram_quantile_maps (tensor.histogram, grids.data (),
                                                            guint (grids.size ()), quantile,
                                                            maps.data (), verdict.error ()),
                      !tensor.sums && quantile >= 0 && quantile <= 1 && all_valid (grids)))
    return;
  const gint32 *answers = maps.data ();
  for (const Grid &grid : grids) {
    const gint64 n = gint64 (grid.columns) * grid.rows;
    for (gint64 i = 0; i < n; i += 1 + n / 8) {
      const auto counts = count (tensor, window_of (grid, i));
      guint64 pixels = 0, so_far = 0;
      for (const guint64 c : counts)
        pixels += c;
      gint32 truth = -1;
      for (gsize b = 0; b < counts.size () && truth < 0 && pixels > 0; b++) {
        so_far += counts[b];
        if (so_far > 0 && double (so_far) >= quantile * double (pixels))
          truth = gint32 (b);
      }
      REQUIRE (answers[i] == truth,
               "quantile %.17g of window %" G_GINT64_FORMAT " is %d instead of %d", quantile, i,
               answers[i], truth);
    }
    answers += n;
  }
}

/// The votes for a window, from the likelihoods of each of its patches; nothing where a patch
/// starts outside of 32 bits.
void check_votes (const Tensor &tensor, const GstIntegralHistogramSearch &search, guint measure,
                  gint64 window, float answer)
{
  const Window at = window_of (search.grid, window);
  std::vector<float> values;
  for (guint i = 0; i < search.n_patches; i++) {
    const Rectangle &patch = search.patches[i];
    const gint64 x = at.x + patch.x, y = at.y + patch.y;
    if (x != gint (x) || y != gint (y))
      return;
    const Rectangle there = { gint (x), gint (y), patch.w, patch.h };
    float value;
    Verdict verdict;
    verdict.check (gst_integral_histogram_likelihoods (
                       tensor.histogram, &there, 1, search.models + gsize (i) * tensor.planes,
                       Measure (measure), &value, nullptr, verdict.error ()),
                   true);
    values.push_back (value);
  }
  std::ranges::sort (values,
                     [measure] (float a, float b) { return is_better (Measure (measure), a, b); });
  REQUIRE (answer == values[search.rank], "the vote is %.9g, and that of the patches %.9g",
           double (answer), double (values[search.rank]));
}

void ask_vote_maps (const Tensor &tensor, Bytes &bytes)
{
  const auto patches = rectangles_from (bytes, *tensor.picture, 6);
  const Grid grid = grid_from (bytes, *tensor.picture);
  const guint rank =
      bytes.below (200) < 190 ? bytes.below (guint (patches.size ()) + 1) : guint (bytes.word ());
  const guint measure = bytes.measure ();
  const auto models = models_from (bytes, patches.size () * tensor.planes);
  const GstIntegralHistogramSearch search = { grid, patches.data (), guint (patches.size ()),
                                              models.data (), rank };
  std::vector<float> map (count_windows ({ grid }) + 1);
  Best best;
  Verdict verdict;
  if (!verdict.check (gst_integral_histogram_vote_maps (tensor.histogram, &search, 1,
                                                        Measure (measure), map.data (), &best,
                                                        verdict.error ()),
                      !tensor.sums && !patches.empty () && rank < patches.size () && is_valid (grid)
                          && is_measure (measure) && are_models (models, tensor.planes)))
    return;
  const gint64 n = gint64 (grid.columns) * grid.rows;
  for (gint64 i = 0; i < n; i += 1 + n / 8)
    check_votes (tensor, search, measure, i, map[i]);
  check_best (best, map.data (), n, &grid, Measure (measure));
}

/// The forms for language bindings, with lists of wrong lengths.
void ask_maps_in_bytes (const Tensor &tensor, Bytes &bytes)
{
  const Grid grid = grid_from (bytes, *tensor.picture);
  const guint measure = bytes.measure ();
  const gsize n_model = bytes.below (8) ? tensor.planes : bytes.byte (),
              n_values = bytes.below (20);
  const auto model = models_from (bytes, n_model);
  std::vector<gint> values (n_values);
  for (gint &value : values)
    value = bytes.coordinate (tensor.picture->width);
  const gsize n_models = bytes.below (8) ? n_values / 4 * tensor.planes : bytes.byte ();
  const auto models = models_from (bytes, n_models);
  const guint rank = bytes.below (5);
  const double quantile = bytes.quantile ();
  const bool askable = !tensor.sums && is_valid (grid);
  Verdict counted, compared, ranked, voted;
  Best best;

  g_autoptr (GBytes) counts =
      gst_integral_histogram_query_grid (tensor.histogram, &grid, counted.error ());
  counted.check (counts, askable);
  g_autoptr (GBytes) likelihoods = gst_integral_histogram_query_likelihood_map (
      tensor.histogram, &grid, model.data (), n_model, Measure (measure), &best, compared.error ());
  compared.check (likelihoods, askable && n_model == tensor.planes
                                   && are_models (model, tensor.planes) && is_measure (measure));
  g_autoptr (GBytes) quantiles = gst_integral_histogram_query_quantile_map (
      tensor.histogram, &grid, quantile, ranked.error ());
  ranked.check (quantiles, askable && quantile >= 0 && quantile <= 1);
  g_autoptr (GBytes) votes = gst_integral_histogram_query_vote_map (
      tensor.histogram, &grid, values.data (), n_values, models.data (), n_models, rank,
      Measure (measure), nullptr, voted.error ());
  voted.check (votes, askable && n_values % 4 == 0 && n_values > 0
                          && n_models == n_values / 4 * tensor.planes && rank < n_values / 4
                          && are_models (models, tensor.planes) && is_measure (measure));
}

/// Where the tensor lies, and each of its elements.
void look_at (const Tensor &tensor, Bytes &bytes)
{
  GstIntegralHistogram *const histogram = tensor.histogram;
  const guint n_shards = gst_integral_histogram_get_n_shards (histogram),
              index = bytes.below (2) ? bytes.below (8) : guint (bytes.word ());
  guint first_bin = 0;
  g_autoptr (GstIntegralHistogram) shard =
      gst_integral_histogram_get_shard (histogram, index, &first_bin);
  REQUIRE (n_shards >= 1 && (shard != nullptr) == (index < n_shards), "shard %u of %u", index,
           n_shards);
  if (shard) {
    std::vector<guint32> counts (gst_integral_histogram_get_bins (shard));
    REQUIRE (first_bin + counts.size () <= tensor.planes, "bins %u to %zu", first_bin,
             first_bin + counts.size ());
    const Rectangle r = rectangle_from (bytes, *tensor.picture);
    if (!tensor.sums) {
      Verdict verdict;
      verdict.check (gst_integral_histogram_region (shard, r.x, r.y, r.w, r.h, counts.data (),
                                                    verdict.error ()),
                     true);
      const auto truth = count (tensor, window_of (r));
      REQUIRE (std::equal (counts.begin (), counts.end (), truth.begin () + first_bin),
               "shard %u has other counts", index);
    }
  }

  Verdict verdict, waited;
  waited.check (gst_integral_histogram_wait (
                    histogram, bytes.below (2) ? 0 : guint64 (bytes.word ()), waited.error ()),
                true);
  g_autoptr (GstBuffer) buffer = gst_integral_histogram_get_buffer (histogram, verdict.error ());
  verdict.check (buffer, true);
  const int x = int (bytes.word () & G_MAXINT) % tensor.picture->width,
            y = int (bytes.word () & G_MAXINT) % tensor.picture->height;
  const auto truth = count (tensor, { 0, 0, x + 1, y + 1 });
  const bool narrow =
      gst_integral_histogram_get_counter (histogram) != GST_INTEGRAL_HISTOGRAM_COUNTER_U32;
  gsize offset;
  guint rows, columns;
  const bool anchored = gst_integral_histogram_get_anchors (histogram, &offset, &rows, &columns);
  for (guint plane = 0; plane < tensor.planes; plane++) {
    const auto read = [&] (gsize from, auto number) {
      REQUIRE (gst_buffer_extract (buffer, from, &number, sizeof number) == sizeof number,
               "the buffer ends before byte %zu", from);
      return number;
    };
    const gsize size = narrow ? 2 : 4,
                at = plane * gst_integral_histogram_get_plane_pitch (histogram)
                     + gsize (y) * gst_integral_histogram_get_row_pitch (histogram)
                     + gsize (x) * size;
    const guint32 element = narrow ? read (at, guint16 ()) : read (at, guint32 ());
    REQUIRE (element == (truth[plane] & (narrow ? 0xffff : 0xffffffff)),
             "element %d,%d of plane %u is %u", x, y, plane, element);
    if (!anchored)
      continue;
    const gsize per_row = gsize (tensor.picture->width - 1) / columns + 1,
                per_plane = (gsize (tensor.picture->height - 1) / rows + 1) * per_row;
    const guint32 anchor =
        read (offset + 4 * (plane * per_plane + gsize (y) / rows * per_row + gsize (x) / columns),
              guint32 ());
    REQUIRE (anchor + guint16 (element - anchor) == truth[plane],
             "the anchor of %d,%d in plane %u is %u", x, y, plane, anchor);
  }
}

/// A frame that was scaled since, to any size.
void ask_meta (const Tensor &tensor, Bytes &bytes)
{
  const Picture &picture = *tensor.picture;
  GstIntegralHistogramMeta meta = *tensor.meta;
  meta.width = 1 + (bytes.below (2) ? bytes.byte () : guint (bytes.word () & G_MAXINT) / 2);
  meta.height = 1 + (bytes.below (2) ? bytes.byte () : guint (bytes.word () & G_MAXINT) / 2);
  const int x = bytes.coordinate (int (std::min (meta.width, 100000u))),
            y = bytes.coordinate (int (std::min (meta.height, 100000u)));
  const int width = bytes.coordinate (picture.width), height = bytes.coordinate (picture.height);
  Verdict verdict;
  gsize n = 0;
  g_autofree guint64 *sums =
      gst_integral_histogram_meta_region_sums (&meta, x, y, width, height, &n, verdict.error ());
  verdict.check (sums, true);
  REQUIRE (n == tensor.planes, "%zu sums", n);
  // the nearest edge of the original, and of two the one away from zero
  const auto edge = [] (gint64 at, int original, guint now) -> gint64 {
    const __int128 twice = __int128 (at) * original * 2,
                   rounded = twice + (at < 0 ? -__int128 (now) : __int128 (now));
    return gint64 (CLAMP (rounded / (2 * __int128 (now)), -1, __int128 (original) + 1));
  };
  const gint64 x0 = edge (x, picture.width, meta.width),
               x1 = edge (gint64 (x) + width, picture.width, meta.width);
  const gint64 y0 = edge (y, picture.height, meta.height),
               y1 = edge (gint64 (y) + height, picture.height, meta.height);
  check_sums (tensor, { x0, y0, x1 - x0, y1 - y0 }, sums);
}

/// A tensor in host memory has no streams.
void ask_on_stream (const Tensor &tensor, Bytes &bytes)
{
  const Rectangle r = rectangle_from (bytes, *tensor.picture);
  const Grid grid = grid_from (bytes, *tensor.picture);
  const auto model = models_from (bytes, tensor.planes);
  const GstIntegralHistogramSearch search = { grid, &r, 1, model.data (), 0 };
  std::array<Verdict, 6> verdicts;
  GstIntegralHistogram *const h = tensor.histogram;
  guint32 counts;
  float values;
  gint32 quantiles;
  const guint measure = bytes.measure ();
  verdicts[0].check (
      gst_integral_histogram_regions_on_stream (h, &r, 1, &counts, nullptr, verdicts[0].error ()),
      false);
  verdicts[1].check (
      gst_integral_histogram_grids_on_stream (h, &grid, 1, &counts, nullptr, verdicts[1].error ()),
      false);
  verdicts[2].check (gst_integral_histogram_likelihoods_on_stream (
                         h, &r, 1, model.data (), Measure (measure), &values, nullptr, nullptr,
                         verdicts[2].error ()),
                     false);
  verdicts[3].check (gst_integral_histogram_likelihood_maps_on_stream (
                         h, &grid, 1, model.data (), Measure (measure), &values, nullptr, nullptr,
                         verdicts[3].error ()),
                     false);
  verdicts[4].check (gst_integral_histogram_quantile_maps_on_stream (
                         h, &grid, 1, bytes.quantile (), &quantiles, nullptr, verdicts[4].error ()),
                     false);
  verdicts[5].check (gst_integral_histogram_vote_maps_on_stream (h, &search, 1, Measure (measure),
                                                                 &values, nullptr, nullptr,
                                                                 verdicts[5].error ()),
                     false);
  REQUIRE (gst_integral_histogram_get_device_pointer (h) == 0
               && !gst_integral_histogram_get_cuda_event (h)
               && !gst_integral_histogram_get_cuda_context (h)
               && gst_integral_histogram_get_cuda_device (h) == -1,
           "a tensor in host memory is on a device");
}

constexpr void (*kQuestions[]) (const Tensor &, Bytes &) = { ask_region,        ask_regions,
                                                             ask_list,          ask_grids,
                                                             ask_likelihoods,   ask_likelihood_maps,
                                                             ask_quantile_maps, ask_vote_maps,
                                                             ask_maps_in_bytes, look_at,
                                                             ask_meta,          ask_on_stream };

}  // namespace

extern "C" int LLVMFuzzerInitialize (int *, char ***)
{
  gst_init (nullptr, nullptr);
  g_log_set_always_fatal (GLogLevelFlags (G_LOG_LEVEL_CRITICAL | G_LOG_FATAL_MASK));
  make_tensors ();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput (const std::uint8_t *data, std::size_t size)
{
  Bytes bytes (data, size);
  const Tensor &tensor = tensors[bytes.below (guint (tensors.size ()))];
  kQuestions[bytes.below (std::size (kQuestions))](tensor, bytes);
  return 0;
}
