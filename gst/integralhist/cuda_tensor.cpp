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
  if (state == cudaErrorNotReady)
    cudaGetLastError ();  // older runtimes remember it, and the next launch would report it
  else
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
    : Tensor (of), context_ (std::move (context)), queries_ (std::move (queries)), download_ (download), room_ (bytes ()),
      memory_ (allocate_tensor (of, room_, alive)), computed_ (make_event (cudaEventDisableTiming | cudaEventBlockingSync)),
      downloaded_ (make_event (cudaEventDisableTiming | cudaEventBlockingSync))
{
  if (download_ == Download::eager)
    host_ = make_pinned_memory (room_);
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

static bool
await (cudaEvent_t event, GstClockTime timeout)
{
  if (timeout == GST_CLOCK_TIME_NONE) {
    await (event);
    return true;
  }
  const auto start = Clock::now ();
  while (!has_fired (event)) {
    if (Clock::now () - start >= std::chrono::nanoseconds (std::min<GstClockTime> (timeout, G_MAXINT64 / 4)))
      return false;
    std::this_thread::sleep_for (std::chrono::microseconds (20));
  }
  return true;
}

bool
CudaTensor::wait (GstClockTime timeout)
{
  return on (*context_, [&] { return await (computed_.get (), timeout); });
}

bool
CudaTensor::wait_for_landing (GstClockTime timeout)
{
  // an event that was never recorded has fired
  return on (*context_, [&] { return await (computed_.get (), timeout) && await (downloaded_.get (), timeout); });
}

namespace {

/// Calls `array (pointer, bytes)` for each array of what is asked.
template <class Array>
void
for_inputs (const inthist::Shape &shape, Query &query, Array &&array)
{
  const auto visit = [&] (auto &pointer, std::size_t n) {
    if (pointer && n > 0)
      array (pointer, n * sizeof *pointer);
  };
  visit (query.windows.list, query.windows.n);
  visit (query.models, std::size_t (query.n_models ()) * shape.bins);
  visit (query.patches, query.n_patches);
}

/// Calls `array (pointer, bytes, goes_up, comes_back)` for each array of what is carried and answered, in an order in which what goes up lies together, and what comes back. Where `answers` is null
/// there is nobody to take them.
template <class Array>
void
for_outputs (const inthist::Shape &shape, std::span<Query> queries, Array &&array)
{
  for (const auto &[goes_up, comes_back] : { std::pair (true, false), std::pair (true, true), std::pair (false, true) })
    for (Query &query : queries)
      if (query.carried && query.continues () == goes_up && query.goes_on (shape) == comes_back)
        array (query.carried, inthist::carried_bytes (query), goes_up, comes_back);
  for (Query &query : queries)
    if (!query.goes_on (shape)) {
      if (query.best)
        array (query.best, sizeof (inthist::Best), false, true);
      if (query.answers)
        array (query.answers, inthist::answer_bytes (shape, query), false, true);
    }
  for (Query &query : queries)
    if (!query.goes_on (shape) && !query.answers)
      array (query.answers, inthist::answer_bytes (shape, query), false, false);
}

/// One behind the other in a block, each on 16 bytes.
class Packing {
public:
  std::size_t add (std::size_t bytes)
  {
    const std::size_t offset = bytes_;
    bytes_ += (bytes + 15) / 16 * 16;
    return offset;
  }
  std::size_t bytes () const { return bytes_; }

private:
  std::size_t bytes_ = 0;
};

/// Copies what is asked to the lane, and has the queries point to where it will be on the device.
void
put_inputs (const inthist::Shape &shape, const Queries::Lane &lane, std::span<Query> queries)
{
  Packing packing;
  for (Query &query : queries)
    for_inputs (shape, query, [&] (auto &pointer, std::size_t bytes) {
      const std::size_t offset = packing.add (bytes);
      std::memcpy (lane.host_inputs.get () + offset, pointer, bytes);
      pointer = reinterpret_cast<std::remove_reference_t<decltype (pointer)>> (lane.inputs.get () + offset);
    });
}

std::size_t
inputs_bytes (const inthist::Shape &shape, std::span<Query> queries)
{
  Packing packing;
  for (Query &query : queries)
    for_inputs (shape, query, [&] (auto &, std::size_t bytes) { packing.add (bytes); });
  return packing.bytes ();
}

}  // namespace

std::unique_ptr<Queries::Lane>
CudaTensor::acquire_lane (std::size_t inputs, std::size_t answers, std::size_t host_answers)
{
  auto lane = queries_->acquire ();
  try {
    lane->reserve (inputs, answers, host_answers);
  } catch (const CudaError &error) {
    if (error.code != cudaErrorMemoryAllocation)
      throw;
    std::size_t available = 0, total = 0;
    cudaMemGetInfo (&available, &total);
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY,
                 no_memory ("what is asked or answered, on the GPU or pinned on the host,", error.bytes, available, "GPU")
                     + ": ask in parts");
  }
  return lane;
}

void
CudaTensor::enqueue (const Queries::Lane &lane, cudaStream_t stream, std::size_t inputs_bytes, std::span<const Query> queries)
{
  check (cudaStreamWaitEvent (stream, computed_.get (), 0));
  if (inputs_bytes > 0)
    check (cudaMemcpyAsync (lane.inputs.get (), lane.host_inputs.get (), inputs_bytes, cudaMemcpyHostToDevice, stream));
  for (const Query &query : queries)
    check (inthist::cuda::answer (shape, layout, memory_.get (), query, stream));
}

