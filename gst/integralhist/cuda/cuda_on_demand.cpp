// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames in a GPU's memory that are computed on demand (on_demand_tensor.hpp). The engine copies a
// frame's values on the GPU, a byte a pixel, and then releases the buffer. For a query the GPU
// computes a tensor of the box around the query's windows, and answers from that tensor.
#include <atomic>
#include <memory>
#include <utility>

#include <kernels/registry.hpp>

#include <gst/integralhist/memory/idle_list.hpp>
#include <gst/integralhist/on_demand/on_demand_engine.hpp>

#include "buffer_holds.hpp"
#include "cuda_error.hpp"
#include "cuda_event.hpp"
#include "cuda_tensor.hpp"

namespace integralhist {
namespace {

using namespace inthist::cuda;

/// Computes tensors of regions of frames, one at a time for each thread. It outlives the engine
/// while tensors are out.
class RegionTensors : public std::enable_shared_from_this<RegionTensors> {
public:
  RegionTensors (Context context, Download download)
      : context (std::move (context)), download_ (download),
        queries_ (std::make_shared<QueryBufferPool> (this->context)), places_ (this->context),
        idle_ (this->context, kMaxIdle)
  {
  }

  const Context context;

  /// Enqueues the tensor of this shape, from pixels that are ready once `kept` has fired. `read`
  /// fires when all work that was enqueued with it has read them. A box gets room for slightly
  /// larger boxes. The context is current.
  Expected<std::shared_ptr<CudaTensor>> compute (const inthist::Shape &of, bool is_box,
                                                 const inthist::Binning &binning, cudaEvent_t kept,
                                                 cudaEvent_t read)
  {
    std::shared_ptr<CudaTensor> tensor = TRY (take (of, is_box));
    std::unique_ptr<Workplace> place = TRY (take_place ());
    const auto enqueued = enqueue (*tensor, binning, *place, kept, read);
    if (!enqueued)
      cudaStreamSynchronize (place->stream.get ());  // some of the work may run
    places_->give_back (std::move (place));
    TRY (enqueued);
    return tensor;
  }
  /// Frees the memory of each tensor after its last release. No more frames come.
  void end () { free_all (idle_->close ()); }
  /// Returns the memory of tensors that are out, or kept for reuse.
  guint64 bytes () const { return bytes_; }

private:
  static constexpr std::size_t kMaxIdle = 4;

  /// A stream, and the memory that a strategy needs on it besides the tensor.
  struct Workplace {
    StreamOwner stream;
    GrowingDeviceMemory pixels, workspace;
  };

  /// Returns a tensor that comes back after its last release.
  Expected<std::shared_ptr<CudaTensor>> take (const inthist::Shape &of, bool is_box)
  {
    constexpr int kUnit = 128;
    inthist::Shape room = of;
    if (is_box) {
      room.width = inthist::round_up (of.width, kUnit);
      room.height = inthist::round_up (of.height, kUnit);
    }
    const std::size_t bytes = inthist::tensor_bytes (of, inthist::layout_of (of)),
                      most = 4 * inthist::tensor_bytes (room, inthist::layout_of (room));
    auto tensor = idle_->take (
        [&] (const auto &idle) { return idle->room () >= bytes && idle->room () <= most; });
    if (!tensor)
      tensor = TRY (make (room));
    tensor->set_shape (of);
    return std::shared_ptr<CudaTensor> (tensor.release (),
                                        [all = shared_from_this ()] (CudaTensor *back) {
                                          all->give_back (std::unique_ptr<CudaTensor> (back));
                                        });
  }
  /// Makes a tensor; if memory is short, frees the idle ones and tries again.
  Expected<std::unique_ptr<CudaTensor>> make (const inthist::Shape &room)
  {
    for (;;) {
      auto made = CudaTensor::create (room, 0, context, queries_, download_);
      if (!made && made.error ().kind == Error::Kind::no_memory && free_all (idle_->take_all ()))
        continue;
      std::unique_ptr<CudaTensor> tensor (
          static_cast<CudaTensor *> (TRY (std::move (made)).release ()));
      bytes_ += tensor->room ();
      return tensor;
    }
  }
  /// Frees idle tensors. Returns whether there were any.
  bool free_all (std::vector<std::unique_ptr<CudaTensor>> idle)
  {
    for (const auto &tensor : idle)
      bytes_ -= tensor->room ();
    return !idle.empty ();
  }
  void give_back (std::unique_ptr<CudaTensor> tensor)
  {
    if (const auto oldest = idle_->give_back (std::move (tensor)))
      bytes_ -= oldest->room ();
  }
  CudaExpected<std::unique_ptr<Workplace>> take_place ()
  {
    auto place = places_->take ();
    if (place)
      return place;
    place = std::make_unique<Workplace> ();
    place->stream = TRY (make_stream ());
    return place;
  }
  static CudaExpected<> enqueue (CudaTensor &tensor, const inthist::Binning &binning,
                                 Workplace &place, cudaEvent_t kept, cudaEvent_t read)
  {
    const inthist::Shape &of = tensor.shape;
    cudaStream_t stream = place.stream.get ();
    const inthist::Strategy &strategy = *inthist::preferred_strategy (inthist::Device::cuda, of);
    const std::size_t stride = inthist::bin_stride (of.width);
    TRY (place.pixels.reserve (stride * of.height));
    TRY (place.workspace.reserve (strategy.workspace_bytes (of, {})));
    TRY (tensor.reuse (stream));
    for (const cudaEvent_t event : { kept, read })  // the event `read` then stands for both streams
      TRY (check (cudaStreamWaitEvent (stream, event, 0)));
    const bool bins = of.content == inthist::Content::bins;
    TRY (check (inthist::run (
        strategy, { .shape = of,
                    .layout = tensor.layout,
                    .pixels = bins ? inthist::PixelPlane{ reinterpret_cast<std::uint8_t *> (
                                                              place.pixels.get ()),
                                                          stride }
                                   : inthist::plane_of (binning.image),
                    .tensor = tensor.data (),
                    .workspace = place.workspace.get (),
                    .stream = stream,
                    .binning = bins ? &binning : nullptr })));
    TRY (tensor.set_computed (stream));
    return check (cudaEventRecord (read, stream));
  }

