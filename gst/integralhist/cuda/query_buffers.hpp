// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Queries on their way to a device and their answers on the way back.
#pragma once

#include <span>
#include <vector>

#include <kernels/cuda/raii.hpp>
#include <kernels/query.hpp>

#include <gst/integralhist/memory/idle_list.hpp>

#include "in_context.hpp"

namespace integralhist {

using inthist::Query;

/// A stream, and buffers for the queries of one call at a time.
struct QueryBuffers {
  inthist::cuda::StreamOwner stream;
  inthist::cuda::EventOwner done;  // fires after all use of the buffers
  inthist::cuda::GrowingPinnedMemory host_inputs, host_answers;
  inthist::cuda::GrowingDeviceMemory inputs, answers;

  bool ended = false;  // end () was called

  inthist::cuda::CudaExpected<> reserve (std::size_t inputs_bytes, std::size_t answers_bytes,
                                         std::size_t host_answers_bytes);
  /// Records `done` after the work that `on` has now, which includes all use of the buffers.
  inthist::cuda::CudaExpected<> end (cudaStream_t on);
};

class QueryBufferPool;

/// Gives buffers back to the pool. If a call failed and the end of their use is unknown, waits for
/// the device, and drops the buffers with the context current.
struct QueryBufferReturn {
  QueryBufferPool *pool = nullptr;
  void operator() (QueryBuffers *buffers) const;
};
using QueryLease = std::unique_ptr<QueryBuffers, QueryBufferReturn>;

/// Buffers that one call after another uses. The pool outlives the leases.
class QueryBufferPool {
public:
  explicit QueryBufferPool (Context context) : context_ (context), idle_ (std::move (context)) {}

  /// Leases idle buffers or new ones; the context must be current.
  inthist::cuda::CudaExpected<QueryLease> lease ();

private:
  friend QueryBufferReturn;

  const Context context_;
  InContext<IdleList<std::unique_ptr<QueryBuffers>>> idle_;
};

/// The queries of one call, with pointers to arrays in the device's buffers. Only small answers are
/// in pinned host memory.
class StagedQueries {
public:
  /// Copies inputs to the host buffers. If `answers`, carried values are copied as well, and
  /// answers come back to the addresses in the queries; otherwise both are arrays that are already
  /// on the device.
  static Expected<StagedQueries> create (QueryBufferPool &pool, const inthist::Shape &shape,
                                         std::span<const Query> queries, bool answers);

  const QueryBuffers &buffers () const { return *buffers_; }
  std::span<const Query> queries () const { return queries_; }
  /// Enqueue copies of the buffers.
  inthist::cuda::CudaExpected<> upload (cudaStream_t stream) const;
  inthist::cuda::CudaExpected<> download (cudaStream_t stream) const;
  /// Enqueues copies to the addresses on the device at which no kernel can exchange a Best.
  inthist::cuda::CudaExpected<> copy_bests (cudaStream_t stream) const;
  /// Copies answers, which are on the host now, to the addresses in the queries.
  void copy_answers () const;
  /// Ends the use of the buffers after the work that `stream` has now.
  inthist::cuda::CudaExpected<> end (cudaStream_t stream) { return buffers_->end (stream); }

private:
  struct Copy {
    void *to;
    std::size_t offset, bytes;
  };

  static bool is_misaligned (const inthist::Best *best)
  {
    return reinterpret_cast<std::uintptr_t> (best) % sizeof (*best) != 0;
  }
  void put_inputs (const inthist::Shape &shape);
  void put_answers (const inthist::Shape &shape);

  QueryLease buffers_;
  std::vector<Query> queries_;
  std::vector<Copy> copies_;
  // offsets in the buffers: inputs, the answers that go up, and the answers that come back
  std::size_t inputs_bytes_ = 0, up_end_ = 0, back_begin_ = SIZE_MAX, back_end_ = 0;
  bool in_host_answers_ = false;  // kernels write answers to pinned memory; no copy is needed
};

}  // namespace integralhist