void
CudaTensor::ask (std::span<const Query> queries)
{
  on (*context_, [&] {
    std::vector<Query> asked (queries.begin (), queries.end ());
    Packing outputs;
    std::size_t up_end = 0, back_begin = SIZE_MAX, back_end = 0;
    for_outputs (shape, asked, [&] (auto &, std::size_t bytes, bool goes_up, bool comes_back) {
      const std::size_t offset = outputs.add (bytes);
      if (goes_up)
        up_end = outputs.bytes ();
      if (comes_back) {
        back_begin = std::min (back_begin, offset);
        back_end = outputs.bytes ();
      }
    });
    const std::size_t inputs = inputs_bytes (shape, asked);
    auto lane = acquire_lane (inputs, outputs.bytes (), std::max (up_end, back_end));
    put_inputs (shape, *lane, asked);

    struct Copy {
      void *to;
      std::size_t offset, bytes;
    };
    std::vector<Copy> copies;
    Packing packing;
    for_outputs (shape, asked, [&] (auto &pointer, std::size_t bytes, bool goes_up, bool comes_back) {
      const std::size_t offset = packing.add (bytes);
      if (goes_up)
        std::memcpy (lane->host_answers.get () + offset, pointer, bytes);
      if (comes_back)
        copies.push_back ({ pointer, offset, bytes });
      pointer = reinterpret_cast<std::remove_reference_t<decltype (pointer)>> (lane->answers.get () + offset);
    });

    cudaStream_t stream = lane->stream.get ();
    if (up_end > 0)
      check (cudaMemcpyAsync (lane->answers.get (), lane->host_answers.get (), up_end, cudaMemcpyHostToDevice, stream));
    enqueue (*lane, stream, inputs, asked);
    if (back_end > 0)
      check (cudaMemcpyAsync (lane->host_answers.get () + back_begin, lane->answers.get () + back_begin, back_end - back_begin,
                              cudaMemcpyDeviceToHost, stream));
    check (cudaEventRecord (lane->done.get (), stream));
    await (lane->done.get ());
    for (const auto &[to, offset, bytes] : copies)
      std::memcpy (to, lane->host_answers.get () + offset, bytes);
    queries_->give_back (std::move (lane));
  });
}

void
CudaTensor::ask_on (void *stream, std::span<const Query> queries)
{
  on (*context_, [&] {
    std::vector<Query> asked (queries.begin (), queries.end ());
    const std::size_t inputs = inputs_bytes (shape, asked);
    auto lane = acquire_lane (inputs, 0, 0);
    put_inputs (shape, *lane, asked);
    enqueue (*lane, static_cast<cudaStream_t> (stream), inputs, asked);
    check (cudaEventRecord (lane->done.get (), static_cast<cudaStream_t> (stream)));
    queries_->give_back (std::move (lane));
  });
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
      host_ = make_pinned_memory (room_);
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

std::function<void ()>
CudaTensor::start_landing (const Landing &landing)
{
  return on (*context_, [&] {
    const auto lane = std::make_shared<std::unique_ptr<Queries::Lane>> (queries_->acquire ());
    cudaStream_t stream = (*lane)->stream.get ();
    check (cudaStreamWaitEvent (stream, computed_.get (), 0));
    copy_pieces (landing, stream);
    check (cudaEventRecord ((*lane)->done.get (), stream));
    return [this, lane] {
      on (*context_, [&] { await ((*lane)->done.get ()); });
      queries_->give_back (std::move (*lane));
    };
  });
}

CudaView
CudaTensor::cuda ()
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
CudaTensor::copy_pieces (const Landing &landing, cudaStream_t stream)
{
  // pieces of one copy follow each other without a gap; in copies of their own eight of 0.4 MB take 73 us instead of 59 (H200, PCIe 5)
  constexpr std::size_t kMostPitch = G_MAXINT32;  // that cudaMemcpy2D takes
  landing.for_blocks ([&] (std::byte *to, std::size_t to_pitch, std::size_t offset, std::size_t pitch, std::size_t bytes, int n) {
    const std::byte *const from = memory_.get () + offset;
    if (n > 1 && std::max (to_pitch, pitch) <= kMostPitch)
      check (cudaMemcpy2DAsync (to, to_pitch, from, pitch, bytes, n, cudaMemcpyDeviceToHost, stream));
    else
      for (int i = 0; i < n; i++)
        check (cudaMemcpyAsync (to + i * to_pitch, from + i * pitch, bytes, cudaMemcpyDeviceToHost, stream));
  });
}

void
CudaTensor::land (const Landing &landing, cudaStream_t stream)
{
  copy_pieces (landing, stream);
  check (cudaEventRecord (downloaded_.get (), stream));
}

void
CudaTensor::start_download (cudaStream_t stream)
{
  check (cudaMemcpyAsync (host_.get (), memory_.get (), bytes (), cudaMemcpyDeviceToHost, stream));
  check (cudaEventRecord (downloaded_.get (), stream));
  download_started_ = true;
}

}  // namespace integralhist
