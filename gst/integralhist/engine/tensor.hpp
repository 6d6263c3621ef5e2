// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The interface of a frame's tensor, an integral histogram in memory, for its consumers. An eager
// tensor is computed in the background, and its functions wait until it is ready. A tensor on
// demand is computed by the thread that asks.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <utility>

#include <kernels/cells.hpp>
#include <kernels/query.hpp>

#include <gst/integralhist/base/cancel.hpp>

struct CUevent_st;

namespace integralhist {

using inthist::Cells, inthist::Query, inthist::QueryKind, inthist::Windows;
using CudaEvent = CUevent_st *;  // a cudaEvent_t

struct Shard;
class DeviceFeatureImage;

/// The address of a tensor in GPU memory, the CUDA event that fires when the tensor is computed,
/// and the context. All are null for a tensor in host memory.
struct CudaView {
  guint64 pointer = 0;
  CudaEvent event = nullptr;
  void *context = nullptr;
  int device = -1;
  bool is_primary = false;  // whether the context is the device's primary one
};

class DeviceTensor {
public:
  virtual CudaView cuda () = 0;
  virtual Expected<> ask_on (Stream stream, std::span<const Query> queries) = 0;
  /// Keeps the tensor's memory from reuse until the work now on `stream`, which reads it, is done.
  virtual Expected<> add_reader (Stream stream) = 0;
  /// Keeps the tensor's memory from reuse until the work now on all streams of its context is done.
  virtual void add_all_readers () = 0;
  /// Makes the CUDA stream `stream`, of any context, wait until the tensor is computed.
  virtual Expected<> wait_on (Stream stream) = 0;

protected:
  ~DeviceTensor () = default;
};

/// A query for the sums of the cells (kernels/cells.hpp) of one grid after another, stored as
/// [cell][plane] in units of 1/kCellParts^2 pixel. With `scores` for the bins of an integral
/// histogram, a cell has one sum, of the scores of its pixels.
struct CellsQuery {
  std::span<const Cells> grids;
  inthist::Scores scores;
  std::int64_t *sums;

  /// Returns how many sums a cell has, for a tensor of this shape.
  std::size_t planes (const Shape &shape) const
  {
    return scores.empty () ? std::size_t (shape.bins) : 1;
  }
};

class Tensor;
Expected<> ask_cells_by_rectangles (Tensor &tensor, std::span<const CellsQuery> queries);

/// Any thread may query a tensor; a query waits until the tensor is computed.
class Tensor {
public:
  Shape shape;
  inthist::Layout layout;

  explicit Tensor (const Shape &shape)
      : shape (shape), layout (inthist::layout_of (shape)), flags (std::make_shared<Flags> ())
  {
  }
  virtual ~Tensor () = default;
  Tensor (const Tensor &) = delete;
  Tensor &operator= (const Tensor &) = delete;

  /// Waits until the tensor is computed; after `timeout` ns, returns an Error::Kind::timeout.
  virtual Expected<> wait (GstClockTime timeout) = 0;
  /// Runs queries (kernels/query.hpp) whose answers and carried values lie in host memory. If a
  /// query has no memory for answers, only its best window is written.
  virtual Expected<> ask (std::span<const Query> queries) = 0;
  /// Announces queries about these regions of the frame, so that work that the queries share is
  /// done once. If a GPU will answer, returns the frame's feature image on that GPU, which lives as
  /// long as the tensor, and many queries should come in one call. If not, returns null.
  virtual Expected<DeviceFeatureImage *> prepare (std::span<const Region> /*regions*/)
  {
    return nullptr;
  }
  virtual Expected<> ask_cells (std::span<const CellsQuery> queries)
  {
    return ask_cells_by_rectangles (*this, queries);
  }
  /// Enqueues queries on a CUDA stream of the tensor's context. Answers and carried values lie in
  /// device memory. Inputs lie in host memory and are read before the call returns.
  virtual Expected<> ask_on (Stream stream, std::span<const Query> queries)
  {
    if (DeviceTensor *const device = TRY (device_tensor ()))
      return device->ask_on (stream, queries);
    return error (
        Error::Kind::failed,
        "the tensor is in host memory, where no stream orders anything: ask without a stream");
  }
  virtual Expected<const void *> host () = 0;
  /// Returns the whole tensor in a GPU's memory, and computes it if necessary. Returns null for a
  /// tensor in host memory. The result lives as long as this object.
  virtual Expected<DeviceTensor *> device_tensor () { return nullptr; }
  /// Waits for the shards, which are tensors of consecutive bins on several devices, and returns
  /// them in the order of bins. Returns an empty span if the tensor is in one piece.
  virtual Expected<std::span<const Shard>> shards () { return std::span<const Shard> (); }
  std::size_t bytes () const { return inthist::tensor_bytes (shape, layout); }

  struct Flags {
    /// Whether a BufferHold holds the buffer that the tensor is computed from, and whether an
    /// element copied the held buffer into one that shares its memory.
    std::atomic<bool> buffer_held = false, buffer_copied = false;
    /// Whether Options::on_failure was called for the failure of this tensor.
    std::atomic<bool> failure_reported = false;
  };
  /// This tensor's flags, which all tensors share that forward their calls to this tensor.
  const std::shared_ptr<Flags> flags;

protected:
  Tensor (const Tensor &to, std::shared_ptr<Flags> flags)
      : shape (to.shape), layout (to.layout), flags (std::move (flags))
  {
  }
};

inline CudaView cuda_view_of (Tensor &tensor)
{
  const auto device = tensor.device_tensor ();
  return device && *device ? (*device)->cuda () : CudaView{};
}

/// Waits until a tensor is computed. Returns an error if that fails or this thread is cancelled.
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
