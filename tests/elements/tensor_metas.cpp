// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Regions and likelihood maps as tensors of GstAnalytics, against pixels counted one by one. The
// test finds the tensors by their ids, as an element does that knows nothing of this library.
#include <atomic>  // before the header of gst-check, whose macros are names of the library
#include <cstdio>
#include <cstring>
#include <thread>

#include "maps.hpp"

#if HAVE_TENSORS
#include <gst/analytics/analytics.h>

#include "tables.hpp"
#include "test.hpp"

namespace {

constexpr int kWidth = 48, kHeight = 36;

std::vector<GstTensorMeta *> metas_of (GstBuffer *buffer)
{
  return all_metas<GstTensorMeta> (buffer, GST_TENSOR_META_API_TYPE);
}

/// The tensors with this id, of all metas.
std::vector<const GstTensor *> tensors_of (GstBuffer *buffer, const char *id)
{
  std::vector<const GstTensor *> tensors;
  for (GstTensorMeta *meta : metas_of (buffer))
    if (const gint i = gst_tensor_meta_get_index_from_id (meta, g_quark_from_string (id)); i >= 0)
      tensors.push_back (gst_tensor_meta_get (meta, gsize (i)));
  return tensors;
}

const GstTensor *tensor_of (GstBuffer *buffer, const char *id)
{
  const auto tensors = tensors_of (buffer, id);
  fail_unless (tensors.size () == 1, "%zu tensors %s", tensors.size (), id);
  return tensors[0];
}

/// The elements of a tensor, which must be contiguous rows of this type and shape.
template <class T>
std::vector<T> values_of (const GstTensor *tensor, GstTensorDataType type, std::vector<gsize> dims)
{
  fail_unless (tensor->layout == GST_TENSOR_LAYOUT_CONTIGUOUS
               && tensor->dims_order == GST_TENSOR_DIM_ORDER_ROW_MAJOR
               && tensor->data_type == type);
  fail_unless (std::vector<gsize> (tensor->dims, tensor->dims + tensor->num_dims) == dims);
  const auto bytes = bytes_of (tensor->data);
  std::vector<T> values (bytes.size () / sizeof (T));
  memcpy (values.data (), bytes.data (), bytes.size ());
  gsize n = 1;
  for (const gsize dim : dims)
    n *= dim;
  fail_unless (values.size () == n && bytes.size () == n * sizeof (T));
  return values;
}

std::string text_of (const GstTensor *tensor)
{
  const auto bytes = values_of<char> (tensor, GST_TENSOR_DATA_TYPE_UINT8, { tensor->dims[0] });
  return { bytes.begin (), bytes.end () };
}

/// A tensor as an inference attaches it, in a meta of its own.
constexpr const char *kForeign = "somebody-elses-v1-out";

GstTensor *foreign_tensor (gfloat value)
{
  gsize dim = 1;
  return gst_tensor_new_simple (g_quark_from_string (kForeign), GST_TENSOR_DATA_TYPE_FLOAT32,
                                gst_buffer_new_memdup (&value, sizeof value),
                                GST_TENSOR_DIM_ORDER_ROW_MAJOR, 1, &dim);
}

void add_foreign (GstBuffer *buffer, gfloat value)
{
  auto **const tensors = g_new (GstTensor *, 1);
  tensors[0] = foreign_tensor (value);
  gst_tensor_meta_set (gst_buffer_add_tensor_meta (buffer), 1, tensors);
}

void check_foreign (GstBuffer *buffer, gfloat value)
{
  const auto values =
      values_of<gfloat> (tensor_of (buffer, kForeign), GST_TENSOR_DATA_TYPE_FLOAT32, { 1 });
  fail_unless (values[0] == value);
}

constexpr GstVideoRectangle kRegions[] = { { 0, 0, 48, 36 }, { 5, 4, 12, 9 }, { 40, 30, 8, 6 } };
constexpr const char *kRegionsText =
    "regions=0,0,48,36;5,4,12,9;40,30,100,100";  // the last is clipped

/// Compares the boxes, and the counts in eight bins of luma, with those of a picture.
void check_counts (GstBuffer *buffer, const Texture &picture)
{
  const auto boxes =
      values_of<gint32> (tensor_of (buffer, "integral-histogram-regions-v1-out-boxes"),
                         GST_TENSOR_DATA_TYPE_INT32, { 3, 4 });
  const auto counts =
      values_of<guint32> (tensor_of (buffer, "integral-histogram-regions-v1-out-counts"),
                          GST_TENSOR_DATA_TYPE_UINT32, { 3, 8 });
  for (gsize r = 0; r < 3; r++) {
    const GstVideoRectangle &box = kRegions[r];
    fail_unless (boxes[4 * r] == box.x && boxes[4 * r + 1] == box.y && boxes[4 * r + 2] == box.w
                 && boxes[4 * r + 3] == box.h);
    const Numbers wanted = picture.histogram (box, 8);
    for (gsize b = 0; b < 8; b++)
      fail_unless (counts[8 * r + b] == wanted[b], "region %zu, bin %zu: %u, must be %f", r, b,
                   counts[8 * r + b], wanted[b]);
  }
}

std::string producer (const std::string &properties = "")
{
  return std::string ("cudaintegralhist tuning-time=0 backend=cpu bins=8 ") + properties;
}

}  // namespace

