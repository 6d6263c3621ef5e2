// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cuda_tensor.hpp"

#include <chrono>
#include <cstring>
#include <thread>

namespace integralhist {

using namespace inthist::cuda;
using Clock = std::chrono::steady_clock;

void
fail (const CudaError &error)
{
  if (error.code == cudaErrorMemoryAllocation) {
    std::size_t available = 0, total = 0;
    cudaMemGetInfo (&available, &total);
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY,
                 no_memory ("what a frame needs besides its tensor, on the GPU or pinned on the host,", error.bytes, available, "GPU")
                     + ": lower async-depth, set max-tensors, or download=never");
  }
  throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, std::string ("CUDA: ") + error.what ());
}

bool
has_fired (cudaEvent_t event)
{
  const cudaError_t state = cudaEventQuery (event);
  if (state != cudaErrorNotReady)
    check (state);
  return state == cudaSuccess;
}

void
await (cudaEvent_t event)
{
  constexpr std::chrono::microseconds kAsking (50);
  const auto start = Clock::now ();
  while (!has_fired (event))
    if (Clock::now () - start > kAsking)
      return check (cudaEventSynchronize (event));
}

static DeviceMemory
allocate_tensor (const inthist::Shape &shape, std::size_t bytes, unsigned alive)
{
  try {
    return make_device_memory (bytes);
  } catch (const CudaError &error) {
    if (error.code != cudaErrorMemoryAllocation)
      throw;
    std::size_t available = 0, total = 0;
    cudaMemGetInfo (&available, &total);
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY, no_memory_for_tensor (shape, bytes, available, "GPU", alive));
  }
}

CudaTensor::CudaTensor (const inthist::Shape &of, unsigned alive, Context context, std::shared_ptr<Queries> queries, Download download)
    : Tensor (of), context_ (std::move (context)), queries_ (std::move (queries)), download_ (download),
      memory_ (allocate_tensor (of, bytes (), alive)), computed_ (make_event (cudaEventDisableTiming | cudaEventBlockingSync)),
      downloaded_ (make_event (cudaEventDisableTiming | cudaEventBlockingSync))
{
  if (download_ == Download::eager)
    host_ = make_pinned_memory (bytes ());
}

CudaTensor::~CudaTensor ()
{
  const CudaContext::Scope scope (*context_);
  cudaEventSynchronize (computed_.get ());
  cudaEventSynchronize (downloaded_.get ());
  memory_.reset ();
  host_.reset ();
  computed_.reset ();
  downloaded_.reset ();
}

bool
CudaTensor::wait (GstClockTime timeout)
{
  return on (*context_, [&] {
    if (timeout == GST_CLOCK_TIME_NONE) {
      await (computed_.get ());
      return true;
    }
    const auto start = Clock::now ();
    while (!has_fired (computed_.get ())) {
      if (Clock::now () - start >= std::chrono::nanoseconds (std::min<GstClockTime> (timeout, G_MAXINT64 / 4)))
        return false;
      std::this_thread::sleep_for (std::chrono::microseconds (20));
    }
    return true;
  });
}

/// `query` is count_regions or sum_regions.
template <class Query, class Answer>
void
CudaTensor::ask (Query query, std::span<const Region> regions, Answer *answers)
{
  if (regions.empty ())
    return;
  on (*context_, [&] {
    auto lane = queries_->acquire ();
    const std::size_t bytes = regions.size () * shape.bins * sizeof (Answer);
    lane->reserve (regions.size_bytes (), bytes);
    std::memcpy (lane->regions.get (), regions.data (), regions.size_bytes ());
    cudaStream_t stream = lane->stream.get ();
    auto *on_device = reinterpret_cast<Answer *> (lane->device_answers.get ());
    check (cudaStreamWaitEvent (stream, computed_.get (), 0));
    check (query (shape, layout, memory_.get (), reinterpret_cast<const Region *> (lane->regions.get ()), int (regions.size ()), on_device,
                  stream));
    check (cudaMemcpyAsync (lane->host_answers.get (), on_device, bytes, cudaMemcpyDeviceToHost, stream));
    check (cudaStreamSynchronize (stream));
    std::memcpy (answers, lane->host_answers.get (), bytes);
    queries_->give_back (std::move (lane));
  });
}

void
CudaTensor::regions (std::span<const Region> regions, guint32 *counts)
{
  ask (inthist::cuda::count_regions, regions, counts);
}

void
CudaTensor::regions (std::span<const Region> regions, guint64 *sums)
{
  ask (inthist::cuda::sum_regions, regions, sums);
}

const void *
CudaTensor::host ()
{
  if (download_ == Download::never)
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_NOT_DOWNLOADED,
                 "the tensor stays on the GPU, as download=never says; ask regions, or set download to lazy or eager");
  const std::lock_guard lock (host_mutex_);
  on (*context_, [&] {
    if (!host_)
      host_ = make_pinned_memory (bytes ());
    if (!download_started_) {
      auto lane = queries_->acquire ();
      check (cudaStreamWaitEvent (lane->stream.get (), computed_.get (), 0));
      start_download (lane->stream.get ());
      await (downloaded_.get ());
      queries_->give_back (std::move (lane));
    } else {
      await (downloaded_.get ());
    }
  });
  return host_.get ();
}

CudaView
CudaTensor::cuda () const
{
  return { reinterpret_cast<guint64> (memory_.get ()), computed_.get (), context_->handle (), context_->device () };
}

bool
CudaTensor::at_rest ()
{
  return at_rest_ = at_rest_ || (has_fired (computed_.get ()) && has_fired (downloaded_.get ()));
}

void
CudaTensor::reuse (cudaStream_t stream)
{
  if (!at_rest_)
    for (const EventOwner *event : { &computed_, &downloaded_ })
      check (cudaStreamWaitEvent (stream, event->get (), 0));
  download_started_ = at_rest_ = false;
}

void
CudaTensor::set_computed (cudaStream_t stream)
{
  check (cudaEventRecord (computed_.get (), stream));
}

void
CudaTensor::start_download (cudaStream_t stream)
{
  check (cudaMemcpyAsync (host_.get (), memory_.get (), bytes (), cudaMemcpyDeviceToHost, stream));
  check (cudaEventRecord (downloaded_.get (), stream));
  download_started_ = true;
}

}  // namespace integralhist
