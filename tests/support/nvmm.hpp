// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Buffers of memory:NVMM in host memory, which need no GPU and nothing of NVIDIA's. They are as
// those of its converter: a pool of few buffers, memory of the type "nvds" that is never shared,
// rows and planes with gaps, and a GstVideoMeta that is wrong for them. A buffer that comes back to
// its pool has its pixels overwritten.
//
//   tonvmm properties ! ... ! fromnvmm      elements of these tests, from and to system memory
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include "test.hpp"

namespace nvmm {

/// The first of the numbers that the format of a surface has, and the number of its planes.
inline const std::map<std::string, int> kColourFormats = {
  { "GRAY8", 1 },       { "I420", 2 },        { "YV12", 3 },       { "NV12", 6 },
  { "NV21", 8 },        { "UYVY", 10 },       { "YUY2", 14 },      { "Y444", 18 },
  { "RGBA", 19 },       { "BGRA", 20 },       { "ARGB", 21 },      { "ABGR", 22 },
  { "RGBx", 23 },       { "BGRx", 24 },       { "xRGB", 25 },      { "xBGR", 26 },
  { "RGB", 27 },        { "BGR", 28 },        { "P010_10LE", 29 }, { "Y42B", 46 },
  { "RGB10A2_LE", 64 }, { "BGR10A2_LE", 66 }, { "GRAY16_LE", 92 },
};

/// The fields of the structs, by their offsets.
enum Descriptor : gsize { kGpu = 0, kBatch = 4, kFilled = 8, kMemory = 16, kSurfaces = 24 };
enum Parameters : gsize {
  kWidth = 0,
  kHeight = 4,
  kPitch = 8,
  kColourFormat = 12,
  kLayout = 16,
  kBytes = 32,
  kData = 40,
  kPlanes = 48,
  kPlanePitch = 84,
  kPlaneOffset = 100
};

/// The frame of a buffer.
struct Surface {
  std::vector<guint8> descriptor, parameters, pixels;
  std::vector<gsize> offsets, strides;

  static void set (std::vector<guint8> &of, gsize at, guint32 value)
  {
    std::memcpy (of.data () + at, &value, 4);
  }
  static void set (std::vector<guint8> &of, gsize at, const void *value)
  {
    std::memcpy (of.data () + at, &value, sizeof value);
  }

  /// Makes one whose descriptor has `size` bytes, 64 or 72, with memory of this number. It is the
  /// first of `batch`.
  Surface (const GstVideoInfo &info, guint32 memory, gsize size = 72, guint32 batch = 1)
      : descriptor (size), parameters (batch * (size == 64 ? 384 : 416))
  {
    gsize end = 0;
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++) {
      offsets.push_back (end);
      strides.push_back (gsize (GST_VIDEO_INFO_PLANE_STRIDE (&info, p)) + 24 + 8 * p);
      end += strides[p] * rows_of (info, p) + 104;
      set (parameters, kPlanePitch + 4 * p, guint32 (strides[p]));
      set (parameters, kPlaneOffset + 4 * p, guint32 (offsets[p]));
    }
    pixels.resize (end - 104);
    set (descriptor, kBatch, batch);
    set (descriptor, kFilled, 1);
    set (descriptor, kMemory, memory);
    set (descriptor, kSurfaces, parameters.data ());
    set (parameters, kWidth, guint32 (info.width));
    set (parameters, kHeight, guint32 (info.height));
    set (parameters, kPitch, guint32 (strides[0]));
    set (parameters, kColourFormat, guint32 (kColourFormats.at (GST_VIDEO_INFO_NAME (&info))));
    set (parameters, kBytes, guint32 (pixels.size ()));
    set (parameters, kData, pixels.data ());
    set (parameters, kPlanes, GST_VIDEO_INFO_N_PLANES (&info));
  }
  Surface (const Surface &) = delete;

  static gsize rows_of (const GstVideoInfo &info, guint plane)
  {
    guint c = 0;
    while (GST_VIDEO_FORMAT_INFO_PLANE (info.finfo, c) != plane)
      c++;
    return gsize (GST_VIDEO_INFO_COMP_HEIGHT (&info, c));
  }