  const Download download_;
  const std::shared_ptr<QueryBufferPool> queries_;
  std::atomic<guint64> bytes_ = 0;
  InContext<IdleList<std::unique_ptr<Workplace>>> places_;
  InContext<IdleList<std::unique_ptr<CudaTensor>>> idle_;
};

/// Values on a GPU, from which the GPU computes tensors of regions.
class CudaOnDemandTensor final : public OnDemandTensor {
public:
  static Expected<std::unique_ptr<EngineTensor>> create (std::shared_ptr<OnDemandContext> shared,
                                                         std::shared_ptr<RegionTensors> tensors)
  {
    const Context context = tensors->context;
    return on (*context, [&] () -> Expected<std::unique_ptr<EngineTensor>> {
      std::unique_ptr<CudaOnDemandTensor> tensor (
          new CudaOnDemandTensor (std::move (shared), std::move (tensors)));
      tensor->own_->values = TRY (make_device_memory (tensor->value_bytes ()));
      for (EventOwner *event : { &tensor->own_->kept, &tensor->own_->read })
        *event = TRY (make_event (cudaEventDisableTiming | cudaEventBlockingSync));
      return tensor;
    });
  }
  ~CudaOnDemandTensor () override { context_->value_bytes -= value_bytes (); }

  cudaEvent_t kept () const { return own_->kept.get (); }

  /// Enqueues the copy of the frame's values. The engine calls this before any other code has the
  /// tensor.
  CudaExpected<> keep (const Frame &frame, cudaStream_t stream)
  {
    TRY (wait_for_producer (stream, frame.producer, kept ()));
    TRY (check (cudaStreamWaitEvent (stream, own_->read.get (), 0)));
    TRY (check (inthist::cuda::bin_image ({ frame.image, context_->kept_by (frame) }, shape.width,
                                          shape.height, { values (), stride () }, stream)));
    return check (cudaEventRecord (kept (), stream));
  }

  Expected<> ask (std::span<const Query> queries) override
  {
    for (const Query &query : queries)
      TRY (ask_box (
          *TRY (box_for (query)), query,
          [] (Tensor &tensor, std::span<const Query> there) { return tensor.ask (there); }));
    return {};
  }
  Expected<> ask_on (inthist::Stream stream, std::span<const Query> queries) override
  {
    for (const Query &query : queries)
      TRY (ask_box (*TRY (box_for (query)), query,
                    [stream] (Tensor &tensor, std::span<const Query> there) {
                      return tensor.ask_on (stream, there);
                    }));
    return {};
  }
  Expected<const void *> host () override { return TRY (whole ())->host (); }
  Expected<DeviceTensor *> device_tensor () override { return TRY (whole ())->device_tensor (); }

private:
  CudaOnDemandTensor (std::shared_ptr<OnDemandContext> shared,
                      std::shared_ptr<RegionTensors> tensors)
      : OnDemandTensor (std::move (shared), kGpuCost), tensors_ (std::move (tensors)),
        own_ (tensors_->context)
  {
    context_->value_bytes += value_bytes ();
  }

