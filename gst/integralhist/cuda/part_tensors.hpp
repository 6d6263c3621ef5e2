// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tensors of parts of frames whose values lie on a GPU. Their memory, streams and workspaces are
// kept for the next.
#pragma once

#include <atomic>
#include <memory>

#include <gst/integralhist/memory/idle_list.hpp>

#include "cuda_tensor.hpp"

namespace integralhist {

/// Computes tensors of parts of frames, one after another for each thread. It outlives the engine
/// while tensors are out.
class PartTensors : public std::enable_shared_from_this<PartTensors> {
public:
  PartTensors (Context context, Download download)
      : context (std::move (context)), download_ (download),
        queries_ (std::make_shared<QueryBufferPool> (this->context)), places_ (this->context),
        idle_ (this->context, kMostIdle)
  {
  }

  const Context context;

  /// Enqueues the tensor of this shape, of pixels that are there once `kept` has fired. `read`
  /// fires when all that was enqueued with it has read them. A box has room for those that are a
  /// little larger. The context is current.
  Expected<std::shared_ptr<CudaTensor>> compute (const inthist::Shape &of, bool is_box,
                                                 const inthist::Binning &binning, cudaEvent_t kept,
                                                 cudaEvent_t read);
  /// Frees the memory of tensors once nobody has them: no frames come any more.
  void end ();
  /// Returns the memory of tensors that are out, or kept for the next.
  guint64 bytes () const { return bytes_; }

private:
  static constexpr std::size_t kMostIdle = 4;

  /// A stream, and what a strategy takes there besides the tensor.
  struct Workplace {
    inthist::cuda::StreamOwner stream;
    inthist::cuda::GrowingDeviceMemory pixels, workspace;
  };

  /// Returns a tensor that comes back when nobody has it any more.
  Expected<std::shared_ptr<CudaTensor>> take (const inthist::Shape &of, bool is_box);
  Expected<std::unique_ptr<CudaTensor>> make (const inthist::Shape &room);
  bool free_all (std::vector<std::unique_ptr<CudaTensor>> idle);
  void give_back (std::unique_ptr<CudaTensor> tensor);
  inthist::cuda::CudaExpected<std::unique_ptr<Workplace>> take_place ();
  static inthist::cuda::CudaExpected<> enqueue (CudaTensor &tensor, const inthist::Binning &binning,
                                                Workplace &place, cudaEvent_t kept,
                                                cudaEvent_t read);

  const Download download_;
  const std::shared_ptr<QueryBufferPool> queries_;
  std::atomic<guint64> bytes_ = 0;
  InContext<IdleList<std::unique_ptr<Workplace>>> places_;
  InContext<IdleList<std::unique_ptr<CudaTensor>>> idle_;
};

}  // namespace integralhist
