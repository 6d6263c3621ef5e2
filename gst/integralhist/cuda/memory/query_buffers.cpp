// SPDX-License-Identifier: LGPL-2.1-or-later
#include "query_buffers.hpp"

#include <algorithm>
#include <cstring>

#include <gst/integralhist/cuda/base/cuda_error.hpp>
#include <gst/integralhist/cuda/base/cuda_event.hpp>

#include "packing.hpp"

namespace integralhist {

using namespace inthist::cuda;

namespace {

/// Calls the function `array` with the pointer and the bytes of each input array of a query.
template <class Array>
void for_inputs (const Shape &shape, Query &query, Array &&array)
{
  const auto visit = [&] (auto &pointer, std::size_t n) {
    if (pointer && n > 0)
      array (pointer, n * sizeof *pointer);
  };
  visit (query.windows.list, query.windows.n);
  visit (query.models, std::size_t (query.n_models ()) * shape.bins);
  visit (query.patches, query.n_patches);
  visit (query.totals, query.n_totals ());
}

/// Calls the function `array` with the pointer and bytes of each array of answers or carried values
/// (kernels/query.hpp), and whether it is uploaded or downloaded. The order keeps uploaded arrays
/// together, and downloaded ones. Answers without an address are not downloaded.
template <class Array>
void for_outputs (const Shape &shape, std::span<Query> queries, Array &&array)
{
  for (const auto &[goes_up, comes_back] :
       { std::pair (true, false), std::pair (true, true), std::pair (false, true) })
    for (Query &query : queries)
      if (query.carried && query.has_bins_before () == goes_up
          && query.has_bins_after (shape) == comes_back)
        array (query.carried, inthist::carried_bytes (query), goes_up, comes_back);
  for (Query &query : queries)
    if (!query.has_bins_after (shape)) {
      if (query.best)
        array (query.best, sizeof (inthist::Best), false, true);
      if (query.answers)
        array (query.answers, inthist::answer_bytes (shape, query), false, true);
    }
  for (Query &query : queries)
    if (!query.has_bins_after (shape) && !query.answers)
      array (query.answers, inthist::answer_bytes (shape, query), false, false);
}

/// The most bytes of answers that kernels write directly to pinned host memory: for a few bytes,
/// starting a copy would take longer. The limit is a judgement; only 900 bytes were measured.
constexpr std::size_t kMaxPinnedAnswers = 16 << 10;

}  // namespace

CudaExpected<> QueryBuffers::reserve (std::size_t inputs_bytes, std::size_t answers_bytes,
                                      std::size_t host_answers_bytes)
{
  // Reserves a quarter more memory than needed: later queries may be larger, allocating is slow.
  const auto grow = [] (auto &memory, std::size_t bytes) -> CudaExpected<> {
    return bytes <= memory.bytes () ? CudaExpected<> () : memory.reserve (bytes + bytes / 4);
  };
  TRY (grow (host_inputs, inputs_bytes));
  TRY (grow (inputs, inputs_bytes));
  TRY (grow (answers, answers_bytes));
  return grow (host_answers, host_answers_bytes);
}

CudaExpected<> QueryBuffers::end (cudaStream_t on)
{
  TRY (check (cudaEventRecord (done.get (), on)));
  ended = true;
  return {};
}

void QueryBufferReturn::operator() (QueryBuffers *buffers) const
{
  std::unique_ptr<QueryBuffers> owner (buffers);
  if (std::exchange (owner->ended, false)) {
    pool->idle_->give_back (std::move (owner));
    return;
  }
  const CudaContext::Scope scope (*pool->context_);
  cudaDeviceSynchronize ();  // because kernels of any stream may use the buffers
  owner.reset ();
}

CudaExpected<QueryLease> QueryBufferPool::lease ()
{
  auto buffers = idle_->take ([] (const auto &idle) { return has_fired (idle->done.get ()); });
  if (!buffers) {
    buffers = std::make_unique<QueryBuffers> ();
    buffers->stream = TRY (make_stream ());
    buffers->done = TRY (make_event (cudaEventDisableTiming | cudaEventBlockingSync));
  }
  return QueryLease (buffers.release (), { this });
}

Expected<StagedQueries> StagedQueries::create (QueryBufferPool &pool, const Shape &shape,
                                               std::span<const Query> queries, AnswerMemory answers)
{
  const bool in_host_memory = answers == AnswerMemory::host;
  StagedQueries staged;
  staged.queries_.assign (queries.begin (), queries.end ());
  Packing inputs;
  for (Query &query : staged.queries_)
    for_inputs (shape, query, [&] (auto &, std::size_t bytes) { inputs.add (bytes); });
  staged.inputs_bytes_ = inputs.bytes ();
  const std::size_t output_bytes =
      in_host_memory ? staged.plan_answers (shape) : staged.plan_bests ();
  TRY (staged.reserve (pool, output_bytes));
  staged.put_inputs (shape);
  if (in_host_memory)
    staged.put_answers (shape);
  else
    staged.put_bests ();
  return staged;
}

std::size_t StagedQueries::plan_answers (const Shape &shape)
{
  Packing outputs;
  for_outputs (shape, queries_, [&] (auto &, std::size_t bytes, bool goes_up, bool comes_back) {
    const std::size_t offset = outputs.add (bytes);
    if (goes_up)
      up_end_ = outputs.bytes ();
    if (comes_back) {
      back_begin_ = std::min (back_begin_, offset);
      back_end_ = outputs.bytes ();
    }
  });
  return outputs.bytes ();
}

std::size_t StagedQueries::plan_bests ()
{
  Packing outputs;
  for (const Query &query : queries_)
    if (is_misaligned (query.best))
      copies_.push_back ({ query.best, outputs.add (sizeof *query.best), sizeof *query.best });
  return outputs.bytes ();
}

Expected<> StagedQueries::reserve (QueryBufferPool &pool, std::size_t output_bytes)
{
  // Only answers that kernels do not read go to pinned memory: no carried values or best windows.
  in_host_answers_ = up_end_ == 0 && back_begin_ == 0 && back_end_ == output_bytes
                     && output_bytes <= kMaxPinnedAnswers
                     && std::ranges::none_of (
                         queries_, [] (const Query &query) { return query.best || query.carried; });
  buffers_ = TRY (pool.lease ());
  const auto reserved = buffers_->reserve (inputs_bytes_, in_host_answers_ ? 0 : output_bytes,
                                           std::max (up_end_, back_end_));
  if (reserved)
    return {};
  if (reserved.error ().code != cudaErrorMemoryAllocation)
    return tl::make_unexpected (reserved.error ());
  return error (Error::Kind::no_memory,
                no_memory_on_device ("a question and its answer", reserved.error ()),
                ": ask for fewer windows in each call");
}

void StagedQueries::put_inputs (const Shape &shape)
{
  Packing packing;
  for (Query &query : queries_)
    for_inputs (shape, query, [&] (auto &pointer, std::size_t bytes) {
      const std::size_t offset = packing.add (bytes);
      std::memcpy (buffers_->host_inputs.get () + offset, pointer, bytes);
      pointer = reinterpret_cast<std::remove_reference_t<decltype (pointer)>> (
          buffers_->inputs.get () + offset);
    });
}

void StagedQueries::put_answers (const Shape &shape)
{
  std::byte *const answers =
      in_host_answers_ ? buffers_->host_answers.get () : buffers_->answers.get ();
  Packing packing;
  for_outputs (
      shape, queries_, [&] (auto &pointer, std::size_t bytes, bool goes_up, bool comes_back) {
        const std::size_t offset = packing.add (bytes);
        if (goes_up)
          std::memcpy (buffers_->host_answers.get () + offset, pointer, bytes);
        if (comes_back)
          copies_.push_back ({ pointer, offset, bytes });
        pointer = reinterpret_cast<std::remove_reference_t<decltype (pointer)>> (answers + offset);
      });
}

void StagedQueries::put_bests ()
{
  for (auto copy = copies_.begin (); Query & query : queries_)
    if (is_misaligned (query.best))
      query.best = reinterpret_cast<inthist::Best *> (buffers_->answers.get () + copy++->offset);
}

CudaExpected<> StagedQueries::upload (cudaStream_t stream) const
{
  const auto copy = [stream] (const auto &to, const auto &from, std::size_t bytes) {
    return check (bytes == 0 ? cudaSuccess
                             : cudaMemcpyAsync (to.get (), from.get (), bytes,
                                                cudaMemcpyHostToDevice, stream));
  };
  TRY (copy (buffers_->answers, buffers_->host_answers, up_end_));
  return copy (buffers_->inputs, buffers_->host_inputs, inputs_bytes_);
}

CudaExpected<> StagedQueries::download (cudaStream_t stream) const
{
  if (back_end_ == 0 || in_host_answers_)
    return {};
  return check (cudaMemcpyAsync (buffers_->host_answers.get () + back_begin_,
                                 buffers_->answers.get () + back_begin_, back_end_ - back_begin_,
                                 cudaMemcpyDeviceToHost, stream));
}

CudaExpected<> StagedQueries::copy_bests (cudaStream_t stream) const
{
  for (const auto &[to, offset, bytes] : copies_)
    TRY (check (cudaMemcpyAsync (to, buffers_->answers.get () + offset, bytes,
                                 cudaMemcpyDeviceToDevice, stream)));
  return {};
}

void StagedQueries::copy_answers () const
{
  for (const auto &[to, offset, bytes] : copies_)
    std::memcpy (to, buffers_->host_answers.get () + offset, bytes);
}

}  // namespace integralhist
