// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Any question about any tensor. The bytes of an input choose the tensor and the question. A
// question that the headers allow must get the true answer, any other an error of ours.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "question_bytes.hpp"
#include "question_tensors.hpp"
#include "question_truth.hpp"

namespace {

std::vector<Tensor> tensors;

/// Takes the result of a question, and whether the question had to be answered.
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

/// Asks a question, which must be answered if it is valid. Returns the answer.
template <class Function, class... Arguments>
auto ask (bool valid, Function function, Arguments... arguments)
{
  Verdict verdict;
  const auto answer = function (arguments..., verdict.error ());
  verdict.check (answer, valid);
  return answer;
}

void ask_region (const Tensor &tensor, Bytes &bytes)
{
  const Rectangle r = rectangle_from (bytes, *tensor.picture);
  const bool fits = fits_32_bits (tensor, { r });
  std::vector<guint32> counts (tensor.planes);
  if (ask (fits, gst_integral_histogram_region, tensor.histogram, r.x, r.y, r.w, r.h,
           counts.data ()))
    check_sums (tensor, window_of (r), counts.data ());
  gsize n = 0;
  g_autofree guint64 *sums = ask (true, gst_integral_histogram_query_region_sums, tensor.histogram,
                                  r.x, r.y, r.w, r.h, &n);
  REQUIRE (n == tensor.planes, "%zu sums of %u planes", n, tensor.planes);
  check_sums (tensor, window_of (r), sums);
}

void ask_regions (const Tensor &tensor, Bytes &bytes)
{
  const auto rectangles = rectangles_from (bytes, *tensor.picture, 9);
  const guint n = guint (rectangles.size ());
  std::vector<guint32> counts (n * tensor.planes);
  std::vector<guint64> sums (n * tensor.planes);
  if (ask (fits_32_bits (tensor, rectangles), gst_integral_histogram_regions, tensor.histogram,
           rectangles.data (), n, counts.data ()))
    for (guint i = 0; i < n; i++)
      check_sums (tensor, window_of (rectangles[i]), &counts[i * tensor.planes]);
  ask (true, gst_integral_histogram_regions_sums, tensor.histogram, rectangles.data (), n,
       sums.data ());
  for (guint i = 0; i < n; i++)
    check_sums (tensor, window_of (rectangles[i]), &sums[i * tensor.planes]);
}

/// Asks through the functions for language bindings, which take lists of any length.
void ask_list (const Tensor &tensor, Bytes &bytes)
{
  std::vector<gint> values (bytes.below (30));
  for (gint &value : values)
    value = bytes.coordinate (tensor.picture->width);
  std::vector<Rectangle> rectangles;
  for (gsize i = 0; i + 3 < values.size (); i += 4)
    rectangles.push_back ({ values[i], values[i + 1], values[i + 2], values[i + 3] });
  const bool whole = values.size () % 4 == 0;
  g_autoptr (GBytes) counts =
      ask (whole && fits_32_bits (tensor, rectangles), gst_integral_histogram_query_regions,
           tensor.histogram, values.data (), values.size ());
  g_autoptr (GBytes) sums = ask (whole, gst_integral_histogram_query_regions_sums, tensor.histogram,
                                 values.data (), values.size ());
  if (!sums)
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
  if (!ask (!tensor.sums && all_valid (grids), gst_integral_histogram_grids, tensor.histogram,
            grids.data (), guint (grids.size ()), counts.data ()))
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
  if (!ask (!tensor.sums && are_models (model, tensor.planes, measure) && is_measure (measure),
            gst_integral_histogram_likelihoods, tensor.histogram, rectangles.data (),
            guint (rectangles.size ()), model.data (), Measure (measure), values.data (), &best))
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
  const bool valid = !tensor.sums && are_models (model, tensor.planes, measure) && all_valid (grids)
                     && is_measure (measure);
  const guint n_grids = guint (grids.size ());
  if (!ask (valid, gst_integral_histogram_likelihood_maps, tensor.histogram, grids.data (), n_grids,
            model.data (), Measure (measure), maps.data (), bests.data ()))
    return;
  ask (true, gst_integral_histogram_likelihood_maps, tensor.histogram, grids.data (), n_grids,
       model.data (), Measure (measure), nullptr, bests_alone.data ());
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
  if (!ask (!tensor.sums && quantile >= 0 && quantile <= 1 && all_valid (grids),
            gst_integral_histogram_quantile_maps, tensor.histogram, grids.data (),
            guint (grids.size ()), quantile, maps.data ()))
    return;
  const gint32 *answers = maps.data ();
  for (const Grid &grid : grids) {
    const gint64 n = gint64 (grid.columns) * grid.rows;
    for (gint64 i = 0; i < n; i += 1 + n / 8) {
      const auto counts = count (tensor, window_of (grid, i));
      const guint64 pixels = pixels_in (tensor, window_of (grid, i));
      guint64 so_far = 0;
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

/// Checks the votes for a window, from the likelihoods of each of its patches; nothing if a patch
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
    ask (true, gst_integral_histogram_likelihoods, tensor.histogram, &there, 1,
         search.models + gsize (i) * tensor.planes, Measure (measure), &value, nullptr);
    values.push_back (value);
  }
  std::ranges::sort (values);
  if (is_similarity (name_of (Measure (measure))))
    std::ranges::reverse (values);
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
  if (!ask (!tensor.sums && !patches.empty () && rank < patches.size () && is_valid (grid)
                && is_measure (measure) && are_models (models, tensor.planes, measure),
            gst_integral_histogram_vote_maps, tensor.histogram, &search, 1, Measure (measure),
            map.data (), &best))
    return;
  const gint64 n = gint64 (grid.columns) * grid.rows;
  for (gint64 i = 0; i < n; i += 1 + n / 8)
    check_votes (tensor, search, measure, i, map[i]);
  check_best (best, map.data (), n, &grid, Measure (measure));
}

/// Asks through the functions for language bindings, with lists of wrong lengths.
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
  Best best;

  g_autoptr (GBytes) counts =
      ask (askable, gst_integral_histogram_query_grid, tensor.histogram, &grid);
  g_autoptr (GBytes) likelihoods =
      ask (askable && n_model == tensor.planes && are_models (model, tensor.planes, measure)
               && is_measure (measure),
           gst_integral_histogram_query_likelihood_map, tensor.histogram, &grid, model.data (),
           n_model, Measure (measure), &best);
  g_autoptr (GBytes) quantiles =
      ask (askable && quantile >= 0 && quantile <= 1, gst_integral_histogram_query_quantile_map,
           tensor.histogram, &grid, quantile);
  g_autoptr (GBytes) votes =
      ask (askable && n_values % 4 == 0 && n_values > 0 && n_models == n_values / 4 * tensor.planes
               && rank < n_values / 4 && are_models (models, tensor.planes, measure)
               && is_measure (measure),
           gst_integral_histogram_query_vote_map, tensor.histogram, &grid, values.data (), n_values,
           models.data (), n_models, rank, Measure (measure), nullptr);
}

/// Reads the tensor's layout, and each of its elements.
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
      ask (true, gst_integral_histogram_region, shard, r.x, r.y, r.w, r.h, counts.data ());
      const auto truth = count (tensor, window_of (r));
      REQUIRE (std::equal (counts.begin (), counts.end (), truth.begin () + first_bin),
               "shard %u has other counts", index);
    }
  }

  ask (true, gst_integral_histogram_wait, histogram, bytes.below (2) ? 0 : guint64 (bytes.word ()));
  g_autoptr (GstBuffer) buffer = ask (true, gst_integral_histogram_get_buffer, histogram);
  const int x = int (bytes.word () & G_MAXINT) % tensor.picture->width,
            y = int (bytes.word () & G_MAXINT) % tensor.picture->height;
  const auto truth = count (tensor, { 0, 0, x + 1, y + 1 });
  const guint any_plane = bytes.below (tensor.planes + 2);
  const int any_x = int (bytes.word ()), any_y = int (bytes.word ());
  Verdict anywhere;
  const guint32 found = gst_integral_histogram_query_element (histogram, buffer, any_plane, any_x,
                                                              any_y, anywhere.error ());
  const bool refused = anywhere.is (GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION);
  anywhere.check (!refused, any_plane < tensor.planes && any_x >= -1 && any_y >= -1
                                && any_x < tensor.picture->width && any_y < tensor.picture->height);
  REQUIRE (!refused || found == 0, "refused, and answered %u", found);
  const GstIntegralHistogramCounter counter = gst_integral_histogram_get_counter (histogram);
  const bool narrow = counter != GST_INTEGRAL_HISTOGRAM_COUNTER_U32;
  const guint32 modulus = counter == GST_INTEGRAL_HISTOGRAM_COUNTER_U16 ? 0xffff : 0xffffffff;
  REQUIRE (!gst_integral_histogram_get_anchors (histogram, nullptr, nullptr, nullptr),
           "there are anchors");
  for (guint plane = 0; plane < tensor.planes; plane++) {
    Verdict read_verdict;
    const guint32 count = gst_integral_histogram_query_element (histogram, buffer, plane, x, y,
                                                                read_verdict.error ());
    read_verdict.check (true, true);
    REQUIRE (count == (truth[plane] & modulus), "H at %d,%d of plane %u is %u", x, y, plane, count);
    if (gst_integral_histogram_get_tiles (histogram, nullptr, nullptr, nullptr, nullptr))
      continue;
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
  }
}

