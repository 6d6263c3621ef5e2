// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The C API of a histogram: its properties, its shards, and its elements in host memory.
#include <gst/integralhist/gstintegralhistogram.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <kernels/tensor_view.hpp>

#include <gst/integralhist/sharded/shards.hpp>

#include "c_api.hpp"
#include "histogram.hpp"

using namespace integralhist;

GST_DEFINE_MINI_OBJECT_TYPE (GstIntegralHistogram, gst_integral_histogram);

GQuark gst_integral_histogram_error_quark (void)
{
  // G_DEFINE_QUARK has a data race
  static const GQuark quark = g_quark_from_static_string ("gst-integral-histogram-error-quark");
  return quark;
}

GType gst_integral_histogram_counter_get_type (void)
{
  static constexpr GEnumValue values[] = {
    { GST_INTEGRAL_HISTOGRAM_COUNTER_U32, "32 bits, exact below 2^32 pixels", "u32" },
    { GST_INTEGRAL_HISTOGRAM_COUNTER_U16,
      "16 bits, counts modulo 65536; answers for regions stay exact", "u16" },
    { GST_INTEGRAL_HISTOGRAM_COUNTER_U16_ANCHORED, "Alias of u16, for pipelines of 0.2",
      "u16-anchored" },
    { GST_INTEGRAL_HISTOGRAM_COUNTER_U8_TILED,
      "8 bits and a few more, in tiles of 16x16: under a third of the bytes of u32 (limit: 2^20 "
      "columns and rows)",
      "u8-tiled" },
  };
  return enum_type<values> ("GstIntegralHistogramCounter");
}

namespace {

/// Returns the name of an enumerator as the compiler spells it: "inthist::Feature::hue".
template <auto kValue>
constexpr std::string_view name_of ()
{
  constexpr std::string_view kBefore = "kValue = ";
  const std::string_view text = __PRETTY_FUNCTION__;
  const auto from = text.find (kBefore) + kBefore.size ();
  return text.substr (from, text.find_first_of (";]", from) - from);
}

/// Returns whether an enumerator's name is a prefix and then a feature's nick as an identifier,
/// such as HUE_SATURATION for "hue-saturation".
constexpr bool is_named (std::string_view name, std::string_view prefix, std::string_view nick)
{
  const auto is_same = [] (char of_name, char of_nick) {
    return of_nick == '-' ? of_name == '_' : (of_name | 0x20) == of_nick;
  };
  return name.starts_with (prefix)
         && std::ranges::equal (name.substr (prefix.size ()), nick, is_same);
}

/// Returns, at compile time, whether row kRow of the table inthist::kFeatures has the name of
/// feature kRow in the C and in the C++ enumeration.
template <std::size_t kRow>
constexpr bool names_row ()
{
  const char *const nick = inthist::kFeatures[kRow].nick;
  return is_named (name_of<inthist::Feature (kRow)> (), "inthist::Feature::", nick)
         && is_named (name_of<GstIntegralHistogramFeature (kRow)> (),
                      "GST_INTEGRAL_HISTOGRAM_FEATURE_", nick);
}

static_assert (
    []<std::size_t... kRows> (std::index_sequence<kRows...>) {
      return (... && names_row<kRows> ());
    }(std::make_index_sequence<std::size (inthist::kFeatures)> ()),
    "inthist::Feature, kFeatures and GstIntegralHistogramFeature differ");

}  // namespace

GType gst_integral_histogram_feature_get_type (void)
{
  static constexpr auto values = [] {
    std::array<GEnumValue, std::size (inthist::kFeatures)> all = {};
    for (gsize i = 0; i < all.size (); i++)
      all[i] = { gint (i), inthist::kFeatures[i].blurb, inthist::kFeatures[i].nick };
    return all;
  }();
  return enum_type<values> ("GstIntegralHistogramFeature");
}

GType gst_integral_histogram_weight_get_type (void)
{
  static constexpr GEnumValue values[] = {
    { GST_INTEGRAL_HISTOGRAM_WEIGHT_ONE, "1: pixels are counted", "one" },
    { GST_INTEGRAL_HISTOGRAM_WEIGHT_GRADIENT,
      "Length of luma's gradient, in eighths of a gray level", "gradient" },
  };
  return enum_type<values> ("GstIntegralHistogramWeight");
}

GType gst_integral_histogram_content_get_type (void)
{
  static constexpr GEnumValue values[] = {
    { GST_INTEGRAL_HISTOGRAM_CONTENT_BINS, "Pixels of each bin: an integral histogram", "bins" },
    { GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS,
      "Sums of values and of their squares: summed-area tables", "sums" },
    { GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS, "Weights of each bin's pixels", "weights" },
  };
  return enum_type<values> ("GstIntegralHistogramContent");
}

