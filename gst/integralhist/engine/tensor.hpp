// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame's tensor as its consumers see it. An eager tensor is computed in the background, and each
// function waits for its fence. A tensor on demand is computed by the calling thread, and has no
// fence.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <utility>

#include <kernels/cells.hpp>
#include <kernels/query.hpp>

#include <gst/integralhist/base/cancel.hpp>

namespace integralhist {

using inthist::Query;

struct Shard;
class DeviceFeatureImage;

/// A tensor in GPU memory, described for CUDA callers. All null for a tensor in host memory.
struct CudaView {
  guint64 pointer = 0;
  void *event = nullptr, *context = nullptr;
  int device = -1;
  bool is_primary = false;  // whether the context is the device's primary one
};

/// A whole tensor in a GPU's memory.
class DeviceTensor {
public:
  virtual CudaView cuda () = 0;
  /// Enqueues queries on `stream`, like Tensor::ask_on ().
  virtual Expected<> ask_on (inthist::Stream stream, std::span<const Query> queries) = 0;
  /// Keeps the tensor unchanged until the work enqueued on `stream`, of its context, is done.
  virtual Expected<> add_reader (inthist::Stream stream) = 0;
  /// Keeps the tensor unchanged until the work that all streams of its context have now is done.
  virtual void add_all_readers () = 0;
  /// Lets `stream`, of any context, wait until the tensor is computed.
  virtual Expected<> wait_on (inthist::Stream stream) = 0;

protected:
  ~DeviceTensor () = default;
};

/// A query for the sums of the cells of several grids: sums[cell][plane] in 1/kCellParts^2 pixel.
/// With scores for the bins of an integral histogram, it asks for one number per cell
/// (kernels/cells.hpp).
struct CellsQuery {
  std::span<const inthist::Cells> grids;
  inthist::Scores scores;
  std::int64_t *sums;  // of one grid after another
};

class Tensor;
/// Answers queries for cells by asking the tensor for rectangles of whole pixels.
Expected<> ask_cells_by_rectangles (Tensor &tensor, std::span<const CellsQuery> queries);

/// One frame's tensor. Any thread may query it; queries wait for the fence.
class Tensor {
public:
  inthist::Shape shape;
  inthist::Layout layout;

  explicit Tensor (const inthist::Shape &of)
      : shape (of), layout (inthist::layout_of (of)), flags (std::make_shared<Flags> ())
  {
  }
  virtual ~Tensor () = default;
  Tensor (const Tensor &) = delete;
  Tensor &operator= (const Tensor &) = delete;

  /// Waits at most `timeout` nanoseconds; then returns an Error::Kind::timeout.
  virtual Expected<> wait (GstClockTime timeout) = 0;
  /// Runs queries. Their answers and carried values lie in host memory. If `answers` is null, only
  /// the best window is written.
  virtual Expected<> ask (std::span<const Query> queries) = 0;
  /// Announces that queries about these regions of the frame follow, so that the work that they
  /// share is done once. If a GPU will answer them, returns the frame's feature image on that GPU,
  /// which lives as long as the tensor; many queries should then come in one call. Otherwise
  /// returns null.
  virtual Expected<DeviceFeatureImage *> prepare (std::span<const inthist::Region> /*regions*/)
  {
    return nullptr;
  }
  /// Runs queries for sums of cells. The sums lie in host memory.
  virtual Expected<> ask_cells (std::span<const CellsQuery> queries)
  {
    return ask_cells_by_rectangles (*this, queries);
  }
  /// Enqueues queries on `stream`, which belongs to the tensor's context. Answers and carried
  /// values lie in device memory. The inputs lie in host memory and are read before this returns.
  virtual Expected<> ask_on (inthist::Stream stream, std::span<const Query> queries)
  {
    if (DeviceTensor *const device = TRY (device_tensor ()))
      return device->ask_on (stream, queries);
    return error (
        Error::Kind::failed,
        "the tensor is in host memory, where no stream orders anything: ask without a stream");
  }
  virtual Expected<const void *> host () = 0;
  /// Returns the whole tensor in a GPU's memory, and computes it if necessary. It lives as long as
  /// this object. Returns null for a tensor in host memory.
  virtual Expected<DeviceTensor *> device_tensor () { return nullptr; }
  /// Waits for the shards and returns them in the order of bins; empty if the tensor is whole.
  virtual Expected<std::span<const Shard>> shards () { return std::span<const Shard> (); }
  std::size_t bytes () const { return inthist::tensor_bytes (shape, layout); }

  struct Flags {
    /// About the buffer that the tensor is computed from: whether a BufferHold holds it, and
    /// whether it was then copied into a buffer that shares its memory.
    std::atomic<bool> buffer_held = false, buffer_copied = false;
    /// Whether Options::failed was called for the failure of this tensor.
    std::atomic<bool> failure_reported = false;
  };
  /// Flags that this tensor shares with all tensors that forward to it.
  const std::shared_ptr<Flags> flags;

protected:
  /// Makes a tensor that forwards to the tensor `to`.
  Tensor (const Tensor &to, std::shared_ptr<Flags> its)
      : shape (to.shape), layout (to.layout), flags (std::move (its))
  {
  }
};

/// Returns the tensor's CudaView; all null if it is in host memory or has failed.
inline CudaView cuda_view_of (Tensor &tensor)
{
  const auto device = tensor.device_tensor ();
  return device && *device ? (*device)->cuda () : CudaView{};
}

/// Waits until the tensor is computed or this thread is cancelled.
inline Expected<> await (Tensor &tensor)
{
  for (;;) {
    const auto done = tensor.wait (20 * GST_MSECOND);
    if (done || done.error ().kind != Error::Kind::timeout)
      return done;
    TRY (CancelScope::check ());
  }
}

}  // namespace integralhist
