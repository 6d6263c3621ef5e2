// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cuda_on_demand.hpp"

#include <utility>

#include "buffer_holds.hpp"
#include "cuda_error.hpp"
#include "cuda_event.hpp"
#include "part_tensors.hpp"

namespace integralhist {
namespace {

using namespace inthist::cuda;

/// Values on a GPU, which computes parts of them.
class CudaOnDemandTensor final : public OnDemandTensor {
public:
  static Expected<std::unique_ptr<EngineTensor>> create (std::shared_ptr<OnDemandContext> frames,
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
    if (frame.producer) {
      TRY (check (cudaEventRecord (kept (), frame.producer)));
      TRY (check (cudaStreamWaitEvent (stream, kept (), 0)));
    }
    TRY (check (cudaStreamWaitEvent (stream, own_->read.get (), 0)));
    TRY (check (inthist::cuda::bin_image ({ frame.image, frames_->kept_by (frame) }, shape.width,
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
  Expected<DeviceTensor *> on_device () override { return TRY (whole ())->on_device (); }

private:
  CudaOnDemandTensor (std::shared_ptr<OnDemandContext> frames, std::shared_ptr<PartTensors> parts)
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
      const std::shared_ptr<Tensor> tensor = TRY (parts_->compute (
          shape_of (region), !is_whole (region), binning, kept (), own_->read.get ()));
      frames_->count (is_whole (region));
      return tensor;
    });
  }

  const std::shared_ptr<PartTensors> parts_;
  InContext<Resources> own_;
};

class CudaStore final : public DeviceStore {
public:
  CudaStore (Context context, Download download)
      : parts_ (std::make_shared<PartTensors> (std::move (context), download)),
        stream_ (parts_->context)
  {
  }
  ~CudaStore () override
  {
    const CudaContext::Scope scope (*parts_->context);
    if (*stream_)
      cudaStreamSynchronize (stream_->get ());  // all that is held has been read
    holds_.reset ();
    parts_->end ();
  }

  bool takes (const Frame &frame) const override
  {
    return !frame.context || frame.context->handle () == parts_->context->handle ();
  }

  Expected<std::unique_ptr<EngineTensor>>
  make (const std::shared_ptr<OnDemandContext> &frames) override
  {
    return CudaOnDemandTensor::create (frames, parts_);
  }

  Expected<MemoryReturns *> returns () override
  {
    return on (*parts_->context, [&] () -> Expected<MemoryReturns *> {
      if (!holds_) {
        *stream_ = TRY (make_stream ());
        holds_ = TRY (BufferHolds::create (parts_->context));
      }
      holds_->drop_read ();
      return holds_.get ();
    });
  }

  Expected<SubmittedFrame> keep (const Frame &frame, std::shared_ptr<EngineTensor> into) override
  {
    const auto tensor = std::static_pointer_cast<CudaOnDemandTensor> (into);
    TRY (on (*parts_->context, [&] () -> Expected<> {
      TRY (tensor->keep (frame, stream_->get ()));
      return {};
    }));
    return SubmittedFrame{ tensor, [this, tensor] (GstBuffer *buffer) {
                            return holds_->hold_until_read (buffer, tensor, tensor->kept ());
                          } };
  }

  int device () const override { return parts_->context->device (); }
  guint64 bytes () const override { return parts_->bytes (); }

private:
  const std::shared_ptr<PartTensors> parts_;
  InContext<StreamOwner> stream_;
  std::unique_ptr<BufferHolds> holds_;
};

}  // namespace

std::unique_ptr<DeviceStore> make_cuda_store (std::shared_ptr<CudaContext> context,
                                              Download download)
{
  // nobody asks for all of each frame: nothing is downloaded before
  return std::make_unique<CudaStore> (
      std::move (context), download == Download::never ? Download::never : Download::lazy);
}

}  // namespace integralhist