namespace {

bool has_place (const inthist::Shape &shape, guint bin, gint x, gint y)
{
  return bin < guint (shape.bins) && x >= -1 && x < shape.width && y >= -1 && y < shape.height;
}

/// Reads the element H[bin][y][x] of an integral histogram from the bytes that Tensor::host ()
/// returns. x and y may be -1, where H is 0, but must otherwise lie in the frame.
guint32 element_of (const Tensor &tensor, const void *bytes, guint bin, gint x, gint y)
{
  if (x < 0 || y < 0)
    return 0;
  return inthist::TensorView (tensor.shape, tensor.layout, bytes)
      .with_planes ([&] (const auto &plane) -> guint32 { return plane (int (bin)) (y, x); });
}

Expected<guint32> element_in (const Tensor &tensor, GstBuffer *buffer, guint bin, gint x, gint y)
{
  const inthist::Shape &shape = tensor.shape;
  if (!has_place (shape, bin, x, y))
    return error (Error::Kind::bad_question, "there is no element ", x, ",", y, " of bin ", bin,
                  ": read one of ", shape.width, "x", shape.height, " of ", shape.bins, " bins");
  GstMapInfo map;
  if (!gst_buffer_map (buffer, &map, GST_MAP_READ))
    return error (Error::Kind::failed,
                  "the buffer cannot be mapped for reading: pass one in host memory");
  const bool fits = map.size == tensor.bytes ();
  const guint32 element = fits ? element_of (tensor, map.data, bin, x, y) : 0;
  gst_buffer_unmap (buffer, &map);
  if (!fits)
    return error (Error::Kind::bad_question,
                  "the buffer does not belong to this histogram: pass the one that "
                  "gst_integral_histogram_get_buffer has returned");
  return element;
}

}  // namespace

#define GETTER(...) C_GETTER (GstIntegralHistogram, histogram, __VA_ARGS__)

GstIntegralHistogram *gst_integral_histogram_ref (GstIntegralHistogram *histogram)
{
  return reinterpret_cast<GstIntegralHistogram *> (
      gst_mini_object_ref (GST_MINI_OBJECT_CAST (histogram)));
}

void gst_integral_histogram_unref (GstIntegralHistogram *histogram)
{
  gst_mini_object_unref (GST_MINI_OBJECT_CAST (histogram));
}

GETTER (guint, gst_integral_histogram_get_width, 0, histogram->tensor->shape.width)
GETTER (guint, gst_integral_histogram_get_height, 0, histogram->tensor->shape.height)
GETTER (guint, gst_integral_histogram_get_bins, 0, histogram->tensor->shape.bins)
GETTER (guint, gst_integral_histogram_get_first_bin, 0, histogram->range.first_bin)
GETTER (guint, gst_integral_histogram_get_all_bins, 0, histogram->range.all_bins)

GstIntegralHistogramContent gst_integral_histogram_get_content (GstIntegralHistogram *histogram)
{
  g_return_val_if_fail (histogram, GST_INTEGRAL_HISTOGRAM_CONTENT_BINS);
  switch (histogram->tensor->shape.content) {
    case inthist::Content::weights: return GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS;
    case inthist::Content::sums: return GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS;
    case inthist::Content::bins: break;
  }
  return GST_INTEGRAL_HISTOGRAM_CONTENT_BINS;
}

GETTER (GstIntegralHistogramFeature, gst_integral_histogram_get_feature,
        GST_INTEGRAL_HISTOGRAM_FEATURE_LUMA, GstIntegralHistogramFeature (histogram->spec.feature))

void gst_integral_histogram_get_quantization (GstIntegralHistogram *histogram, guint parts[3])
{
  g_return_if_fail (histogram && parts);
  std::ranges::copy (histogram->spec.quantization, parts);
}

GETTER (GstIntegralHistogramWeight, gst_integral_histogram_get_weight,
        GST_INTEGRAL_HISTOGRAM_WEIGHT_ONE, GstIntegralHistogramWeight (histogram->spec.weight))
GETTER (gboolean, gst_integral_histogram_get_soft, FALSE, histogram->spec.soft)
GETTER (guint, gst_integral_histogram_get_weight_unit, 0,
        guint (inthist::unit_of (histogram->spec.weight, histogram->spec.soft)))
GETTER (guint32, gst_integral_histogram_get_lut_seqnum, GST_SEQNUM_INVALID,
        histogram->spec.lut_seqnum)

