// SPDX-License-Identifier: LGPL-2.1-or-later
#include "nvmm.hpp"

#include <algorithm>
#include <tuple>

#include <gst/base/gstbasetransform.h>

#include "test.hpp"

G_DECLARE_FINAL_TYPE (TestNvmmAllocator, test_nvmm_allocator, TEST, NVMM_ALLOCATOR, GstAllocator)
struct _TestNvmmAllocator {
  GstAllocator parent;
};
G_DEFINE_FINAL_TYPE (TestNvmmAllocator, test_nvmm_allocator, GST_TYPE_ALLOCATOR)

static void test_nvmm_allocator_class_init (TestNvmmAllocatorClass *klass)
{
  GST_ALLOCATOR_CLASS (klass)->free = [] (GstAllocator *, GstMemory *memory) {
    delete reinterpret_cast<nvmm::Memory *> (memory);
  };
}

static void test_nvmm_allocator_init (TestNvmmAllocator *self)
{
  GstAllocator *const allocator = GST_ALLOCATOR (self);
  allocator->mem_type = "nvds";
  allocator->mem_map = [] (GstMemory *memory, gsize, GstMapFlags) -> gpointer {
    return reinterpret_cast<nvmm::Memory *> (memory)->surface->descriptor.data ();
  };
  allocator->mem_unmap = [] (GstMemory *) {};
  GST_OBJECT_FLAG_SET (allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

namespace nvmm {

GstBuffer *buffer_of (std::unique_ptr<Surface> surface)
{
  static GstAllocator *const allocator = [] {
    auto *const made = GST_ALLOCATOR (g_object_new (test_nvmm_allocator_get_type (), nullptr));
    gst_object_ref_sink (made);
    GST_OBJECT_FLAG_SET (made, GST_OBJECT_FLAG_MAY_BE_LEAKED);
    return made;
  }();
  const gsize size = surface->descriptor.size ();
  auto *const memory = new Memory{ {}, std::move (surface) };
  gst_memory_init (&memory->memory, GST_MEMORY_FLAG_NO_SHARE, allocator, nullptr, size, 0, 0, size);
  GstBuffer *const buffer = gst_buffer_new ();
  gst_buffer_append_memory (buffer, &memory->memory);
  return buffer;
}

/// The settings of a tonvmm.
struct Settings {
  guint memory = 6, size = 72, buffers = 4, batch = 1;
};

}  // namespace nvmm

// the pool

G_DECLARE_FINAL_TYPE (TestNvmmPool, test_nvmm_pool, TEST, NVMM_POOL, GstBufferPool)
struct _TestNvmmPool {
  GstBufferPool parent;
  GstVideoInfo info;
  nvmm::Settings settings;
};
G_DEFINE_FINAL_TYPE (TestNvmmPool, test_nvmm_pool, GST_TYPE_BUFFER_POOL)

static void test_nvmm_pool_class_init (TestNvmmPoolClass *klass)
{
  auto *const pool_class = GST_BUFFER_POOL_CLASS (klass);
  pool_class->alloc_buffer = [] (GstBufferPool *pool, GstBuffer **buffer,
                                 GstBufferPoolAcquireParams *) {
    auto *const self = TEST_NVMM_POOL (pool);
    const nvmm::Settings &settings = self->settings;
    *buffer = nvmm::buffer_of (std::make_unique<nvmm::Surface> (self->info, settings.memory,
                                                                settings.size, settings.batch));
    return GST_FLOW_OK;
  };
  pool_class->release_buffer = [] (GstBufferPool *pool, GstBuffer *buffer) {
    auto &pixels =
        reinterpret_cast<nvmm::Memory *> (gst_buffer_peek_memory (buffer, 0))->surface->pixels;
    std::fill (pixels.begin (), pixels.end (), guint8 (0xee));
    GST_BUFFER_POOL_CLASS (test_nvmm_pool_parent_class)->release_buffer (pool, buffer);
  };
}

static void test_nvmm_pool_init (TestNvmmPool *) {}

// the elements

/// Returns caps with a feature, or in system memory for null.
static GstCaps *test_nvmm_with_feature (GstCaps *caps, const char *feature, GstCaps *filter)
{
  GstCaps *other = gst_caps_copy (caps);
  gst_caps_set_features_simple (other, feature ? gst_caps_features_new (feature, nullptr)
                                               : gst_caps_features_new_empty ());
  if (filter)
    gst_caps_take (&other, gst_caps_intersect_full (filter, other, GST_CAPS_INTERSECT_FIRST));
  return other;
}

G_DECLARE_FINAL_TYPE (TestToNvmm, test_to_nvmm, TEST, TO_NVMM, GstBaseTransform)
struct _TestToNvmm {
  GstBaseTransform parent;
  GstVideoInfo info;
  nvmm::Settings settings;
  GstBufferPool *pool;
};
G_DEFINE_FINAL_TYPE (TestToNvmm, test_to_nvmm, GST_TYPE_BASE_TRANSFORM)

G_DECLARE_FINAL_TYPE (TestFromNvmm, test_from_nvmm, TEST, FROM_NVMM, GstBaseTransform)
struct _TestFromNvmm {
  GstBaseTransform parent;
  GstVideoInfo info;
};
G_DEFINE_FINAL_TYPE (TestFromNvmm, test_from_nvmm, GST_TYPE_BASE_TRANSFORM)

static void test_nvmm_begin (gpointer klass, bool to)
{
  g_autoptr (GstCaps) system = gst_caps_from_string ("video/x-raw"),
                      nvmm = gst_caps_from_string ("video/x-raw(memory:NVMM)");
  auto *const element_class = GST_ELEMENT_CLASS (klass);
  for (const auto &[name, direction, caps] :
       { std::tuple ("sink", GST_PAD_SINK, to ? system : nvmm),
         std::tuple ("src", GST_PAD_SRC, to ? nvmm : system) })
    gst_element_class_add_pad_template (
        element_class, gst_pad_template_new (name, direction, GST_PAD_ALWAYS, caps));
  gst_element_class_set_static_metadata (element_class, "NVMM", "Filter", "Of tests", "Tests");
  auto *const trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  trans_class->transform = [] (GstBaseTransform *, GstBuffer *, GstBuffer *) {
    return GST_FLOW_OK;
  };
  trans_class->transform_size = [] (GstBaseTransform *, GstPadDirection, GstCaps *, gsize size,
                                    GstCaps *, gsize *other) -> gboolean {
    *other = size;
    return TRUE;
  };
}

static void test_to_nvmm_set_property (GObject *object, guint id, const GValue *value, GParamSpec *)
{
  nvmm::Settings &settings = TEST_TO_NVMM (object)->settings;
  guint *const all[] = { &settings.memory, &settings.size, &settings.buffers, &settings.batch };
  *all[id - 1] = g_value_get_uint (value);
}

static void test_to_nvmm_class_init (TestToNvmmClass *klass)
{
  test_nvmm_begin (klass, true);
  auto *const object_class = G_OBJECT_CLASS (klass);
  object_class->set_property = test_to_nvmm_set_property;
  guint id = 0;
  for (const char *name : { "memory", "size", "buffers", "batch" })
    g_object_class_install_property (
        object_class, ++id,
        g_param_spec_uint (name, name, name, 0, G_MAXUINT, 0,
                           GParamFlags (G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS)));
  auto *const trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  trans_class->transform_caps = [] (GstBaseTransform *, GstPadDirection from, GstCaps *caps,
                                    GstCaps *filter) {
    return test_nvmm_with_feature (caps, from == GST_PAD_SINK ? "memory:NVMM" : nullptr, filter);
  };
  trans_class->set_caps = [] (GstBaseTransform *trans, GstCaps *in, GstCaps *out) -> gboolean {
    auto *const self = TEST_TO_NVMM (trans);
    if (self->pool)
      gst_buffer_pool_set_active (self->pool, FALSE);
    gst_clear_object (&self->pool);
    auto *const pool = TEST_NVMM_POOL (g_object_new (test_nvmm_pool_get_type (), nullptr));
    fail_unless (gst_video_info_from_caps (&self->info, in));
    pool->info = self->info;
    pool->settings = self->settings;
    self->pool = GST_BUFFER_POOL (gst_object_ref_sink (pool));
    GstStructure *const config = gst_buffer_pool_get_config (self->pool);
    gst_buffer_pool_config_set_params (config, out, self->settings.size, 0, self->settings.buffers);
    return gst_buffer_pool_set_config (self->pool, config)
           && gst_buffer_pool_set_active (self->pool, TRUE);
  };
  trans_class->stop = [] (GstBaseTransform *trans) -> gboolean {
    auto *const self = TEST_TO_NVMM (trans);
    if (self->pool)
      gst_buffer_pool_set_active (self->pool, FALSE);
    gst_clear_object (&self->pool);
    return TRUE;
  };
  trans_class->prepare_output_buffer = [] (GstBaseTransform *trans, GstBuffer *in,
                                           GstBuffer **out) {
    auto *const self = TEST_TO_NVMM (trans);
    const GstFlowReturn flow = gst_buffer_pool_acquire_buffer (self->pool, out, nullptr);
    if (flow != GST_FLOW_OK)
      return flow;
    reinterpret_cast<nvmm::Memory *> (gst_buffer_peek_memory (*out, 0))
        ->surface->copy (self->info, in, false);
    gst_buffer_copy_into (*out, in,
                          GstBufferCopyFlags (GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS
                                              | GST_BUFFER_COPY_META),
                          0, gsize (-1));
    if (!gst_buffer_get_video_meta (*out))  // as NVIDIA's decoder has it
      gst_buffer_add_video_meta (*out, GST_VIDEO_FRAME_FLAG_NONE,
                                 GST_VIDEO_INFO_FORMAT (&self->info), guint (self->info.width),
                                 guint (self->info.height));
    return flow;
  };
}

static void test_to_nvmm_init (TestToNvmm *self)
{
  self->settings = nvmm::Settings{};
}

static void test_from_nvmm_class_init (TestFromNvmmClass *klass)
{
  test_nvmm_begin (klass, false);
  auto *const trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  trans_class->transform_caps = [] (GstBaseTransform *, GstPadDirection from, GstCaps *caps,
                                    GstCaps *filter) {
    return test_nvmm_with_feature (caps, from == GST_PAD_SRC ? "memory:NVMM" : nullptr, filter);
  };
  trans_class->set_caps = [] (GstBaseTransform *trans, GstCaps *in, GstCaps *) -> gboolean {
    return gst_video_info_from_caps (&TEST_FROM_NVMM (trans)->info, in);
  };
  trans_class->prepare_output_buffer = [] (GstBaseTransform *trans, GstBuffer *in,
                                           GstBuffer **out) {
    const GstVideoInfo &info = TEST_FROM_NVMM (trans)->info;
    const nvmm::Source source (in);
    *out = gst_buffer_new_allocate (nullptr, info.size, nullptr);
    gst_buffer_copy_into (*out, in,
                          GstBufferCopyFlags (GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS),
                          0, gsize (-1));
    gpointer state = nullptr;
    while (GstMeta *meta = gst_buffer_iterate_meta (in, &state))
      if (meta->info->api != GST_VIDEO_META_API_TYPE
          && meta->info->api != GST_PARENT_BUFFER_META_API_TYPE && meta->info->transform_func) {
        GstMetaTransformCopy whole = { FALSE, 0, gsize (-1) };
        meta->info->transform_func (*out, meta, in, g_quark_from_static_string ("gst-copy"),
                                    &whole);
      }
    GstMapInfo map;
    fail_unless (gst_buffer_map (*out, &map, GST_MAP_WRITE));
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++)
      source.copy_plane (p, map.data + GST_VIDEO_INFO_PLANE_OFFSET (&info, p),
                         gsize (GST_VIDEO_INFO_PLANE_STRIDE (&info, p)),
                         nvmm::Surface::rows_of (info, p));
    gst_buffer_unmap (*out, &map);
    return GST_FLOW_OK;
  };
}

static void test_from_nvmm_init (TestFromNvmm *) {}

namespace nvmm {

void register_elements ()
{
  gst_element_register (nullptr, "tonvmm", GST_RANK_NONE, test_to_nvmm_get_type ());
  gst_element_register (nullptr, "fromnvmm", GST_RANK_NONE, test_from_nvmm_get_type ());
}

}  // namespace nvmm