/// Every frame has the counts of its own pixels, once, whenever they are computed; a frame without
/// a histogram has none.
TEST (regions)
{
  for (const char *backend : kBackends)
    for (const char *compute : { "eager", "on-demand" }) {
      if (!have (backend))
        continue;
      auto h = std::make_unique<Harness> (
          std::string ("cudaintegralhist tuning-time=0 bins=8 interval=2 ") + "backend=" + backend
              + " compute=" + compute + " " + kRegionsText,
          Texture (kWidth, kHeight, 0).caps ());
      std::vector<GstBuffer *> kept;
      for (unsigned frame = 0; frame < 8; frame++)
        kept.push_back (gst_harness_push_and_pull (*h, Texture (kWidth, kHeight, frame).buffer ()));
      h.reset ();  // what is read later outlives the element
      for (unsigned frame = 0; frame < 8; frame++) {
        fail_unless_equals_int (metas_of (kept[frame]).size (), frame % 2 ? 0 : 1);
        if (frame % 2 == 0) {
          check_counts (kept[frame], Texture (kWidth, kHeight, frame));
          fail_unless (
              text_of (tensor_of (kept[frame], "integral-histogram-regions-v1-out-feature"))
              == "luma");
        }
        gst_buffer_unref (kept[frame]);
      }
    }
}

/// Without regions there is no tensor.
TEST (nobody_asks)
{
  const Texture picture (kWidth, kHeight, 0);
  g_autoptr (GstBuffer) buffer = counted (picture);
  fail_unless (metas_of (buffer).empty ());
}

/// Weights are in units of whole pixels, tables are sums. The truth is the library's answer for the
/// same frame, divided by its unit, and added pixels.
TEST (weights_and_sums)
{
  const Texture picture (kWidth, kHeight, 3);
  const std::string caps = picture.caps ();
  Harness h (std::string ("cudaintegralhist backend=cpu feature=gradient ")
                 + "weight=gradient bins=9 " + kRegionsText
                 + " ! cudaintegralimage backend=cpu squared=true " + kRegionsText,
             caps.c_str ());
  g_autoptr (GstBuffer) buffer = gst_harness_push_and_pull (h, picture.buffer ());
  fail_unless (buffer);
  fail_unless_equals_int (metas_of (buffer).size (), 2);
  const auto weights =
      values_of<double> (tensor_of (buffer, "integral-histogram-regions-v1-out-weights"),
                         GST_TENSOR_DATA_TYPE_FLOAT64, { 3, 9 });
  fail_unless (text_of (tensor_of (buffer, "integral-histogram-regions-v1-out-feature"))
               == "gradient");
  GstIntegralHistogram *histogram = histogram_of (buffer);
  std::vector<guint64> sums (3 * 9);
  fail_unless (gst_integral_histogram_regions_sums (histogram, kRegions, 3, sums.data (), nullptr));
  double all = 0;
  for (gsize i = 0; i < sums.size (); i++) {
    fail_unless (weights[i] == double (sums[i]) / 8);  // lengths of gradients come in eighths
    all += weights[i];
  }
  fail_unless (all > 0);
  const auto tables = values_of<guint64> (tensor_of (buffer, "integral-image-regions-v1-out-sums"),
                                          GST_TENSOR_DATA_TYPE_UINT64, { 3, 2 });
  const auto boxes = values_of<gint32> (tensor_of (buffer, "integral-image-regions-v1-out-boxes"),
                                        GST_TENSOR_DATA_TYPE_INT32, { 3, 4 });
  for (gsize r = 0; r < 3; r++) {
    const Sums wanted = added (picture.values, kWidth, kRegions[r]);
    fail_unless (tables[2 * r] == wanted[0] && tables[2 * r + 1] == wanted[1]
                 && boxes[4 * r] == kRegions[r].x && boxes[4 * r + 3] == kRegions[r].h);
  }
}

