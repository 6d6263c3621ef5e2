// SPDX-License-Identifier: LGPL-2.1-or-later
#include "peer_upload.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include <gst/integralhist/cuda/base/cuda_error.hpp>
#include <gst/integralhist/cuda/base/in_context.hpp>
#include <gst/integralhist/memory/idle_list.hpp>

#include "picture_upload.hpp"

namespace integralhist {

using namespace inthist::cuda;

struct PeerUpload::PeerPicture {
  EventOwner arrived;
  GrowingDeviceMemory memory;
};

struct PeerUpload::Device {
  ContextRef context;
  InContext<StreamOwner> stream = { context };
  InContext<IdleList<std::unique_ptr<PeerPicture>>> idle = { context };
};

namespace {

/// Returns the milliseconds that the work enqueued by `enqueue` takes: the fastest of three runs.
template <class Enqueue>
CudaExpected<float> milliseconds_of (Enqueue &&enqueue)
{
  const StreamOwner stream = TRY (make_stream ());
  const EventOwner start = TRY (make_event (0)), end = TRY (make_event (0));
  float best = INFINITY;
  for (int lap = 0; lap < 3; lap++) {
    TRY (check (cudaEventRecord (start.get (), stream.get ())));
    TRY (enqueue (stream.get ()));
    TRY (check (cudaEventRecord (end.get (), stream.get ())));
    TRY (check (cudaEventSynchronize (end.get ())));
    float milliseconds;
    TRY (check (cudaEventElapsedTime (&milliseconds, start.get (), end.get ())));
    best = std::min (best, milliseconds);
  }
  return best;
}

/// Returns whether a copy from GPU to GPU takes less than half the time of an upload from the host.
/// Returns an error if that cannot be measured.
Expected<bool> is_near (const CudaContext &from, const CudaContext &to)
{
  constexpr std::size_t kBytes = 8 << 20;
  int can = 0;
  if (cudaDeviceCanAccessPeer (&can, to.device (), from.device ()) != cudaSuccess || !can)
    return false;
  const auto measure = [&] (const std::byte *far) -> Expected<bool> {
    const DeviceMemory here = TRY (make_device_memory (kBytes));
    const PinnedMemory host = TRY (make_pinned_memory (kBytes));
    const float copied = TRY (milliseconds_of ([&] (cudaStream_t stream) -> CudaExpected<> {
      const auto enqueued = to.copy_from (from, far, here.get (), kBytes, stream);
      return check (enqueued ? cudaSuccess : cudaErrorPeerAccessUnsupported);
    }));
    const float uploaded = TRY (milliseconds_of ([&] (cudaStream_t stream) {
      return check (
          cudaMemcpyAsync (here.get (), host.get (), kBytes, cudaMemcpyHostToDevice, stream));
    }));
    return copied < uploaded / 2;
  };
  return with_context (from, [&] () -> Expected<bool> {
    const DeviceMemory far = TRY (make_device_memory (kBytes));
    return with_context (to, [&] { return measure (far.get ()); });
  });
}

}  // namespace

std::shared_ptr<PeerUpload>
PeerUpload::between (const std::vector<std::shared_ptr<CudaContext>> &contexts)
{
  static std::mutex measuring;
  // The results of is_near () for each pair of GPUs. The map is never destroyed, because elements
  // may outlive static objects when the process ends.
  static auto &known = *new std::map<std::pair<int, int>, bool>;
  if (contexts.size () < 2)
    return nullptr;
  const std::lock_guard lock (measuring);
  for (const auto &from : contexts)
    for (const auto &to : contexts)
      if (from != to) {
        const std::pair pair (from->device (), to->device ());
        if (!known.contains (pair))
          if (const auto near = is_near (*from, *to))
            known[pair] = *near;
        if (!known.contains (pair) || !known[pair])
          return nullptr;
      }
  const std::shared_ptr<PeerUpload> peers (new PeerUpload);
  for (const auto &context : contexts) {
    auto stream =
        with_context (*context, [] () -> Expected<StreamOwner> { return TRY (make_stream ()); });
    if (!stream)
      return nullptr;
    peers->devices_.push_back (std::make_unique<Device> (context));
    *peers->devices_.back ()->stream = std::move (*stream);
  }
  return peers;
}

PeerUpload::~PeerUpload () = default;

Expected<std::shared_ptr<void>> PeerUpload::upload (PartFrame &frame, int width, int height)
{
  Device &device = *devices_[uploaded_++ % devices_.size ()];
  return with_context (*device.context, [&] () -> Expected<std::shared_ptr<void>> {
    const PicturePlanes planes (frame.image, width, height);
    std::unique_ptr<PeerPicture> picture = device.idle->take ();
    if (!picture)
      picture = std::make_unique<PeerPicture> (TRY (make_event (cudaEventDisableTiming)));
    TRY (picture->memory.reserve (planes.size ()));
    TRY (integralhist::upload (planes, picture->memory.get (), device.stream->get ()));
    TRY (check (cudaEventRecord (picture->arrived.get (), device.stream->get ())));
    frame.image = planes.image_in (picture->memory.get ());
    frame.location = PixelLocation::device;
    frame.context = device.context;
    frame.arrived = picture->arrived.get ();
    // `device` belongs to `peers`
    return std::shared_ptr<void> (
        picture.release (), [peers = shared_from_this (), &device] (void *memory) {
          std::unique_ptr<PeerPicture> used (static_cast<PeerPicture *> (memory));
          const CudaContext::Scope scope (*device.context);
          // Waits because the upload of a dropped frame may still run.
          cudaEventSynchronize (used->arrived.get ());
          device.idle->give_back (std::move (used));
        });
  });
}

}  // namespace integralhist
