// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cuda_tensor.hpp"

#include <algorithm>
#include <utility>

#include <gst/integralhist/cuda/base/cuda_error.hpp>
#include <gst/integralhist/cuda/base/cuda_event.hpp>
#include <gst/integralhist/memory/memory_messages.hpp>

namespace integralhist {

using namespace inthist::cuda;

Expected<std::unique_ptr<CudaTensor>> CudaTensor::create (const Shape &shape, unsigned alive,
                                                          ContextRef context,
                                                          std::shared_ptr<QueryBufferPool> buffers,
                                                          Download download)
{
  std::unique_ptr<CudaTensor> tensor (
      new CudaTensor (shape, std::move (context), std::move (buffers), download));
  auto memory = make_device_memory (tensor->room_);
  if (!memory && memory.error ().code == cudaErrorMemoryAllocation)
    return error (Error::Kind::no_memory, no_memory_for_tensor (shape, free_on_device (), alive));
  tensor->own_->memory = TRY (std::move (memory));
  for (EventOwner *event : { &tensor->own_->computed, &tensor->own_->downloaded })
    *event = TRY (make_event (cudaEventDisableTiming | cudaEventBlockingSync));
  if (download == Download::eager)
    tensor->own_->host = TRY (make_pinned_memory (tensor->room_));
  return tensor;
}

CudaTensor::Resources::~Resources ()
{
  for (EventOwner *event : { &computed, &downloaded })
    if (*event)
      cudaEventSynchronize (event->get ());
  for (const EventOwner &reader : readers)
    cudaEventSynchronize (reader.get ());
  if (has_unknown_readers)
    cudaDeviceSynchronize ();
}

Expected<> CudaTensor::wait (GstClockTime timeout)
{
  return with_context (*context_, [&] { return await_until (own_->computed.get (), timeout); });
}

Expected<> CudaTensor::wait_for_copy (GstClockTime timeout)
{
  // Without a download, the second wait is short: an event never recorded counts as fired.
  return with_context (*context_, [&] () -> Expected<> {
    TRY (await_until (own_->computed.get (), timeout));
    return await_until (own_->downloaded.get (), timeout);
  });
}

CudaExpected<> CudaTensor::enqueue (const StagedQueries &staged, cudaStream_t stream)
{
  TRY (staged.upload (stream));
  TRY (check (cudaStreamWaitEvent (stream, own_->computed.get (), 0)));
  for (const Query &query : staged.queries ())
    TRY (check (inthist::cuda::answer ({ shape, layout, own_->memory.get () }, query, stream)));
  return {};
}

Expected<> CudaTensor::ask (std::span<const Query> queries)
{
  return with_context (*context_, [&] () -> Expected<> {
    StagedQueries staged =
        TRY (StagedQueries::create (*query_buffers_, shape, queries, AnswerMemory::host));
    cudaStream_t stream = staged.buffers ().stream.get ();
    TRY (enqueue (staged, stream));
    TRY (staged.download (stream));
    TRY (staged.end (stream));
    TRY (await (staged.buffers ().done.get ()));
    staged.copy_answers ();
    return {};
  });
}

Expected<> CudaTensor::ask_on (Stream stream, std::span<const Query> queries)
{
  return with_context (*context_, [&] () -> Expected<> {
    StagedQueries staged =
        TRY (StagedQueries::create (*query_buffers_, shape, queries, AnswerMemory::device));
    const auto enqueued = enqueue (staged, stream);
    TRY (add_reader (stream));  // a reader even if only some work was enqueued before a failure
    TRY (enqueued);
    TRY (staged.copy_bests (stream));
    TRY (staged.end (stream));
    return {};
  });
}

CudaExpected<cudaEvent_t> CudaTensor::event_for_reader ()
{
  // Reuses an event that has fired, because an event that has not fired stands for a reader.
  auto reader = std::ranges::find_if (
      own_->readers, [] (const EventOwner &event) { return has_fired (event.get ()); });
  if (reader == own_->readers.end ())
    reader = own_->readers.insert (
        reader, TRY (make_event (cudaEventDisableTiming | cudaEventBlockingSync)));
  return reader->get ();
}

Expected<> CudaTensor::add_reader (Stream stream)
{
  return with_context (*context_, [&] () -> CudaExpected<> {
    const std::lock_guard lock (readers_mutex_);
    return check (cudaEventRecord (TRY (event_for_reader ()), stream));
  });
}

void CudaTensor::add_all_readers ()
{
  const CudaContext::Scope scope (*context_);
  if (!scope)
    return;  // the process ends
  const std::lock_guard lock (readers_mutex_);
  const auto event = event_for_reader ();
  if (!event || !context_->record (*event))
    own_->has_unknown_readers = true;
}

Expected<> CudaTensor::wait_on (Stream stream)
{
  return with_context (
      *context_, [&] { return check (cudaStreamWaitEvent (stream, own_->computed.get (), 0)); });
}

Expected<const void *> CudaTensor::host ()
{
  if (download_ == Download::never)
    return error (Error::Kind::not_downloaded,
                  "the tensor stays on the GPU, as download=never says: ask for regions, or set "
                  "download to lazy or eager");
  const std::lock_guard lock (host_mutex_);
  return with_context (*context_, [&] () -> Expected<const void *> {
    if (!own_->host)
      own_->host = TRY (make_pinned_memory (room_));
    if (!download_started_) {
      const QueryLease buffers = TRY (query_buffers_->lease ());
      cudaStream_t stream = buffers->stream.get ();
      TRY (check (cudaStreamWaitEvent (stream, own_->computed.get (), 0)));
      TRY (start_download (stream));
      TRY (buffers->end (stream));
    }
    TRY (await (own_->downloaded.get ()));
    return own_->host.get ();
  });
}

Expected<std::function<Expected<> ()>> CudaTensor::start_copy (const HostDestination &to)
{
  return with_context (*context_, [&] () -> Expected<std::function<Expected<> ()>> {
    const std::shared_ptr<QueryBuffers> buffers = TRY (query_buffers_->lease ());
    cudaStream_t stream = buffers->stream.get ();
    TRY (check (cudaStreamWaitEvent (stream, own_->computed.get (), 0)));
    TRY (copy_pieces (to, stream));
    TRY (buffers->end (stream));
    return [this, buffers] {
      return with_context (*context_, [&] { return await (buffers->done.get ()); });
    };
  });
}

CudaView CudaTensor::cuda ()
{
  return { reinterpret_cast<guint64> (own_->memory.get ()), own_->computed.get (),
           context_->handle (), context_->device (), context_->is_primary () };
}

bool CudaTensor::is_idle ()
{
  const auto fired = [] (const EventOwner &event) { return has_fired (event.get ()); };
  return idle_ = idle_
                 || (fired (own_->computed) && fired (own_->downloaded)
                     && !own_->has_unknown_readers && std::ranges::all_of (own_->readers, fired));
}

CudaExpected<> CudaTensor::reuse (cudaStream_t stream)
{
  const auto wait_for = [stream] (const EventOwner &event) {
    return check (cudaStreamWaitEvent (stream, event.get (), 0));
  };
  if (!idle_) {
    TRY (wait_for (own_->computed));
    TRY (wait_for (own_->downloaded));
    for (const EventOwner &reader : own_->readers)
      TRY (wait_for (reader));
    if (std::exchange (own_->has_unknown_readers, false))
      TRY (check (cudaDeviceSynchronize ()));
  }
  download_started_ = idle_ = false;
  return {};
}

CudaExpected<> CudaTensor::set_computed (cudaStream_t stream)
{
  return check (cudaEventRecord (own_->computed.get (), stream));
}

CudaExpected<> CudaTensor::copy_pieces (const HostDestination &destination, cudaStream_t stream)
{
  // One 2D copy has no gaps. Eight pieces of 0.4 MB then take 59 us, and 73 us as eight copies
  // (H200, PCIe 5).
  constexpr std::size_t kMaxPitch = G_MAXINT32;  // of cudaMemcpy2D
  const auto [to, to_pitch, bytes, n] = destination.pieces ();
  const std::byte *const from = own_->memory.get ();
  if (n > 1 && std::max (to_pitch, bytes) <= kMaxPitch)
    return check (
        cudaMemcpy2DAsync (to, to_pitch, from, bytes, bytes, n, cudaMemcpyDeviceToHost, stream));
  for (int i = 0; i < n; i++)
    TRY (check (cudaMemcpyAsync (to + i * to_pitch, from + i * bytes, bytes, cudaMemcpyDeviceToHost,
                                 stream)));
  return {};
}

CudaExpected<> CudaTensor::enqueue_copy (const HostDestination &to, cudaStream_t stream)
{
  TRY (copy_pieces (to, stream));
  return check (cudaEventRecord (own_->downloaded.get (), stream));
}

CudaExpected<> CudaTensor::start_download (cudaStream_t stream)
{
  TRY (check (cudaMemcpyAsync (own_->host.get (), own_->memory.get (), bytes (),
                               cudaMemcpyDeviceToHost, stream)));
  TRY (check (cudaEventRecord (own_->downloaded.get (), stream)));
  download_started_ = true;
  return {};
}

}  // namespace integralhist