/// Several elements in a row attach a group each, which names its feature.
TEST (several_features)
{
  const std::string caps = caps_of ("RGB", kWidth, kHeight);
  Harness h (producer (kRegionsText)
                 + " ! cudaintegralhist backend=cpu feature=hue-saturation "
                   "quantization=4,3 "
                 + kRegionsText,
             caps.c_str ());
  g_autoptr (GstBuffer) buffer = gst_harness_push_and_pull (h, noise (info_of (caps), 1));
  const auto features = tensors_of (buffer, "integral-histogram-regions-v1-out-feature");
  const auto counts = tensors_of (buffer, "integral-histogram-regions-v1-out-counts");
  fail_unless (features.size () == 2 && counts.size () == 2);
  fail_unless (text_of (features[0]) == "luma");
  fail_unless (text_of (features[1]) == "hue-saturation 4,3");
  GstIntegralHistogram *histogram = gst_buffer_get_integral_histogram_meta_of_feature (
                                        buffer, GST_INTEGRAL_HISTOGRAM_FEATURE_HUE_SATURATION)
                                        ->histogram;
  const gsize bins = gst_integral_histogram_get_bins (histogram);
  std::vector<guint32> wanted (3 * bins);
  fail_unless (gst_integral_histogram_regions (histogram, kRegions, 3, wanted.data (), nullptr));
  fail_unless (values_of<guint32> (counts[1], GST_TENSOR_DATA_TYPE_UINT32, { 3, bins }) == wanted);
}

/// With some of the bins there are counts of these bins only, and the group names them.
TEST (some_bins)
{
  const std::string caps = caps_of ("GRAY8", kWidth, kHeight), start = "cudaintegralhist bins=32 ";
  Harness h (start + "backend=cpu " + kRegionsText + " ! " + start
                 + "first-bin=8 n-bins=5 backend=cpu " + kRegionsText,
             caps.c_str ());
  g_autoptr (GstBuffer) buffer = gst_harness_push_and_pull (h, noise (info_of (caps), 1));
  const auto features = tensors_of (buffer, "integral-histogram-regions-v1-out-feature");
  const auto counts = tensors_of (buffer, "integral-histogram-regions-v1-out-counts");
  fail_unless (features.size () == 2 && counts.size () == 2);
  fail_unless (text_of (features[1]) == "luma, bins 8 to 12 of 32");
  const auto all = values_of<guint32> (counts[0], GST_TENSOR_DATA_TYPE_UINT32, { 3, 32 });
  const auto some = values_of<guint32> (counts[1], GST_TENSOR_DATA_TYPE_UINT32, { 3, 5 });
  for (std::size_t region = 0; region < 3; region++)
    for (std::size_t b = 0; b < 5; b++)
      fail_unless (some[region * 5 + b] == all[region * 32 + 8 + b]);
}

/// Tensors of other elements stay on the buffer behind each of our elements, whether the buffer can
/// be written or has to be copied, and tensors of our elements stay too.
TEST (beside_others)
{
  const Texture picture (kWidth, kHeight, 5);
  for (const bool shared : { false, true })
    for (const char *behind :
         { "", "cudaintegralhist backend=cpu bins=4", "integralhistlikelihood mode=gray",
           "integralhisttrack method=fragments targets=5,4,12,9",
           "integralhistoverlay regions=5,4,12,9",
           "integralhistkeepmetas element=\"gdppay ! gdpdepay\"",
           // borders, which tensors do not know
           "integralhistkeepmetas element=\"videoscale ! "
           "video/x-raw,width=30,height=90,pixel-aspect-ratio=1/1 ! gdppay ! gdpdepay\"" }) {
      if (*behind && !there_is (behind, "tensor_metas"))
        continue;
      // the first makes the metas, and the second element meets them on a buffer that is shared
      Harness first (producer (kRegionsText), picture.caps ().c_str ());
      GstBuffer *in = picture.buffer ();
      add_foreign (in, 0.25f);
      GstBuffer *buffer = gst_harness_push_and_pull (first, in);
      check_foreign (buffer, 0.25f);
      if (*behind) {
        Harness second (behind, picture.caps ().c_str ());
        GstBuffer *const held = shared ? gst_buffer_ref (buffer) : nullptr;
        buffer = gst_harness_push_and_pull (second, buffer);
        fail_unless (buffer && (!shared || buffer != held), "%s", behind);
        gst_clear_buffer (const_cast<GstBuffer **> (&held));
        check_foreign (buffer, 0.25f);
      }
      check_counts (buffer, picture);
      gst_buffer_unref (buffer);
    }
}

