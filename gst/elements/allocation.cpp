// SPDX-License-Identifier: LGPL-2.1-or-later
#include "compute_devices.hpp"

#include <gst/integralhist/pinned_memory.hpp>
#include <gst/video/gstvideopool.h>

namespace integralhist {
namespace {

bool is_ordinary (GstAllocator *allocator)
{
  return !allocator || g_strcmp0 (allocator->mem_type, GST_ALLOCATOR_SYSMEM) == 0;
}

/// Returns whether the pool is of plain system memory, which many elements offer without need.
bool is_ordinary (GstBufferPool *pool)
{
  if (G_OBJECT_TYPE (pool) != GST_TYPE_VIDEO_BUFFER_POOL
      && G_OBJECT_TYPE (pool) != GST_TYPE_BUFFER_POOL)
    return false;
  g_autoptr (GstStructure) config = gst_buffer_pool_get_config (pool);
  GstAllocator *allocator = nullptr;
  gst_buffer_pool_config_get_allocator (config, &allocator, nullptr);
  return is_ordinary (allocator)
         && !gst_buffer_pool_config_has_option (config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
}

/// Puts `allocator` first unless downstream wants a special one. Sets `params` to its parameters.
bool put_first (GstQuery *query, GstAllocator *allocator, GstAllocationParams *params)
{
  gst_allocation_params_init (params);
  g_autoptr (GstAllocator) theirs = nullptr;
  const bool some = gst_query_get_n_allocation_params (query) > 0;
  if (some)
    gst_query_parse_nth_allocation_param (query, 0, &theirs, params);
  if (!is_ordinary (theirs))
    return false;
  if (some)
    gst_query_set_nth_allocation_param (query, 0, allocator, params);
  else
    gst_query_add_allocation_param (query, allocator, params);
  return true;
}

}  // namespace

bool ComputeDevices::propose_allocation (GstQuery *query, unsigned in_flight)
{
  if (devices_.contexts.empty ())
    return false;
  GstCaps *caps = nullptr;
  gboolean need_pool = FALSE;
  GstVideoInfo info;
  gst_query_parse_allocation (query, &caps, &need_pool);
  if (!caps || !gst_video_info_from_caps (&info, caps))
    return true;
  const GstCapsFeatures *const features = gst_caps_get_features (caps, 0);
  const bool cuda = gst_caps_features_contains (features, "memory:CUDAMemory");
  if (!cuda && !gst_caps_features_contains (features, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY))
    return true;
  g_autoptr (GstBufferPool) theirs = nullptr, pool = nullptr;
  guint size = 0, least = 0, most = 0;
  const bool some = gst_query_get_n_allocation_pools (query) > 0;
  if (some)
    gst_query_parse_nth_allocation_pool (query, 0, &theirs, &size, &least, &most);

  g_autoptr (GstAllocator) allocator = nullptr;
  GstAllocationParams params;
  if (cuda) {
    if (!theirs && need_pool)
      pool = cuda_.new_pool ();
  } else {
    allocator = new_pinned_allocator (devices_.contexts.front ());
    if ((theirs && !is_ordinary (theirs)) || !put_first (query, allocator, &params))
      return true;
    if (need_pool)
      pool = gst_video_buffer_pool_new ();
  }

  least += in_flight;
  most += most > 0 ? in_flight : 0;
  if (pool) {
    GstStructure *config = gst_buffer_pool_get_config (pool);
    gst_buffer_pool_config_set_params (
        config, caps, std::max (size, guint (GST_VIDEO_INFO_SIZE (&info))), least, most);
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    if (allocator)
      gst_buffer_pool_config_set_allocator (config, allocator, &params);
    if (!gst_buffer_pool_set_config (pool, config))
      return true;
    g_autoptr (GstStructure) set = gst_buffer_pool_get_config (pool);
    gst_buffer_pool_config_get_params (set, nullptr, &size, nullptr,
                                       nullptr);  // rows may be longer on a device
  }
  if (some)
    gst_query_set_nth_allocation_pool (query, 0, pool ? pool : theirs, size, least, most);
  else if (pool)
    gst_query_add_allocation_pool (query, pool, size, least, most);
  return true;
}

}  // namespace integralhist
