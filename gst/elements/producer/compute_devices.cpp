// SPDX-License-Identifier: LGPL-2.1-or-later
#include "compute_devices.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <gst/video/gstvideopool.h>

#include <gst/integralhist/cuda/pinned_memory.hpp>

namespace integralhist {
namespace {

/// What an ALLOCATION query asks for.
struct Request {
  GstCaps *caps = nullptr;
  gboolean needs_pool = FALSE;
  guint frame_bytes = 0;

  /// Returns nothing where the query is not of video frames.
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

/// The first pool of a query, if any, and its buffers; `most` is 0 without a limit.
struct PoolOffer {
  std::unique_ptr<GstBufferPool, void (*) (gpointer)> pool = { nullptr, gst_object_unref };
  guint bytes = 0, least = 0, most = 0;
};

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

/// Returns what downstream offers, with `in_flight` more buffers.
PoolOffer first_pool (GstQuery *query, unsigned in_flight)
{
  PoolOffer offer;
  GstBufferPool *theirs = nullptr;
  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &theirs, &offer.bytes, &offer.least,
                                         &offer.most);
  offer.pool.reset (theirs);
  offer.least += in_flight;
  offer.most += offer.most > 0 ? in_flight : 0;
  return offer;
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

/// Puts the pool first, in place of downstream's if there is one.
void put_first (GstQuery *query, const PoolOffer &offer)
{
  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_set_nth_allocation_pool (query, 0, offer.pool.get (), offer.bytes, offer.least,
                                       offer.most);
  else if (offer.pool)
    gst_query_add_allocation_pool (query, offer.pool.get (), offer.bytes, offer.least, offer.most);
}

/// Offers a new pool (transfer full, nullable). Returns false where it cannot make the frames.
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
  // rows may be longer on a device
  gst_buffer_pool_config_get_params (set, nullptr, &offer.bytes, nullptr, nullptr);
  return true;
}

/// Offers pinned memory. Returns false where downstream wants a special one, or no pool can make
/// it.
bool offer_pinned (GstQuery *query, PoolOffer &offer, const Request &request,
                   const std::shared_ptr<CudaContext> &context)
{
  if (offer.pool && !is_ordinary (offer.pool.get ()))
    return false;
  g_autoptr (GstAllocator) allocator = new_pinned_allocator (context);
  GstAllocationParams params;
  return put_first (query, allocator, &params)
         && (!request.needs_pool
             || offer_pool (offer, request, gst_video_buffer_pool_new (), allocator, &params));
}

/// Completes an ALLOCATION query for so many frames in flight: offers a pool of the device's CUDA
/// memory, or memory that is pinned in the context, where downstream wants no special memory.
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
    put_first (query, offer);
}

}  // namespace

Expected<std::string> ComputeDevices::open (GstElement *element,
                                            const ProducerProperties &properties)
{
  const inthist::Strategy *wanted = properties.options.strategy;
  if (wanted && properties.backend != Backend::automatic
      && (wanted->device == inthist::Device::cuda) != (properties.backend == Backend::cuda))
    return error (Error::Kind::bad_setting, "strategy=", wanted->name, " runs on ",
                  wanted->device == inthist::Device::cuda ? "CUDA" : "the CPU",
                  " only: set backend=auto, or strategy=auto");

  devices_.ids = TRY (properties.cuda_device_ids.value);
  const bool may_cuda =
      properties.backend != Backend::cpu && !(wanted && wanted->device == inthist::Device::cpu);
  const bool named = may_cuda && properties.cuda_device_id >= 0,
             listed = may_cuda && !devices_.ids.empty ();
  // What would let the element take the CPU, where the settings do not.
  std::string cpu_instead;
  for (const auto &[demanded, setting] :
       { std::pair (properties.backend == Backend::cuda, "backend=auto"),
         std::pair (may_cuda && wanted, "strategy=auto"), std::pair (named, "cuda-device-id=-1"),
         std::pair (listed, "no cuda-device-ids") })
    if (demanded)
      cpu_instead += (cpu_instead.empty () ? "" : " and ") + std::string (setting);
  const std::string why = may_cuda ? TRY (open_cuda (element, properties)) : "";
  if (!devices_.contexts.empty ())
    return "CUDA device" + std::string (listed ? "s " : " ")
           + (listed ? properties.cuda_device_ids.text : std::to_string (cuda_.device ()));
  if (!cpu_instead.empty ()) {
    const std::string device = named    ? " device " + std::to_string (properties.cuda_device_id)
                               : listed ? " devices " + properties.cuda_device_ids.text
                                        : "";
    return error (Error::Kind::no_device, "CUDA", device, " cannot be used: ", why, ". Set ",
                  cpu_instead, " to compute on the CPU");
  }
  return "CPU" + (may_cuda ? "; CUDA: " + why : "");
}

