// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Copies queries (kernels/query.hpp) to a GPU, and the answers back to the host.
#pragma once

#include <span>
#include <vector>

#include <kernels/query.hpp>

#include <gst/integralhist/cuda/base/in_context.hpp>
#include <gst/integralhist/memory/idle_list.hpp>

namespace integralhist {

using inthist::Query;

/// A CUDA stream and buffers in pinned and GPU memory, for the queries of one call at a time.
struct QueryBuffers {
  inthist::cuda::StreamOwner stream;
  inthist::cuda::EventOwner done;  // event that fires after all use of the buffers
  inthist::cuda::GrowingPinnedMemory host_inputs, host_answers;
  inthist::cuda::GrowingDeviceMemory inputs, answers;

  bool ended = false;  // end () was called

  CudaExpected<> reserve (std::size_t inputs_bytes, std::size_t answers_bytes,
                          std::size_t host_answers_bytes);
  /// Records the event `done` on the CUDA stream `on`, after all use of the buffers.
  CudaExpected<> end (cudaStream_t on);
};

class QueryBufferPool;

/// Returns leased buffers to the pool after a call. If the call failed before end (), waits for the
/// GPU, and then frees the buffers with the CUDA context current.
struct QueryBufferReturn {
  QueryBufferPool *pool = nullptr;
  void operator() (QueryBuffers *buffers) const;
};
using QueryLease = std::unique_ptr<QueryBuffers, QueryBufferReturn>;

/// A pool of buffers for queries. It must outlive the leases of its buffers.
class QueryBufferPool {
public:
  explicit QueryBufferPool (ContextRef context) : context_ (context), idle_ (std::move (context)) {}

  /// Returns idle or new buffers, for one call. The CUDA context must be current.
  CudaExpected<QueryLease> lease ();

private:
  friend QueryBufferReturn;

  const ContextRef context_;
  InContext<IdleList<std::unique_ptr<QueryBuffers>>> idle_;
};

/// The memory in which a caller has the arrays for answers and carried values.
enum class AnswerMemory { host, device };

/// Copies of the queries of one call, with pointers to buffers on the GPU or in pinned memory.
class StagedQueries {
public:
  /// Copies the inputs of queries to pinned memory, for the upload. With AnswerMemory::host carried
  /// values are copied too, and answers later return to the addresses in the queries.
  static Expected<StagedQueries> create (QueryBufferPool &pool, const Shape &shape,
                                         std::span<const Query> queries, AnswerMemory answers);

  const QueryBuffers &buffers () const { return *buffers_; }
  std::span<const Query> queries () const { return queries_; }
  CudaExpected<> upload (cudaStream_t stream) const;
  CudaExpected<> download (cudaStream_t stream) const;
  /// Enqueues copies of each best window to its address in GPU memory if that address does not suit
  /// the atomic operations of kernels.
  CudaExpected<> copy_bests (cudaStream_t stream) const;
  /// Copies downloaded answers from pinned memory to the addresses in the queries.
  void copy_answers () const;
  /// Marks the use of the buffers as over after the work that is now on `stream`.
  CudaExpected<> end (cudaStream_t stream) { return buffers_->end (stream); }

private:
  struct Copy {
    void *to;
    std::size_t offset, bytes;
  };

  static bool is_misaligned (const inthist::Best *best)
  {
    return reinterpret_cast<std::uintptr_t> (best) % sizeof (*best) != 0;
  }
  // The steps of create (): plan_... () choose the places of arrays and return the answers' bytes,
  // reserve () gets the memory, and put_... () write the arrays.
  std::size_t plan_answers (const Shape &shape);
  std::size_t plan_bests ();
  Expected<> reserve (QueryBufferPool &pool, std::size_t output_bytes);
  void put_inputs (const Shape &shape);
  void put_answers (const Shape &shape);
  void put_bests ();

  QueryLease buffers_;
  std::vector<Query> queries_;
  std::vector<Copy> copies_;
  // Byte offsets in the buffers: ends of inputs and uploaded answers, and the downloaded range.
  std::size_t inputs_bytes_ = 0, up_end_ = 0, back_begin_ = SIZE_MAX, back_end_ = 0;
  bool in_host_answers_ = false;  // kernels write answers to pinned memory; no copy is needed
};

}  // namespace integralhist
