// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cuda_on_demand.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <kernels/registry.hpp>

#include "buffer_holds.hpp"
#include "cuda_error.hpp"
#include "cuda_event.hpp"
#include "cuda_tensor.hpp"

namespace integralhist {
namespace {

using namespace inthist::cuda;

/// A stream, and what a strategy takes there besides the tensor.
struct Workplace {
  StreamOwner stream;
  GrowingDeviceMemory pixels, workspace;
};

/// Computes tensors of parts of frames, one after another for each thread. It outlives the engine
/// while tensors are out.
class PartTensors : public std::enable_shared_from_this<PartTensors> {
public:
  PartTensors (Context context, Download download)
      : context (std::move (context)), download_ (download),
        queries_ (std::make_shared<QueryBufferPool> (this->context)), places_ (this->context),
        idle_ (this->context)
  {
  }

  const Context context;

  /// Enqueues the tensor of this shape, of pixels that are there once `kept` has fired. `read`
  /// fires when they have been read. The context is current.
  Expected<std::shared_ptr<CudaTensor>> compute (const inthist::Shape &of,
                                                 const inthist::Binning &binning, cudaEvent_t kept,
                                                 cudaEvent_t read)
  {
    std::shared_ptr<CudaTensor> tensor = TRY (take (of));
    std::unique_ptr<Workplace> place = TRY (take_place ());
    const auto enqueued = enqueue (*tensor, binning, *place, kept, read);
    if (!enqueued)
      cudaStreamSynchronize (place->stream.get ());  // some of it may run
    const std::lock_guard lock (mutex_);
    places_->push_back (std::move (place));
    TRY (enqueued);
    return tensor;
  }

private:
  static constexpr std::size_t kMostIdle = 4;
  static constexpr int kUnit = 128;  // Tensors have room for boxes that are a little larger.

  CudaExpected<> enqueue (CudaTensor &tensor, const inthist::Binning &binning, Workplace &place,
                          cudaEvent_t kept, cudaEvent_t read)
  {
    const inthist::Shape &of = tensor.shape;
    cudaStream_t stream = place.stream.get ();
    const inthist::Strategy &strategy = *inthist::preferred_strategy (inthist::Device::cuda, of);
    const std::size_t stride = inthist::bin_stride (of.width);
    TRY (place.pixels.reserve (stride * of.height));
    TRY (place.workspace.reserve (strategy.workspace_bytes (of, {})));
    TRY (tensor.reuse (stream));
    TRY (check (cudaStreamWaitEvent (stream, kept, 0)));
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

  /// Returns a tensor that comes back when nobody has it any more.
  Expected<std::shared_ptr<CudaTensor>> take (const inthist::Shape &of)
  {
    inthist::Shape room = of;
    room.width = inthist::round_up (of.width, kUnit);
    room.height = inthist::round_up (of.height, kUnit);
    const std::size_t bytes = inthist::tensor_bytes (of, inthist::layout_of (of)),
                      most = 4 * inthist::tensor_bytes (room, inthist::layout_of (room));
    std::unique_ptr<CudaTensor> tensor;
    {
      const std::lock_guard lock (mutex_);
      const auto fits = std::ranges::find_if (*idle_, [&] (const auto &idle) {
        return idle->room () >= bytes && idle->room () <= most;
      });
      if (fits != idle_->end ()) {
        tensor = std::move (*fits);
        idle_->erase (fits);
      }
    }
    if (!tensor) {
      auto made = TRY (CudaTensor::create (room, 0, context, queries_, download_));
      tensor.reset (static_cast<CudaTensor *> (made.release ()));
    }
    tensor->set_shape (of);
    return std::shared_ptr<CudaTensor> (
        tensor.release (), [all = shared_from_this ()] (CudaTensor *back) {
          std::unique_ptr<CudaTensor> oldest;  // dropped without the lock
          const std::lock_guard lock (all->mutex_);
          all->idle_->push_back (std::unique_ptr<CudaTensor> (back));
          if (all->idle_->size () > kMostIdle) {
            oldest = std::move (all->idle_->front ());
            all->idle_->erase (all->idle_->begin ());
          }
        });
  }

  CudaExpected<std::unique_ptr<Workplace>> take_place ()
  {
    {
      const std::lock_guard lock (mutex_);
      if (!places_->empty ()) {
        auto place = std::move (places_->back ());
        places_->pop_back ();
        return place;
      }
    }
    auto place = std::make_unique<Workplace> ();
    place->stream = TRY (make_stream ());
    return place;
  }

  const Download download_;
  const std::shared_ptr<QueryBufferPool> queries_;
  std::mutex mutex_;  // guards all below
  InContext<std::vector<std::unique_ptr<Workplace>>> places_;
  InContext<std::vector<std::unique_ptr<CudaTensor>>> idle_;
};

/// Values on a GPU, which computes parts of them.
class CudaOnDemandTensor final : public OnDemandTensor {
public:
  static Expected<std::unique_ptr<EngineTensor>> create (std::shared_ptr<OnDemandFrames> frames,
                                                         std::shared_ptr<PartTensors> parts)
  {
    const Context context = parts->context;
    return on (*context, [&] () -> Expected<std::unique_ptr<EngineTensor>> {
      std::unique_ptr<CudaOnDemandTensor> tensor (
          new CudaOnDemandTensor (std::move (frames), std::move (parts)));
      tensor->own_->values = TRY (make_device_memory (tensor->value_bytes ()));
      for (EventOwner *event : { &tensor->own_->kept, &tensor->own_->read })
        *event = TRY (make_event (cudaEventDisableTiming | cudaEventBlockingSync));
      return tensor;
    });
  }
  ~CudaOnDemandTensor () override { frames_->value_bytes -= value_bytes (); }

