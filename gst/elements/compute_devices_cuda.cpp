// SPDX-License-Identifier: LGPL-2.1-or-later
//
// ComputeDevices on CUDA devices: opens them, and offers memory that they read. Builds without CUDA
// have no_cuda.cpp.
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

Expected<> ComputeDevices::open_cuda (GstElement *element, const ProducerProperties &properties,
                                      std::string *why)
{
  const int devices = CudaContext::device_count (why);
  if (devices == 0)
    return {};
  const std::string last = std::to_string (devices - 1);
  for (const int id : devices_.ids)
    if (id >= devices)
      return error (Error::Kind::no_device, "CUDA device ", id, " of cuda-device-ids=\"",
                    properties.cuda_device_ids, "\" does not exist: name devices 0..", last);
  if (properties.cuda_device_id >= devices)
    return error (Error::Kind::no_device, "CUDA device ", properties.cuda_device_id,
                  " does not exist: set cuda-device-id to 0..", last, ", or to -1");
  const auto open_all = [&] () -> Expected<std::vector<std::shared_ptr<CudaContext>>> {
    std::vector<std::shared_ptr<CudaContext>> contexts (1);  // the first is opened last
    for (std::size_t i = 1; i < devices_.ids.size (); i++) {
      contexts.push_back (TRY (CudaContext::primary (devices_.ids[i])));
      others_.push_back (use_device (devices_.ids[i]));
    }
    contexts.front () = TRY (cuda_.open (element, properties.first_device (), devices));
    return contexts;
  };
  if (auto opened = open_all ()) {
    devices_.contexts = std::move (*opened);
  } else {
    *why = opened.error ().message;
    others_.clear ();
  }
  return {};
}

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
