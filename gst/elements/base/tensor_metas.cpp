// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tensor_metas.hpp"

#include <algorithm>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#if HAVE_TENSORS
#include <gst/analytics/analytics.h>
#endif

#include <gst/frame/nvmm_surface.hpp>
#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/base/log.hpp>

namespace integralhist {

#if HAVE_TENSORS

namespace {

/// GstMemory with the answers about a frame's regions, computed when the memory is first mapped, as
/// elements of a GstTensor: counts in 32 bits, sums in 64 bits, weights as doubles.
struct AnswerMemory {
  GstMemory memory;
  std::shared_ptr<RegionAnswers> answers;
  std::once_flag made;  // guards `counts` and `weights`
  std::vector<guint32> counts;
  std::vector<double> weights;

  gsize element_size () const
  {
    return answers->asked.content == GST_INTEGRAL_HISTOGRAM_CONTENT_BINS ? 4 : 8;
  }

  gconstpointer elements (std::span<const guint64> values)
  {
    const RegionQuery &asked = answers->asked;
    switch (asked.content) {
      case GST_INTEGRAL_HISTOGRAM_CONTENT_BINS:
        std::call_once (made, [&] { counts.assign (values.begin (), values.end ()); });
        return counts.data ();
      case GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS:
        std::call_once (made, [&] {  // exact
          for (const guint64 value : values)
            weights.push_back (double (value) / asked.weight_unit);
        });
        return weights.data ();
      case GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS: break;
    }
    return values.data ();
  }
};

gpointer answer_memory_map (GstMemory *memory, gsize, GstMapFlags)
{
  auto &mapped = *reinterpret_cast<AnswerMemory *> (memory);
  if (const auto values = mapped.answers->ask ())
    return const_cast<gpointer> (mapped.elements (*values));
  else
    GST_WARNING ("the tensor of a frame's regions cannot be read: %s",
                 values.error ().message.c_str ());
  return nullptr;
}

void answer_memory_unmap (GstMemory *) {}

}  // namespace

G_DECLARE_FINAL_TYPE (GstIntegralHistAnswerAllocator, gst_integral_hist_answer_allocator, GST,
                      INTEGRAL_HIST_ANSWER_ALLOCATOR, GstAllocator)
struct _GstIntegralHistAnswerAllocator {
  GstAllocator parent;
};
G_DEFINE_FINAL_TYPE (GstIntegralHistAnswerAllocator, gst_integral_hist_answer_allocator,
                     GST_TYPE_ALLOCATOR)

static void gst_integral_hist_answer_allocator_free (GstAllocator *, GstMemory *memory)
{
  delete reinterpret_cast<AnswerMemory *> (memory);
}

static void
gst_integral_hist_answer_allocator_class_init (GstIntegralHistAnswerAllocatorClass *klass)
{
  GST_ALLOCATOR_CLASS (klass)->free = gst_integral_hist_answer_allocator_free;
}

static void gst_integral_hist_answer_allocator_init (GstIntegralHistAnswerAllocator *self)
{
  GstAllocator *const allocator = GST_ALLOCATOR (self);
  allocator->mem_type = "IntegralHistAnswers";
  allocator->mem_map = answer_memory_map;
  allocator->mem_unmap = answer_memory_unmap;
  GST_OBJECT_FLAG_SET (allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

static GstBuffer *promised_values (const std::shared_ptr<RegionAnswers> &answers)
{
  static GstAllocator *const allocator = [] {
    auto *made =
        GST_ALLOCATOR (g_object_new (gst_integral_hist_answer_allocator_get_type (), nullptr));
    gst_object_ref_sink (made);
    GST_OBJECT_FLAG_SET (made, GST_OBJECT_FLAG_MAY_BE_LEAKED);
    return made;
  }();
  constexpr auto kFlags = GstMemoryFlags (GST_MEMORY_FLAG_READONLY | GST_MEMORY_FLAG_NO_SHARE);
  auto *const memory = new AnswerMemory{ {}, answers, {}, {}, {} };
  const gsize bytes = answers->asked.n_values () * memory->element_size ();
  gst_memory_init (&memory->memory, kFlags, allocator, nullptr, bytes, 0, 0, bytes);
  GstBuffer *buffer = gst_buffer_new ();
  gst_buffer_append_memory (buffer, &memory->memory);
  return buffer;
}

/// Returns a row-major GstTensor that takes over the buffer `data`.
static GstTensor *tensor_in_rows (const char *id, GstTensorDataType type, GstBuffer *data,
                                  std::vector<gsize> dims)
{
  return gst_tensor_new_simple (g_quark_from_static_string (id), type, data,
                                GST_TENSOR_DIM_ORDER_ROW_MAJOR, dims.size (), dims.data ());
}

static GstTensor *text_tensor (const char *id, const std::string &text)
{
  return tensor_in_rows (id, GST_TENSOR_DATA_TYPE_UINT8,
                         gst_buffer_new_memdup (text.data (), text.size ()), { text.size () });
}

/// Adds a GstTensorMeta even if there is one: gst_buffer_add_tensor_meta () before GStreamer 1.26.6
/// returned another element's meta, and setting that meta freed the other element's tensors.
static void add_meta (GstBuffer *buffer, const std::vector<GstTensor *> &tensors)
{
  auto *const meta = reinterpret_cast<GstTensorMeta *> (
      gst_buffer_add_meta (buffer, gst_tensor_meta_get_info (), nullptr));
  auto **const all = g_new (GstTensor *, tensors.size ());
  std::ranges::copy (tensors, all);
  gst_tensor_meta_set (meta, guint (tensors.size ()), all);
}

void attach_region_tensors (GstBuffer *buffer, const std::shared_ptr<RegionAnswers> &answers)
{
  const RegionQuery &asked = answers->asked;
  const gsize n = asked.regions.size ();
  const std::vector<gsize> dims = { n, asked.planes };
  GstBuffer *const values = promised_values (answers);
  std::vector<gint32> sides;
  for (const GstVideoRectangle &r : asked.regions)
    for (const gint side : { r.x, r.y, r.w, r.h })
      sides.push_back (side);
  GstBuffer *const boxes = gst_buffer_new_memdup (sides.data (), 4 * sides.size ());
  if (asked.content == GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS) {
    add_meta (buffer, { tensor_in_rows ("integral-image-regions-v1-out-sums",
                                        GST_TENSOR_DATA_TYPE_UINT64, values, dims),
                        tensor_in_rows ("integral-image-regions-v1-out-boxes",
                                        GST_TENSOR_DATA_TYPE_INT32, boxes, { n, 4 }) });
    return;
  }
  const bool are_counts = asked.content == GST_INTEGRAL_HISTOGRAM_CONTENT_BINS;
  const std::string parts = text_of (asked.spec.quantization),
                    bins = asked.spec.range ? ", " + describe (*asked.spec.range) : "";
  add_meta (buffer, { are_counts ? tensor_in_rows ("integral-histogram-regions-v1-out-counts",
                                                   GST_TENSOR_DATA_TYPE_UINT32, values, dims)
                                 : tensor_in_rows ("integral-histogram-regions-v1-out-weights",
                                                   GST_TENSOR_DATA_TYPE_FLOAT64, values, dims),
                      tensor_in_rows ("integral-histogram-regions-v1-out-boxes",
                                      GST_TENSOR_DATA_TYPE_INT32, boxes, { n, 4 }),
                      text_tensor ("integral-histogram-regions-v1-out-feature",
                                   joined (inthist::info_of (asked.spec.feature).nick,
                                           parts.empty () ? "" : " ", parts, bins)) });
}

void attach_map_tensors (GstBuffer *buffer, GstBuffer *values, const MapWindows &windows,
                         const char *measure)
{
  const std::array<gfloat, 6> places = { gfloat (windows.x),      gfloat (windows.y),
                                         gfloat (windows.x_step), gfloat (windows.y_step),
                                         gfloat (windows.width),  gfloat (windows.height) };
  add_meta (buffer, { tensor_in_rows ("integral-histogram-likelihood-v1-out-map",
                                      GST_TENSOR_DATA_TYPE_FLOAT32, gst_buffer_ref (values),
                                      { windows.rows, windows.columns }),
                      tensor_in_rows ("integral-histogram-likelihood-v1-out-windows",
                                      GST_TENSOR_DATA_TYPE_FLOAT32,
                                      gst_buffer_new_memdup (places.data (), sizeof places), { 6 }),
                      text_tensor ("integral-histogram-likelihood-v1-out-measure", measure) });
}

bool has_tensors (const GstMeta *meta)
{
  return meta->info->api == GST_TENSOR_META_API_TYPE;
}

void copy_tensors (GstBuffer *to, const GstMeta *meta)
{
  const auto *its = reinterpret_cast<const GstTensorMeta *> (meta);
  std::vector<GstTensor *> tensors;
  for (gsize i = 0; i < its->num_tensors; i++)
    tensors.push_back (gst_tensor_copy (its->tensors[i]));
  add_meta (to, tensors);
}

#else

void attach_region_tensors (GstBuffer *, const std::shared_ptr<RegionAnswers> &) {}
void attach_map_tensors (GstBuffer *, GstBuffer *, const MapWindows &, const char *) {}
bool has_tensors (const GstMeta *)
{
  return false;
}
void copy_tensors (GstBuffer *, const GstMeta *) {}

#endif

GstFlowReturn prepare_with_tensors (GstBaseTransform *trans, GstBuffer *in, GstBuffer **out)
{
  static auto *const base =
      static_cast<GstBaseTransformClass *> (g_type_class_ref (GST_TYPE_BASE_TRANSFORM));
  const GstFlowReturn flow = base->prepare_output_buffer (trans, in, out);
  if (flow != GST_FLOW_OK || *out == in)
    return flow;
  if (gst_base_transform_is_in_place (trans))
    keep_original (*out, in);
  gpointer state = nullptr;
  while (const GstMeta *meta = gst_buffer_iterate_meta (in, &state))
    if (has_tensors (meta) && !meta->info->transform_func)  // otherwise GStreamer has copied it
      copy_tensors (*out, meta);
  return flow;
}

}  // namespace integralhist