namespace {

GstTensor *ssd_tensor (const char *what, std::vector<gfloat> values)
{
  gsize dim = values.size ();
  return gst_tensor_new_simple (
      g_quark_from_string ((std::string ("Gst.Model.ObjectDetector.") + what).c_str ()),
      GST_TENSOR_DATA_TYPE_FLOAT32,
      gst_buffer_new_memdup (values.data (), values.size () * sizeof (gfloat)),
      GST_TENSOR_DIM_ORDER_ROW_MAJOR, 1, &dim);
}

}  // namespace

/// GStreamer's own decoder of an SSD finds its tensors in front of ours and behind them.
TEST (ssd_decoder)
{
  g_autoptr (GstElementFactory) factory = gst_element_factory_find ("ssdobjectdetector");
  guint major, minor, micro, nano;
  gst_version (&major, &minor, &micro, &nano);
  if (!factory || minor >= 28) {
    printf ("SKIP: tensor_metas: ssdobjectdetector is of GStreamer 1.26 "
            "(gstreamer1.0-plugins-bad); later ones ask for caps with tensors\n");
    return;
  }
  const Texture picture (kWidth, kHeight, 6);
  Harness h (producer (kRegionsText) + " ! ssdobjectdetector", picture.caps ().c_str ());
  GstBuffer *in = picture.buffer ();
  auto **const tensors = g_new (GstTensor *, 3);
  tensors[0] = ssd_tensor ("Boxes", { 0.25f, 0.5f, 0.5f, 0.75f });  // top, left, bottom, right
  tensors[1] = ssd_tensor ("Scores", { 0.875f });
  tensors[2] = ssd_tensor ("NumDetections", { 1 });
  gst_tensor_meta_set (gst_buffer_add_tensor_meta (in), 3, tensors);
  g_autoptr (GstBuffer) buffer = gst_harness_push_and_pull (h, in);
  fail_unless (buffer);
  check_counts (buffer, picture);
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta (buffer);
  GstAnalyticsODMtd found;
  gpointer state = nullptr;
  fail_unless (relations
               && gst_analytics_relation_meta_iterate (
                   relations, &state, gst_analytics_od_mtd_get_mtd_type (), &found));
  GstVideoRectangle box;
  gfloat confidence;
  fail_unless (
      gst_analytics_od_mtd_get_location (&found, &box.x, &box.y, &box.w, &box.h, &confidence));
  fail_unless (box.x == 24 && box.y == 9 && box.w == 12 && box.h == 9 && confidence == 0.875f);
}

/// A map equals the formula over counted pixels, and its windows say where they lie. A frame that
/// shows the last map again has no map of its own.
TEST (maps)
{
  for (const int step : { 1, 3 })
    for (const char *measure : { "bhattacharyya", "intersection", "chi-square" }) {
      const Search s = { kWidth, kHeight, { 5, 4, 12, 9 }, 9, 6, step, measure };
      const std::string caps = Texture (kWidth, kHeight, 0).caps ();
      Likelihood likelihood (
          std::string ("mode=gray model=5,4,12,9 window-width=9 window-height=6 ")
              + "step=" + std::to_string (step) + " measure=" + measure,
          caps);
      std::vector<double> model;  // of the first frame
      std::vector<GstBuffer *> kept;
      for (unsigned frame = 0; frame < 4; frame++) {
        const Texture picture (kWidth, kHeight, frame);
        GstBuffer *in = frame == 2 ? picture.buffer () : counted (picture);
        GST_BUFFER_PTS (in) = frame * 40 * GST_MSECOND;
        kept.push_back (likelihood.pass (in));
      }
      model = Texture (kWidth, kHeight, 0).histogram (s.model, s.bins);
      const double most = std::ranges::max (model);
      for (double &bin : model)
        bin /= most;
      for (unsigned frame = 0; frame < 4; frame++) {
        g_autoptr (GstBuffer) out = kept[frame];
        fail_unless_equals_int (metas_of (out).size (), frame == 2 ? 0 : 1);
        if (frame != 2) {
          const Truth truth = truth_of (Texture (kWidth, kHeight, frame), s, model);
          const gsize columns = centres (kWidth, step).size (),
                      rows = centres (kHeight, step).size ();
          const auto map =
              values_of<gfloat> (tensor_of (out, "integral-histogram-likelihood-v1-out-map"),
                                 GST_TENSOR_DATA_TYPE_FLOAT32, { rows, columns });
          const auto windows =
              values_of<gfloat> (tensor_of (out, "integral-histogram-likelihood-v1-out-windows"),
                                 GST_TENSOR_DATA_TYPE_FLOAT32, { 6 });
          fail_unless (text_of (tensor_of (out, "integral-histogram-likelihood-v1-out-measure"))
                       == measure);
          for (gsize i = 0; i < map.size (); i++) {
            const GstVideoRectangle &window = truth.windows[i];
            fail_unless (std::abs (map[i] - truth.values[i]) < 1e-4, "%s, frame %u, %zu: %f, %f",
                         measure, frame, i, map[i], truth.values[i]);
            fail_unless (windows[0] + windows[2] * gfloat (i % columns) == window.x
                         && windows[1] + windows[3] * gfloat (i / columns) == window.y
                         && windows[4] == window.w && windows[5] == window.h);
          }
        }
      }
    }
}

