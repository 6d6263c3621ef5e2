// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cuda_tensor.hpp"

#include <chrono>
#include <cstring>
#include <thread>

namespace integralhist {

using namespace inthist::cuda;
using Clock = std::chrono::steady_clock;

static constexpr std::chrono::microseconds kAsking (50);  // a wait polls for so long

/// Returns the free memory of the current context.
static Available free_on_device ()
{
  std::size_t available = 0, total = 0;
  cudaMemGetInfo (&available, &total);
  return { available, "GPU memory" };
}

/// Returns the message for `what`, which could not be allocated.
static std::string no_memory_on_device (const std::string &what, const CudaError &error)
{
  return no_memory (what + (error.pinned ? ", pinned on the host," : ", on the GPU,"), error.bytes,
                    error.pinned ? available_memory () : free_on_device ());
}

Error::Error (const CudaError &error)
    : kind (Kind::failed), message (std::string ("CUDA: ") + error.what ())
{
  if (error.code == cudaErrorMemoryAllocation) {
    kind = Kind::no_memory;
    message = no_memory_on_device ("what a frame needs besides its tensor", error)
              + ": lower async-depth, set max-tensors, or download=never";
  }
}

bool has_fired (cudaEvent_t event)
{
  const cudaError_t state = cudaEventQuery (event);
  if (state == cudaErrorNotReady)
    cudaGetLastError ();  // older runtimes would report it at the next launch
  return state != cudaErrorNotReady;
}

CudaExpected<> await (cudaEvent_t event)
{
  const auto start = Clock::now ();
  for (;;) {
    const cudaError_t state = cudaEventQuery (event);
    if (state != cudaErrorNotReady)
      return check (state);
    cudaGetLastError ();  // older runtimes would report it at the next launch
    if (Clock::now () - start > kAsking)
      return check (cudaEventSynchronize (event));
  }
}

Expected<std::unique_ptr<Tensor>> CudaTensor::create (const inthist::Shape &shape, unsigned alive,
                                                      Context context,
                                                      std::shared_ptr<Queries> queries,
                                                      Download download)
{
  std::unique_ptr<CudaTensor> tensor (
      new CudaTensor (shape, std::move (context), std::move (queries), download));
  auto memory = make_device_memory (tensor->room_);
  if (!memory && memory.error ().code == cudaErrorMemoryAllocation)
    return error (Error::Kind::no_memory,
                  no_memory_for_tensor (shape, tensor->room_, free_on_device (), alive));
  tensor->memory_ = TRY (std::move (memory));
  for (EventOwner *event : { &tensor->computed_, &tensor->downloaded_ })
    *event = TRY (make_event (cudaEventDisableTiming | cudaEventBlockingSync));
  if (download == Download::eager)
    tensor->host_ = TRY (make_pinned_memory (tensor->room_));
  return tensor;
}

CudaTensor::~CudaTensor ()
{
  const CudaContext::Scope scope (*context_);
  for (EventOwner *event : { &computed_, &downloaded_ })
    if (*event)
      cudaEventSynchronize (event->get ());
  for (const EventOwner &reader : readers_)
    cudaEventSynchronize (reader.get ());
  memory_.reset ();
  host_.reset ();
  computed_.reset ();
  downloaded_.reset ();
  readers_.clear ();
}

static Expected<> await (cudaEvent_t event, GstClockTime timeout)
{
  if (timeout == GST_CLOCK_TIME_NONE) {
    TRY (await (event));
    return {};
  }
  const auto start = Clock::now ();
  while (!has_fired (event)) {
    const auto waited = Clock::now () - start;
    if (waited >= std::chrono::nanoseconds (std::min<GstClockTime> (timeout, G_MAXINT64 / 4)))
      return error (Error::Kind::timeout, "the integral histogram is not ready yet");
    if (waited > kAsking)
      std::this_thread::sleep_for (std::chrono::microseconds (20));
  }
  TRY (check (cudaEventQuery (event)));
  return {};
}

Expected<> CudaTensor::wait (GstClockTime timeout)
{
  return on (*context_, [&] { return await (computed_.get (), timeout); });
}

Expected<> CudaTensor::wait_for_landing (GstClockTime timeout)
{
  // an event that was never recorded counts as fired
  return on (*context_, [&] () -> Expected<> {
    TRY (await (computed_.get (), timeout));
    return await (downloaded_.get (), timeout);
  });
}

namespace {

/// Calls `array (pointer, bytes)` for each input array of a query.
template <class Array>
void for_inputs (const inthist::Shape &shape, Query &query, Array &&array)
{
  const auto visit = [&] (auto &pointer, std::size_t n) {
    if (pointer && n > 0)
      array (pointer, n * sizeof *pointer);
  };
  visit (query.windows.list, query.windows.n);
  visit (query.models, std::size_t (query.n_models ()) * shape.bins);
  visit (query.patches, query.n_patches);
}

/// Calls `array (pointer, bytes, goes_up, comes_back)` for each carried and answered array. Those
/// that go up lie together, as do those that come back. Null `answers` do not come back.
template <class Array>
void for_outputs (const inthist::Shape &shape, std::span<Query> queries, Array &&array)
{
  for (const auto &[goes_up, comes_back] :
       { std::pair (true, false), std::pair (true, true), std::pair (false, true) })
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

/// Places arrays in one block, each aligned to 16 bytes.
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

/// Copies the inputs to the lane's host block, and points the queries to their device copies.
void put_inputs (const inthist::Shape &shape, const Queries::Lane &lane, std::span<Query> queries)
{
  Packing packing;
  for (Query &query : queries)
    for_inputs (shape, query, [&] (auto &pointer, std::size_t bytes) {
      const std::size_t offset = packing.add (bytes);
      std::memcpy (lane.host_inputs.get () + offset, pointer, bytes);
      pointer = reinterpret_cast<std::remove_reference_t<decltype (pointer)>> (lane.inputs.get ()
                                                                               + offset);
    });
}

std::size_t inputs_bytes (const inthist::Shape &shape, std::span<Query> queries)
{
  Packing packing;
  for (Query &query : queries)
    for_inputs (shape, query, [&] (auto &, std::size_t bytes) { packing.add (bytes); });
  return packing.bytes ();
}

}  // namespace

Expected<std::unique_ptr<Queries::Lane>>
CudaTensor::acquire_lane (std::size_t inputs, std::size_t answers, std::size_t host_answers)
{
  auto lane = TRY (queries_->acquire ());
  if (const auto reserved = lane->reserve (inputs, answers, host_answers); !reserved) {
    if (reserved.error ().code != cudaErrorMemoryAllocation)
      return tl::make_unexpected (reserved.error ());
    return error (Error::Kind::no_memory,
                  no_memory_on_device ("what is asked or answered", reserved.error ())
                      + ": ask in parts");
  }
  return lane;
}

CudaExpected<> CudaTensor::enqueue (const Queries::Lane &lane, cudaStream_t stream,
                                    std::size_t inputs_bytes, std::span<const Query> queries)
{
  TRY (check (cudaStreamWaitEvent (stream, computed_.get (), 0)));
  if (inputs_bytes > 0)
    TRY (check (cudaMemcpyAsync (lane.inputs.get (), lane.host_inputs.get (), inputs_bytes,
                                 cudaMemcpyHostToDevice, stream)));
  for (const Query &query : queries)
    TRY (check (inthist::cuda::answer (shape, layout, memory_.get (), query, stream)));
  return {};
}

Expected<> CudaTensor::ask (std::span<const Query> queries)
{
  return on (*context_, [&] () -> Expected<> {
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
    auto lane = TRY (acquire_lane (inputs, outputs.bytes (), std::max (up_end, back_end)));
    put_inputs (shape, *lane, asked);

    struct Copy {
      void *to;
      std::size_t offset, bytes;
    };
    std::vector<Copy> copies;
    Packing packing;
    for_outputs (shape, asked,
                 [&] (auto &pointer, std::size_t bytes, bool goes_up, bool comes_back) {
                   const std::size_t offset = packing.add (bytes);
                   if (goes_up)
                     std::memcpy (lane->host_answers.get () + offset, pointer, bytes);
                   if (comes_back)
                     copies.push_back ({ pointer, offset, bytes });
                   pointer = reinterpret_cast<std::remove_reference_t<decltype (pointer)>> (
                       lane->answers.get () + offset);
                 });

    cudaStream_t stream = lane->stream.get ();
    if (up_end > 0)
      TRY (check (cudaMemcpyAsync (lane->answers.get (), lane->host_answers.get (), up_end,
                                   cudaMemcpyHostToDevice, stream)));
    TRY (enqueue (*lane, stream, inputs, asked));
    if (back_end > 0)
      TRY (check (cudaMemcpyAsync (lane->host_answers.get () + back_begin,
                                   lane->answers.get () + back_begin, back_end - back_begin,
                                   cudaMemcpyDeviceToHost, stream)));
    TRY (check (cudaEventRecord (lane->done.get (), stream)));
    TRY (await (lane->done.get ()));
    for (const auto &[to, offset, bytes] : copies)
      std::memcpy (to, lane->host_answers.get () + offset, bytes);
    queries_->give_back (std::move (lane));
    return {};
  });
}

Expected<> CudaTensor::ask_on (void *stream, std::span<const Query> queries)
{
  return on (*context_, [&] () -> Expected<> {
    std::vector<Query> asked (queries.begin (), queries.end ());
    const std::size_t inputs = inputs_bytes (shape, asked);
    auto lane = TRY (acquire_lane (inputs, 0, 0));
    put_inputs (shape, *lane, asked);
    const auto enqueued = enqueue (*lane, static_cast<cudaStream_t> (stream), inputs, asked);
    TRY (add_reader (stream));  // also for what was enqueued before a failure
    TRY (enqueued);
    TRY (check (cudaEventRecord (lane->done.get (), static_cast<cudaStream_t> (stream))));
    queries_->give_back (std::move (lane));
    return {};
  });
}

Expected<> CudaTensor::add_reader (void *stream)
{
  return on (*context_, [&] () -> Expected<> {
    const std::lock_guard lock (readers_mutex_);
    // An event that has fired is reused; any other stands for its own stream.
    auto reader = std::ranges::find_if (
        readers_, [] (const EventOwner &event) { return has_fired (event.get ()); });
    if (reader == readers_.end ())
      reader = readers_.insert (reader,
                                TRY (make_event (cudaEventDisableTiming | cudaEventBlockingSync)));
    TRY (check (cudaEventRecord (reader->get (), static_cast<cudaStream_t> (stream))));
    return {};
  });
}

Expected<const void *> CudaTensor::host ()
{
  if (download_ == Download::never)
    return error (Error::Kind::not_downloaded,
                  "the tensor stays on the GPU, as download=never says; ask regions, or set "
                  "download to lazy or eager");
  const std::lock_guard lock (host_mutex_);
  return on (*context_, [&] () -> Expected<const void *> {
    if (!host_)
      host_ = TRY (make_pinned_memory (room_));
    if (!download_started_) {
      auto lane = TRY (queries_->acquire ());
      TRY (check (cudaStreamWaitEvent (lane->stream.get (), computed_.get (), 0)));
      TRY (start_download (lane->stream.get ()));
      TRY (await (downloaded_.get ()));
      queries_->give_back (std::move (lane));
    } else {
      TRY (await (downloaded_.get ()));
    }
    return host_.get ();
  });
}

Expected<std::function<Expected<> ()>> CudaTensor::start_landing (const Landing &landing)
{
  return on (*context_, [&] () -> Expected<std::function<Expected<> ()>> {
    const auto lane = std::make_shared<std::unique_ptr<Queries::Lane>> (TRY (queries_->acquire ()));
    cudaStream_t stream = (*lane)->stream.get ();
    TRY (check (cudaStreamWaitEvent (stream, computed_.get (), 0)));
    TRY (copy_pieces (landing, stream));
    TRY (check (cudaEventRecord ((*lane)->done.get (), stream)));
    return [this, lane] {
      return on (*context_, [&] () -> Expected<> {
        TRY (await ((*lane)->done.get ()));
        queries_->give_back (std::move (*lane));
        return {};
      });
    };
  });
}

CudaView CudaTensor::cuda ()
{
  return { reinterpret_cast<guint64> (memory_.get ()), computed_.get (), context_->handle (),
           context_->device () };
}

bool CudaTensor::at_rest ()
{
  const auto fired = [] (const EventOwner &event) { return has_fired (event.get ()); };
  return at_rest_ =
             at_rest_
             || (fired (computed_) && fired (downloaded_) && std::ranges::all_of (readers_, fired));
}

CudaExpected<> CudaTensor::reuse (cudaStream_t stream)
{
  const auto wait_for = [stream] (const EventOwner &event) {
    return check (cudaStreamWaitEvent (stream, event.get (), 0));
  };
  if (!at_rest_) {
    TRY (wait_for (computed_));
    TRY (wait_for (downloaded_));
    for (const EventOwner &reader : readers_)
      TRY (wait_for (reader));
  }
  download_started_ = at_rest_ = false;
  return {};
}

CudaExpected<> CudaTensor::set_computed (cudaStream_t stream)
{
  return check (cudaEventRecord (computed_.get (), stream));
}

CudaExpected<> CudaTensor::copy_pieces (const Landing &landing, cudaStream_t stream)
{
  // One 2D copy leaves no gaps: eight pieces of 0.4 MB take 59 us, apart 73 us (H200, PCIe 5).
  constexpr std::size_t kMostPitch = G_MAXINT32;  // of cudaMemcpy2D
  cudaError_t result = cudaSuccess;
  landing.for_blocks ([&] (std::byte *to, std::size_t to_pitch, std::size_t offset,
                           std::size_t pitch, std::size_t bytes, int n) {
    const std::byte *const from = memory_.get () + offset;
    if (n > 1 && std::max (to_pitch, pitch) <= kMostPitch && result == cudaSuccess)
      result =
          cudaMemcpy2DAsync (to, to_pitch, from, pitch, bytes, n, cudaMemcpyDeviceToHost, stream);
    else
      for (int i = 0; i < n && result == cudaSuccess; i++)
        result = cudaMemcpyAsync (to + i * to_pitch, from + i * pitch, bytes,
                                  cudaMemcpyDeviceToHost, stream);
  });
  return check (result);
}

CudaExpected<> CudaTensor::land (const Landing &landing, cudaStream_t stream)
{
  TRY (copy_pieces (landing, stream));
  return check (cudaEventRecord (downloaded_.get (), stream));
}

CudaExpected<> CudaTensor::start_download (cudaStream_t stream)
{
  TRY (check (
      cudaMemcpyAsync (host_.get (), memory_.get (), bytes (), cudaMemcpyDeviceToHost, stream)));
  TRY (check (cudaEventRecord (downloaded_.get (), stream)));
  download_started_ = true;
  return {};
}

}  // namespace integralhist