GstIntegralHistogramCounter gst_integral_histogram_get_counter (GstIntegralHistogram *histogram)
{
  g_return_val_if_fail (histogram, GST_INTEGRAL_HISTOGRAM_COUNTER_U32);
  const inthist::Type type = histogram->tensor->shape.counter;
  return type == inthist::Type::u16        ? GST_INTEGRAL_HISTOGRAM_COUNTER_U16
         : type == inthist::Type::u8_tiled ? GST_INTEGRAL_HISTOGRAM_COUNTER_U8_TILED
                                           : GST_INTEGRAL_HISTOGRAM_COUNTER_U32;
}

gboolean gst_integral_histogram_get_anchors (GstIntegralHistogram *histogram, gsize *offset,
                                             guint *row_step, guint *column_step)
{
  g_return_val_if_fail (histogram, FALSE);
  store (offset, 0);
  store (row_step, 0);
  store (column_step, 0);
  return FALSE;
}

gboolean gst_integral_histogram_get_tiles (GstIntegralHistogram *histogram, guint *columns,
                                           guint *rows, gsize *tile_bytes, gboolean *wide)
{
  g_return_val_if_fail (histogram, FALSE);
  const inthist::Shape &shape = histogram->tensor->shape;
  const bool has = shape.counter == inthist::Type::u8_tiled;
  const inthist::Tiles tiles = has ? inthist::tiles_of (shape) : inthist::Tiles ();
  store (columns, tiles.columns);
  store (rows, tiles.rows);
  store (tile_bytes, has ? tiles.bytes () : 0);
  store (wide, tiles.wide);
  return has;
}

GETTER (gsize, gst_integral_histogram_get_row_pitch, 0, histogram->tensor->layout.row_pitch)
GETTER (gsize, gst_integral_histogram_get_plane_pitch, 0, histogram->tensor->layout.plane_pitch)

guint gst_integral_histogram_get_n_shards (GstIntegralHistogram *histogram)
{
  g_return_val_if_fail (histogram, 0);
  const auto shards = histogram->tensor->shards ();
  return shards ? std::max (1u, guint (shards->size ())) : 0;
}

GstIntegralHistogram *gst_integral_histogram_get_shard (GstIntegralHistogram *histogram,
                                                        guint index, guint *first_bin)
{
  g_return_val_if_fail (histogram, nullptr);
  store (first_bin, 0);
  const auto shards = histogram->tensor->shards ();
  if (!shards)
    return nullptr;
  if (shards->empty () && index == 0)
    return gst_integral_histogram_ref (histogram);
  if (index >= shards->size ())
    return nullptr;
  const Shard &shard = (*shards)[index];
  store (first_bin, guint (shard.first_bin));
  GstIntegralHistogram *const made = new_histogram (
      std::shared_ptr<Tensor> (histogram->tensor, shard.tensor.get ()), histogram->spec);
  made->range = { histogram->range.first_bin + shard.first_bin, shard.tensor->shape.bins,
                  histogram->range.all_bins };
  return made;
}

gboolean gst_integral_histogram_wait (GstIntegralHistogram *histogram, GstClockTime timeout,
                                      GError **error)
{
  g_return_val_if_fail (histogram, FALSE);
  return to_c (histogram->tensor->wait (timeout), error);
}

GstBuffer *gst_integral_histogram_get_buffer (GstIntegralHistogram *histogram, GError **error)
{
  g_return_val_if_fail (histogram, nullptr);
  const auto data = to_c (histogram->tensor->host (), error);
  if (!data)
    return nullptr;
  const gsize bytes = histogram->tensor->bytes ();
  const auto release = [] (gpointer h) {
    gst_integral_histogram_unref (static_cast<GstIntegralHistogram *> (h));
  };
  return gst_buffer_new_wrapped_full (GST_MEMORY_FLAG_READONLY, const_cast<void *> (data), bytes, 0,
                                      bytes, gst_integral_histogram_ref (histogram), release);
}

guint32 gst_integral_histogram_get_element (GstIntegralHistogram *histogram, gconstpointer tensor,
                                            guint bin, gint x, gint y)
{
  g_return_val_if_fail (histogram && tensor && has_place (histogram->tensor->shape, bin, x, y), 0);
  return element_of (*histogram->tensor, tensor, bin, x, y);
}

guint32 gst_integral_histogram_query_element (GstIntegralHistogram *histogram, GstBuffer *buffer,
                                              guint bin, gint x, gint y, GError **error)
{
  g_return_val_if_fail (histogram && buffer, 0);
  return to_c (element_in (*histogram->tensor, buffer, bin, x, y), error);
}