/// Asks about a frame that has since been scaled, to any size.
void ask_meta (const Tensor &tensor, Bytes &bytes)
{
  const Picture &picture = *tensor.picture;
  GstIntegralHistogramMeta meta = *tensor.meta;
  meta.width = 1 + (bytes.below (2) ? bytes.byte () : guint (bytes.word () & G_MAXINT) / 2);
  meta.height = 1 + (bytes.below (2) ? bytes.byte () : guint (bytes.word () & G_MAXINT) / 2);
  const int x = bytes.coordinate (int (std::min (meta.width, 100000u))),
            y = bytes.coordinate (int (std::min (meta.height, 100000u)));
  const int width = bytes.coordinate (picture.width), height = bytes.coordinate (picture.height);
  gsize n = 0;
  g_autofree guint64 *sums =
      ask (true, gst_integral_histogram_meta_region_sums, &meta, x, y, width, height, &n);
  REQUIRE (n == tensor.planes, "%zu sums", n);
  // the nearest edge of the original, or of two equally near ones the one away from zero
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
  GstIntegralHistogram *const h = tensor.histogram;
  guint32 counts;
  float values;
  gint32 quantiles;
  const guint measure = bytes.measure ();
  ask (false, gst_integral_histogram_regions_on_stream, h, &r, 1, &counts, nullptr);
  ask (false, gst_integral_histogram_grids_on_stream, h, &grid, 1, &counts, nullptr);
  ask (false, gst_integral_histogram_likelihoods_on_stream, h, &r, 1, model.data (),
       Measure (measure), &values, nullptr, nullptr);
  ask (false, gst_integral_histogram_likelihood_maps_on_stream, h, &grid, 1, model.data (),
       Measure (measure), &values, nullptr, nullptr);
  ask (false, gst_integral_histogram_quantile_maps_on_stream, h, &grid, 1, bytes.quantile (),
       &quantiles, nullptr);
  ask (false, gst_integral_histogram_vote_maps_on_stream, h, &search, 1, Measure (measure), &values,
       nullptr, nullptr);
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
  tensors = make_tensors ();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput (const std::uint8_t *data, std::size_t size)
{
  Bytes bytes (data, size);
  const auto ask = [&] (const Tensor &tensor) {
    kQuestions[bytes.below (std::size (kQuestions))](tensor, bytes);
  };
  if (bytes.below (64) > 0) {
    ask (tensors[bytes.below (guint (tensors.size ()))]);
    return 0;
  }
  // a tensor that is computed on demand, for these questions only, maybe by several devices
  const Tensor fresh = make_tensor (
      large_picture (), bytes.below (2) == 0
                            ? "cudaintegralhist bins=9 compute=on-demand"
                            : "cudaintegralhist bins=9 compute=on-demand cuda-device-ids=0,1,2");
  for (guint n = bytes.below (12); n > 0; n--)
    ask (fresh);
  gst_buffer_unref (fresh.buffer);
  return 0;
}