Expected<std::string> ComputeDevices::open_cuda (GstElement *element,
                                                 const ProducerProperties &properties)
{
  const auto count = CudaContext::device_count ();
  if (!count)
    return count.error ().message;
  const int devices = *count;
  const std::string last = std::to_string (devices - 1);
  for (const int id : devices_.ids)
    if (id >= devices)
      return error (Error::Kind::no_device, "CUDA device ", id, " of cuda-device-ids=\"",
                    properties.cuda_device_ids.text, "\" does not exist: name devices 0..", last);
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
  auto opened = open_all ();
  if (!opened) {
    others_.clear ();
    return opened.error ().message;
  }
  devices_.contexts = std::move (*opened);
  return "";
}

void ComputeDevices::close ()
{
  devices_ = {};
  others_.clear ();
  cuda_.clear ();
}

Expected<std::optional<int>> ComputeDevices::follow (GstBuffer *buffer, int device_id)
{
  if (devices_.contexts.empty () || devices_.are_several ())
    return std::nullopt;
  auto context = TRY (cuda_.follow (buffer, device_id));
  if (!context)
    return std::nullopt;
  devices_.contexts.front () = std::move (context);
  return cuda_.device ();
}

Expected<MappedFrame> ComputeDevices::map (GstBuffer *buffer, const GstVideoInfo &info,
                                           const inthist::PixelFormat &format, Frame &frame)
{
  const bool on_cuda = !devices_.contexts.empty ();
  if (on_cuda && devices_.are_several ())
    frame.context = TRY (CudaDevice::context_of (buffer));
  const bool on_device = frame.context || (on_cuda && cuda_.owns (buffer));
  MappedFrame mapped = TRY (MappedFrame::map (
      buffer, info,
      int (GST_MAP_READ) | int (GST_VIDEO_FRAME_MAP_FLAG_NO_REF) | (on_device ? kMapCuda : 0)));
  frame.image = TRY (mapped.image (format));
  const PicturePlanes planes (frame.image, mapped.area.w, mapped.area.h);
  const auto is_upright = [] (const PictureRows &rows) { return rows.stride >= 0; };
  // rows neither overlap nor go from the bottom up
  const auto is_pinned_plane = [buffer] (const PictureRows &rows) {
    return rows.stride >= std::ptrdiff_t (rows.bytes)
           && is_pinned (gst_buffer_peek_memory (buffer, 0), rows.data,
                         std::size_t (rows.stride) * (rows.n - 1) + rows.bytes);
  };
  if (on_device) {
    if (!std::ranges::all_of (planes.all (), is_upright))
      return error (Error::Kind::bad_frame,
                    "The frame cannot be read: in CUDA memory its rows go from the bottom up");
    frame.location = PixelLocation::device;
    frame.producer = CudaDevice::producer_stream (buffer);
  } else if (on_cuda && std::ranges::all_of (planes.all (), is_pinned_plane)) {
    frame.location = PixelLocation::pinned;
  }
  return mapped;
}

bool ComputeDevices::answer_query (GstElement *element, GstQuery *query,
                                   const ProducerProperties &properties)
{
  const inthist::Strategy *wanted = properties.options.strategy;
  const bool may_cuda = properties.backend != Backend::cpu
                        && !(wanted && wanted->device == inthist::Device::cpu)
                        && properties.cuda_device_ids.text.empty ();
  return cuda_.answer_query (element, query,
                             may_cuda ? std::optional (properties.cuda_device_id) : std::nullopt);
}

bool ComputeDevices::propose_allocation (GstQuery *query, unsigned in_flight)
{
  if (devices_.contexts.empty ())
    return false;
  offer_allocation (query, cuda_, devices_.contexts.front (), in_flight);
  return true;
}

}  // namespace integralhist