/// Behind a scaler the windows are in pixels of the frame that carries them.
TEST (scaled_map)
{
  const Texture picture (kWidth, kHeight, 7);
  const std::string half = caps_of ("GRAY8", kWidth / 2, kHeight / 2);
  GstBuffer *in =
      counted (picture.caps (), picture.buffer (), 8, " ! videoscale ! capsfilter caps=" + half);
  Likelihood likelihood ("mode=gray model=4,4,8,6 step=2", half);
  g_autoptr (GstBuffer) out = likelihood.pass (in);
  const auto windows =
      values_of<gfloat> (tensor_of (out, "integral-histogram-likelihood-v1-out-windows"),
                         GST_TENSOR_DATA_TYPE_FLOAT32, { 6 });
  fail_unless (windows[2] == 2 && windows[3] == 2 && windows[4] == 8 && windows[5] == 6);
}

/// Many threads read one tensor while the message is made, and all see the same. Some readers copy
/// the tensor, or read a part.
TEST (read_by_many)
{
  const Texture picture (kWidth, kHeight, 8);
  Harness h (producer (std::string ("compute=on-demand ") + kRegionsText),
             picture.caps ().c_str ());
  for (int frame = 0; frame < 20; frame++) {
    g_autoptr (GstBuffer) buffer = gst_harness_push_and_pull (h, picture.buffer ());
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    const Numbers wanted = picture.histogram (kRegions[1], 8);
    const GstTensor *tensor = tensor_of (buffer, "integral-histogram-regions-v1-out-counts");
    for (int i = 0; i < 4; i++)
      threads.emplace_back ([&, i] {
        guint32 counts[8];
        g_autoptr (GstBuffer) copy =
            i % 2 ? gst_buffer_copy_deep (tensor->data) : gst_buffer_ref (tensor->data);
        const gsize got = gst_buffer_extract (copy, 8 * sizeof (guint32), counts, sizeof counts);
        wrong += got != sizeof counts || !std::equal (counts, counts + 8, wanted.begin ());
      });
    for (std::thread &thread : threads)
      thread.join ();
    fail_unless_equals_int (wrong, 0);
    GstMapInfo map;
    fail_if (gst_memory_map (gst_buffer_peek_memory (tensor->data, 0), &map, GST_MAP_WRITE));
  }
}

/// A tensor that is kept does not keep its histogram once it has been read.
TEST (kept_tensor)
{
  const Texture picture (kWidth, kHeight, 9);
  auto h = std::make_unique<Harness> (
      producer (std::string ("max-tensors=1 compute=eager ") + kRegionsText), picture.caps ());
  std::vector<GstTensor *> kept;
  for (int frame = 0; frame < 4; frame++) {  // a second histogram waits for the first
    g_autoptr (GstBuffer) buffer = gst_harness_push_and_pull (*h, picture.buffer ());
    fail_unless (buffer);
    const GstTensor *tensor = tensor_of (buffer, "integral-histogram-regions-v1-out-counts");
    kept.push_back (gst_tensor_copy (tensor));
    fail_unless (gst_buffer_get_size (tensor->data) == 3 * 8 * sizeof (guint32));
  }
  h.reset ();
  for (GstTensor *tensor : kept) {
    const auto counts = values_of<guint32> (tensor, GST_TENSOR_DATA_TYPE_UINT32, { 3, 8 });
    fail_unless (counts[8] == picture.histogram (kRegions[1], 8)[0]);
    gst_tensor_free (tensor);
  }
}

#else

/// Prints that nothing is tested.
TEST (no_tensors)
{
  printf ("SKIP: tensor_metas: built without GstTensorMeta, which GStreamer 1.26 has\n");
}

#endif