  /// Copies the rows from or to a frame in system memory, which has usual strides.
  void copy (const GstVideoInfo &info, GstBuffer *buffer, bool to_buffer)
  {
    GstVideoFrame frame;
    GstVideoInfo usual = info;
    fail_unless (
        gst_video_frame_map (&frame, &usual, buffer, to_buffer ? GST_MAP_WRITE : GST_MAP_READ));
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++)
      for (gsize y = 0; y < rows_of (info, p); y++) {
        auto *const there = static_cast<guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, p))
                            + gssize (y) * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p);
        guint8 *const here = pixels.data () + offsets[p] + y * strides[p];
        const auto bytes = gsize (std::min (GST_VIDEO_INFO_PLANE_STRIDE (&info, p),
                                            GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p)));
        std::memcpy (to_buffer ? there : here, to_buffer ? here : there, bytes);
      }
    gst_video_frame_unmap (&frame);
  }
};

/// Has a buffer of one memory, which is never shared, with the descriptor of a surface.
struct Memory {
  GstMemory memory;
  std::unique_ptr<Surface> surface;
};

}  // namespace nvmm

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

/// Returns a buffer with a surface, which it takes.
inline GstBuffer *buffer_of (std::unique_ptr<Surface> surface)
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

/// Returns the surface that a buffer's descriptor points to; the buffer may be a copy.
inline const guint8 *parameters_of (GstBuffer *buffer)
{
  GstMapInfo map;
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ) && map.size >= 64);
  const guint8 *parameters;
  std::memcpy (&parameters, map.data + kSurfaces, sizeof parameters);
  gst_buffer_unmap (buffer, &map);
  return parameters;
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

/// Calls `change` with a copy of each structure of caps, and returns all.
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

static void test_nvmm_add_pads (gpointer klass, bool to)
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
}

static void test_to_nvmm_set_property (GObject *object, guint id, const GValue *value, GParamSpec *)
{
  nvmm::Settings &settings = TEST_TO_NVMM (object)->settings;
  guint *const all[] = { &settings.memory, &settings.size, &settings.buffers, &settings.batch };
  *all[id - 1] = g_value_get_uint (value);
}

static void test_to_nvmm_class_init (TestToNvmmClass *klass)
{
  test_nvmm_add_pads (klass, true);
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
  trans_class->transform = [] (GstBaseTransform *, GstBuffer *, GstBuffer *) {
    return GST_FLOW_OK;
  };
  trans_class->transform_size = [] (GstBaseTransform *, GstPadDirection, GstCaps *, gsize size,
                                    GstCaps *, gsize *other) -> gboolean {
    *other = size;
    return TRUE;
  };
}

static void test_to_nvmm_init (TestToNvmm *self)
{
  self->settings = nvmm::Settings{};
}

static void test_from_nvmm_class_init (TestFromNvmmClass *klass)
{
  test_nvmm_add_pads (klass, false);
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
    // the surface of the original, also of a copy
    const guint8 *const parameters = nvmm::parameters_of (in), *data;
    std::memcpy (&data, parameters + nvmm::kData, sizeof data);
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
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++) {
      guint32 offset, stride;
      std::memcpy (&offset, parameters + nvmm::kPlaneOffset + 4 * p, 4);
      std::memcpy (&stride, parameters + nvmm::kPlanePitch + 4 * p, 4);
      const auto bytes = gsize (GST_VIDEO_INFO_PLANE_STRIDE (&info, p));
      for (gsize y = 0; y < nvmm::Surface::rows_of (info, p); y++)
        std::memcpy (map.data + GST_VIDEO_INFO_PLANE_OFFSET (&info, p) + y * bytes,
                     data + offset + y * stride, bytes);
    }
    gst_buffer_unmap (*out, &map);
    return GST_FLOW_OK;
  };
  trans_class->transform = [] (GstBaseTransform *, GstBuffer *, GstBuffer *) {
    return GST_FLOW_OK;
  };
  trans_class->transform_size = [] (GstBaseTransform *, GstPadDirection, GstCaps *, gsize size,
                                    GstCaps *, gsize *other) -> gboolean {
    *other = size;
    return TRUE;
  };
}

static void test_from_nvmm_init (TestFromNvmm *) {}

namespace nvmm {

/// Registers the elements tonvmm and fromnvmm.
inline void register_elements ()
{
  gst_element_register (nullptr, "tonvmm", GST_RANK_NONE, test_to_nvmm_get_type ());
  gst_element_register (nullptr, "fromnvmm", GST_RANK_NONE, test_from_nvmm_get_type ());
}

}  // namespace nvmm
