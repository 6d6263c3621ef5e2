// SPDX-License-Identifier: LGPL-2.1-or-later
#include "allocation_offer.hpp"

#include <algorithm>
#include <optional>

#include <gst/video/gstvideopool.h>

#include <gst/integralhist/cuda/memory/pinned_memory.hpp>

namespace integralhist {
namespace {

struct Request {
  GstCaps *caps = nullptr;
  gboolean needs_pool = FALSE;
  guint frame_bytes = 0;

  /// Reads an ALLOCATION query; returns nothing if the query is not about video frames.
  static std::optional<Request> of (GstQuery *query)
  {
    Request request;
    GstVideoInfo info;
    gst_query_parse_allocation (query, &request.caps, &request.needs_pool);
    if (!request.caps || !gst_video_info_from_caps (&info, request.caps))
      return {};
    request.frame_bytes = guint (GST_VIDEO_INFO_SIZE (&info));
    return request;
  }
  bool is_for (const char *memory) const
  {
    return gst_caps_features_contains (gst_caps_get_features (caps, 0), memory);
  }
};

/// The first pool of an ALLOCATION query, if any, and its buffers; `most` is 0 without a limit.
struct PoolOffer {
  std::unique_ptr<GstBufferPool, void (*) (gpointer)> pool = { nullptr, gst_object_unref };
  guint bytes = 0, least = 0, most = 0;
};

bool is_ordinary (GstAllocator *allocator)
{
  return !allocator || g_strcmp0 (allocator->mem_type, GST_ALLOCATOR_SYSMEM) == 0;
}

/// Returns whether a pool has plain system memory, which many elements offer without need.
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

/// Returns the first pool that downstream offers in a query, with `in_flight` more buffers.
PoolOffer first_pool (GstQuery *query, unsigned in_flight)
{
  PoolOffer offer;
  GstBufferPool *pool = nullptr;
  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &offer.bytes, &offer.least, &offer.most);
  offer.pool.reset (pool);
  offer.least += in_flight;
  offer.most += offer.most > 0 ? in_flight : 0;
  return offer;
}

/// Puts an allocator first in an ALLOCATION query, and gets the parameters that downstream asks
/// for. Returns false if downstream needs a special allocator.
bool put_allocator_first (GstQuery *query, GstAllocator *allocator, GstAllocationParams *params)
{
  gst_allocation_params_init (params);
  g_autoptr (GstAllocator) asked = nullptr;
  const bool has_params = gst_query_get_n_allocation_params (query) > 0;
  if (has_params)
    gst_query_parse_nth_allocation_param (query, 0, &asked, params);
  if (!is_ordinary (asked))
    return false;
  if (has_params)
    gst_query_set_nth_allocation_param (query, 0, allocator, params);
  else
    gst_query_add_allocation_param (query, allocator, params);
  return true;
}

/// Puts the pool first in an ALLOCATION query, in place of downstream's first pool, if any.
void put_pool_first (GstQuery *query, const PoolOffer &offer)
{
  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_set_nth_allocation_pool (query, 0, offer.pool.get (), offer.bytes, offer.least,
                                       offer.most);
  else if (offer.pool)
    gst_query_add_allocation_pool (query, offer.pool.get (), offer.bytes, offer.least, offer.most);
}

/// Offers a new buffer pool (transfer full, nullable); returns false if it cannot make the frames.
bool offer_pool (PoolOffer &offer, const Request &request, GstBufferPool *pool,
                 GstAllocator *allocator = nullptr, const GstAllocationParams *params = nullptr)
{
  offer.pool.reset (pool);
  if (!pool)
    return true;
  GstStructure *config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (
      config, request.caps, std::max (offer.bytes, request.frame_bytes), offer.least, offer.most);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (allocator)
    gst_buffer_pool_config_set_allocator (config, allocator, params);
  if (!gst_buffer_pool_set_config (pool, config))
    return false;
  g_autoptr (GstStructure) set = gst_buffer_pool_get_config (pool);
  // The size of a buffer may have grown: rows may be longer in the memory of a GPU.
  gst_buffer_pool_config_get_params (set, nullptr, &offer.bytes, nullptr, nullptr);
  return true;
}

/// Offers pinned host memory; false if downstream needs special memory, or the pool refuses it.
bool offer_pinned (GstQuery *query, PoolOffer &offer, const Request &request,
                   const std::shared_ptr<CudaContext> &context)
{
  if (offer.pool && !is_ordinary (offer.pool.get ()))
    return false;
  g_autoptr (GstAllocator) allocator = new_pinned_allocator (context);
  GstAllocationParams params;
  return put_allocator_first (query, allocator, &params)
         && (!request.needs_pool
             || offer_pool (offer, request, gst_video_buffer_pool_new (), allocator, &params));
}

}  // namespace

void offer_allocation (GstQuery *query, CudaDevice &device,
                       const std::shared_ptr<CudaContext> &context, unsigned in_flight)
{
  const auto request = Request::of (query);
  if (!request)
    return;
  PoolOffer offer = first_pool (query, in_flight);
  bool holds = false;
  if (request->is_for ("memory:CUDAMemory"))
    holds = !request->needs_pool || offer.pool || offer_pool (offer, *request, device.new_pool ());
  else if (request->is_for (GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY))
    holds = offer_pinned (query, offer, *request, context);
  if (holds)
    put_pool_first (query, offer);
}

}  // namespace integralhist