  cudaEvent_t kept () const { return own_->kept.get (); }

  /// Enqueues the copy of the frame's values. The engine calls this before anybody else has the
  /// tensor.
  CudaExpected<> keep (const Frame &frame, cudaStream_t stream)
  {
    static const inthist::Lut kIdentity = inthist::uniform_lut (256);
    if (frame.producer) {
      TRY (check (cudaEventRecord (kept (), frame.producer)));
      TRY (check (cudaStreamWaitEvent (stream, kept (), 0)));
    }
    TRY (check (cudaStreamWaitEvent (stream, own_->read.get (), 0)));
    TRY (check (inthist::cuda::bin_image ({ frame.image, kIdentity }, shape.width, shape.height,
                                          { values (), stride () }, stream)));
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
  Expected<> add_reader (inthist::Stream stream) override
  {
    return TRY (whole ())->add_reader (stream);
  }
  CudaView cuda () override
  {
    const auto all = whole ();
    return all ? (*all)->cuda () : CudaView ();
  }

private:
  CudaOnDemandTensor (std::shared_ptr<OnDemandFrames> frames, std::shared_ptr<PartTensors> parts)
      : OnDemandTensor (std::move (frames), kGpuCost), parts_ (std::move (parts)),
        own_ (parts_->context)
  {
    frames_->value_bytes += value_bytes ();
  }

  /// What is dropped once nobody uses it.
  struct Resources {
    DeviceMemory values;
    EventOwner kept, read;  // the values are here; who computed has read them

    ~Resources ()
    {
      for (const EventOwner *event : { &kept, &read })
        if (*event)
          cudaEventSynchronize (event->get ());
    }
  };

  std::size_t stride () const { return inthist::bin_stride (frames_->shape.width); }
  std::size_t value_bytes () const { return stride () * frames_->shape.height; }
  std::uint8_t *values () const { return reinterpret_cast<std::uint8_t *> (own_->values.get ()); }

  Expected<std::shared_ptr<const Box>> box_for (const Query &query)
  {
    auto locked = TRY (lock ());
    return box_of (locked, demand_.tensor_for (query).value_or (demand_.frame ()));
  }
  Expected<std::shared_ptr<Tensor>> whole ()
  {
    auto locked = TRY (lock ());
    return TRY (box_of (locked, demand_.frame ()))->tensor;
  }

  Expected<std::shared_ptr<Tensor>> compute (const Region &region) override
  {
    return on (*parts_->context, [&] () -> Expected<std::shared_ptr<Tensor>> {
      const inthist::Binning binning = {
        { values () + region.y * stride () + region.x, std::ptrdiff_t (stride ()), {} },
        frames_->lut
      };
      const std::shared_ptr<Tensor> tensor =
          TRY (parts_->compute (shape_of (region), binning, kept (), own_->read.get ()));
      frames_->count (is_whole (region));
      return tensor;
    });
  }

  const std::shared_ptr<PartTensors> parts_;
  InContext<Resources> own_;
};

class CudaFrames final : public DeviceFrames {
public:
  CudaFrames (Context context, Download download)
      : parts_ (std::make_shared<PartTensors> (std::move (context), download)),
        stream_ (parts_->context)
  {
  }
  ~CudaFrames () override
  {
    const CudaContext::Scope scope (*parts_->context);
    if (*stream_)
      cudaStreamSynchronize (stream_->get ());  // all that is held has been read
    holds_.reset ();
  }

  bool takes (const Frame &frame) const override
  {
    return !frame.context || frame.context->handle () == parts_->context->handle ();
  }

  Expected<std::unique_ptr<EngineTensor>>
  make (const std::shared_ptr<OnDemandFrames> &frames) override
  {
    return CudaOnDemandTensor::create (frames, parts_);
  }

  Expected<SubmittedFrame> keep (const Frame &frame, std::shared_ptr<EngineTensor> into) override
  {
    const auto tensor = std::static_pointer_cast<CudaOnDemandTensor> (into);
    TRY (on (*parts_->context, [&] () -> Expected<> {
      if (!holds_) {
        *stream_ = TRY (make_stream ());
        holds_ = TRY (BufferHolds::create (parts_->context));
      }
      holds_->drop_read ();
      TRY (tensor->keep (frame, stream_->get ()));
      return {};
    }));
    return SubmittedFrame{ tensor, [this, tensor] (GstBuffer *buffer) {
                            return holds_->hold_until_read (buffer, tensor, tensor->kept ());
                          } };
  }

private:
  const std::shared_ptr<PartTensors> parts_;
  InContext<StreamOwner> stream_;
  std::unique_ptr<BufferHolds> holds_;
};

}  // namespace

std::unique_ptr<DeviceFrames> make_cuda_frames (std::shared_ptr<CudaContext> context,
                                                Download download)
{
  // nobody asks for all of each frame: nothing is downloaded before
  return std::make_unique<CudaFrames> (
      std::move (context), download == Download::never ? Download::never : Download::lazy);
}

}  // namespace integralhist