  /// Resources that are dropped with the last user.
  struct Resources {
    DeviceMemory values;
    EventOwner kept, read;  // the values are here; the computing stream has read them

    ~Resources ()
    {
      for (const EventOwner *event : { &kept, &read })
        if (*event)
          cudaEventSynchronize (event->get ());
    }
  };

  std::size_t stride () const { return inthist::bin_stride (context_->shape.width); }
  std::size_t value_bytes () const { return stride () * context_->shape.height; }
  std::uint8_t *values () const { return reinterpret_cast<std::uint8_t *> (own_->values.get ()); }

  Expected<std::shared_ptr<const Box>> box_for (const Query &query)
  {
    auto locked = TRY (lock ());
    return box_of (locked, demand_.choose_tensor (query).value_or (demand_.frame ()));
  }
  Expected<std::shared_ptr<Tensor>> whole ()
  {
    auto locked = TRY (lock ());
    return TRY (box_of (locked, demand_.frame ()))->tensor;
  }

  Expected<std::shared_ptr<Tensor>> compute (const Region &region) override
  {
    return on (*tensors_->context, [&] () -> Expected<std::shared_ptr<Tensor>> {
      const inthist::Binning binning = {
        { values () + region.y * stride () + region.x, std::ptrdiff_t (stride ()), {} },
        context_->lut
      };
      const std::shared_ptr<Tensor> tensor = TRY (tensors_->compute (
          shape_of (region), !is_whole (region), binning, kept (), own_->read.get ()));
      context_->count (is_whole (region));
      return tensor;
    });
  }

  const std::shared_ptr<RegionTensors> tensors_;
  InContext<Resources> own_;
};

class CudaStore final : public DeviceStore {
public:
  CudaStore (Context context, Download download)
      : tensors_ (std::make_shared<RegionTensors> (std::move (context), download)),
        stream_ (tensors_->context)
  {
  }
  ~CudaStore () override
  {
    const CudaContext::Scope scope (*tensors_->context);
    if (*stream_)
      cudaStreamSynchronize (stream_->get ());  // all held buffers have been read
    holds_.reset ();
    tensors_->end ();
  }

  bool takes (const Frame &frame) const override
  {
    return !frame.context || frame.context->handle () == tensors_->context->handle ();
  }

  Expected<std::unique_ptr<EngineTensor>>
  make (const std::shared_ptr<OnDemandContext> &shared) override
  {
    return CudaOnDemandTensor::create (shared, tensors_);
  }

  Expected<MemoryReturns *> returns () override
  {
    return on (*tensors_->context, [&] () -> Expected<MemoryReturns *> {
      if (!holds_) {
        *stream_ = TRY (make_stream ());
        holds_ = TRY (BufferHolds::create (tensors_->context));
      }
      holds_->drop_read ();
      return holds_.get ();
    });
  }

  Expected<SubmittedFrame> keep (const Frame &frame, std::shared_ptr<EngineTensor> into) override
  {
    const auto tensor = std::static_pointer_cast<CudaOnDemandTensor> (into);
    TRY (on (*tensors_->context, [&] { return tensor->keep (frame, stream_->get ()); }));
    return SubmittedFrame{ tensor, [this, tensor] (GstBuffer *buffer, bool wait) {
                            return holds_->hold_until_read (buffer, wait, tensor, tensor->kept ());
                          } };
  }

  int device () const override { return tensors_->context->device (); }
  guint64 bytes () const override { return tensors_->bytes (); }

private:
  const std::shared_ptr<RegionTensors> tensors_;
  InContext<StreamOwner> stream_;
  std::unique_ptr<BufferHolds> holds_;
};

}  // namespace

std::unique_ptr<DeviceStore> make_cuda_store (std::shared_ptr<CudaContext> context,
                                              Download download)
{
  // nothing is downloaded early, because no consumer asks for all of each frame
  return std::make_unique<CudaStore> (
      std::move (context), download == Download::never ? Download::never : Download::lazy);
}

}  // namespace integralhist
