// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames in a GPU's memory that are computed on demand (on_demand_tensor.hpp). The engine copies a
// frame's values to a feature image on the GPU, and then releases the buffer. The feature image
// answers many queries at once. For another query the GPU computes a tensor of the region around
// the query's windows, and answers from that tensor.
#include <atomic>
#include <memory>
#include <utility>

#include <kernels/registry.hpp>

#include <gst/integralhist/cuda/base/cuda_error.hpp>
#include <gst/integralhist/cuda/base/cuda_event.hpp>
#include <gst/integralhist/cuda/memory/buffer_holds.hpp>
#include <gst/integralhist/memory/idle_list.hpp>
#include <gst/integralhist/on_demand/on_demand_engine.hpp>

#include "cuda_feature_image.hpp"
#include "cuda_tensor.hpp"

namespace integralhist {
namespace {

using namespace inthist::cuda;

/// Computes tensors of rectangular regions of frames, one at a time for each thread. While
/// consumers hold such tensors, this object outlives the engine.
class RegionTensors : public std::enable_shared_from_this<RegionTensors> {
public:
  RegionTensors (ContextRef context, Download download)
      : context (std::move (context)), download_ (download),
        query_buffers_ (std::make_shared<QueryBufferPool> (this->context)), places_ (this->context),
        idle_ (this->context, kMaxIdle)
  {
  }

  const ContextRef context;

  /// Enqueues the computation of a region's tensor from the frame's feature image. If the region is
  /// not the whole frame, the tensor has memory for slightly larger ones, to be reused. The CUDA
  /// context is current.
  Expected<std::shared_ptr<CudaTensor>> compute (const Shape &shape, const Region &region,
                                                 bool is_whole, CudaFeatureImage &image)
  {
    std::shared_ptr<CudaTensor> tensor = TRY (take (shape, is_whole));
    std::unique_ptr<Workplace> place = TRY (take_place ());
    const auto enqueued = enqueue (*tensor, region, *place, image);
    if (!enqueued)
      cudaStreamSynchronize (place->stream.get ());  // waits, because enqueued work may already run
    places_->give_back (std::move (place));
    TRY (enqueued);
    return tensor;
  }
  Expected<std::unique_ptr<CudaFeatureImage>> make_image (OnDemandShared &frames) const
  {
    return CudaFeatureImage::create (context, query_buffers_, frames.shape, frames.lut,
                                     frames.device_answers);
  }
  /// Frees the idle tensors now, and tensors in use when their last owner drops them.
  void end () { free_all (idle_->close ()); }
  guint64 bytes () const { return bytes_; }

private:
  static constexpr std::size_t kMaxIdle = 4;

  /// A CUDA stream, and the memory that a strategy needs on this stream besides the tensor.
  struct Workplace {
    StreamOwner stream;
    GrowingDeviceMemory pixels, workspace;
  };

  /// Returns a tensor that goes back to the idle tensors when its last owner drops it.
  Expected<std::shared_ptr<CudaTensor>> take (const Shape &shape, bool is_whole)
  {
    constexpr int kUnit = 128;
    Shape room = shape;
    if (!is_whole) {
      room.width = inthist::round_up (shape.width, kUnit);
      room.height = inthist::round_up (shape.height, kUnit);
    }
    const std::size_t bytes = inthist::tensor_bytes (shape),
                      most = 4 * inthist::tensor_bytes (room);
    auto tensor = idle_->take (
        [&] (const auto &idle) { return idle->room () >= bytes && idle->room () <= most; });
    if (!tensor)
      tensor = TRY (make (room));
    tensor->set_shape (shape);
    return std::shared_ptr<CudaTensor> (tensor.release (),
                                        [all = shared_from_this ()] (CudaTensor *back) {
                                          all->give_back (std::unique_ptr<CudaTensor> (back));
                                        });
  }
  /// Makes a tensor. If memory is short, frees the idle tensors and tries again.
  Expected<std::unique_ptr<CudaTensor>> make (const Shape &room)
  {
    for (;;) {
      auto made = CudaTensor::create (room, 0, context, query_buffers_, download_);
      if (!made && made.error ().kind == Error::Kind::no_memory && free_all (idle_->take_all ()))
        continue;
      std::unique_ptr<CudaTensor> tensor = TRY (std::move (made));
      bytes_ += tensor->room ();
      return tensor;
    }
  }
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
  static Expected<> enqueue (CudaTensor &tensor, const Region &region, Workplace &place,
                             CudaFeatureImage &image)
  {
    const Shape &shape = tensor.shape;
    cudaStream_t stream = place.stream.get ();
    const Strategy &strategy = *inthist::preferred_strategy (Device::cuda, shape);
    const std::size_t pixel = inthist::bytes_of (shape.pixel),
                      stride = inthist::binned_stride (shape);
    PixelPlane values = image.values ();
    values.data += std::size_t (region.y) * values.stride + std::size_t (region.x) * pixel;
    TRY (place.workspace.reserve (strategy.workspace_bytes (shape, {})));
    TRY (tensor.reuse (stream));
    TRY (check (cudaStreamWaitEvent (stream, image.values_ready (), 0)));
    const Binning binning = { { values.data, std::ptrdiff_t (values.stride), {} }, image.lut () };
    // The weights of a region narrower than the frame are copied, because a strategy on a GPU reads
    // them only from a plane with the stride of the region (PixelPlane).
    const bool bins = shape.content == Content::bins,
               moves =
                   shape.content == Content::weights && (region.x > 0 || values.stride != stride);
    PixelPlane pixels = values;
    if (bins || moves) {
      TRY (place.pixels.reserve (stride * shape.height));
      pixels = { reinterpret_cast<std::uint8_t *> (place.pixels.get ()), stride };
    }
    if (moves)
      TRY (check (cudaMemcpy2DAsync (pixels.data, stride, values.data, values.stride,
                                     std::size_t (shape.width) * pixel, std::size_t (shape.height),
                                     cudaMemcpyDeviceToDevice, stream)));
    TRY (check (inthist::run (strategy, { .shape = shape,
                                          .layout = tensor.layout,
                                          .pixels = pixels,
                                          .tensor = tensor.data (),
                                          .workspace = place.workspace.get (),
                                          .stream = stream,
                                          .binning = bins ? &binning : nullptr })));
    TRY (tensor.set_computed (stream));
    return image.add_reader (tensor.computed ());
  }

  const Download download_;
  const std::shared_ptr<QueryBufferPool> query_buffers_;
  std::atomic<guint64> bytes_ = 0;
  InContext<IdleList<std::unique_ptr<Workplace>>> places_;
  InContext<IdleList<std::unique_ptr<CudaTensor>>> idle_;
};

/// The tensor on demand of a frame in GPU memory. It keeps the frame's feature image, from which
/// the GPU answers many queries at once, and computes tensors of regions.
class CudaOnDemandTensor final : public OnDemandTensor {
public:
  static Expected<std::unique_ptr<EngineTensor>> create (std::shared_ptr<OnDemandShared> shared,
                                                         std::shared_ptr<RegionTensors> tensors)
  {
    auto image = TRY (tensors->make_image (*shared));
    return std::unique_ptr<EngineTensor> (
        new CudaOnDemandTensor (std::move (shared), std::move (tensors), std::move (image)));
  }
  ~CudaOnDemandTensor () override { shared_->value_bytes -= image_->bytes (); }

  /// Returns the CUDA event that fires when the frame's pixels have been read.
  cudaEvent_t kept () const { return image_->values_ready (); }

  /// Enqueues the computation of the frame's feature values. Called before others have the tensor.
  Expected<> keep (const Frame &frame)
  {
    const bool weighted = frame.image.format.is_weighted ();
    return image_->compute_values (
        { frame.image, weighted ? shared_->lut : shared_->copy_lut_of (frame) }, frame.written_on);
  }
  void on_released () override
  {
    is_prepared_ = false;
    OnDemandTensor::on_released ();
  }

  Expected<DeviceFeatureImage *> prepare (std::span<const Region>) override
  {
    is_prepared_ = shared_->assist.has_value ();
    return is_prepared_ ? image_.get () : nullptr;
  }
  Expected<> ask (std::span<const Query> queries) override
  {
    for (const Query &query : queries)
      if (!is_prepared_ || !TRY (count_windows (*image_, shape, query)))
        TRY (ask_region_tensor (*TRY (cheapest_tensor (query)), query));
    return {};
  }
  Expected<> ask_cells (std::span<const CellsQuery> queries) override
  {
    return is_prepared_ && image_->takes (queries) ? image_->add_up_cells (queries)
                                                   : OnDemandTensor::ask_cells (queries);
  }
  Expected<> ask_on (Stream stream, std::span<const Query> queries) override
  {
    for (const Query &query : queries)
      TRY (ask_region_tensor (*TRY (cheapest_tensor (query)), query, stream));
    return {};
  }
  Expected<const void *> host () override { return TRY (whole ())->host (); }
  Expected<DeviceTensor *> device_tensor () override { return TRY (whole ())->device_tensor (); }

private:
  CudaOnDemandTensor (std::shared_ptr<OnDemandShared> shared,
                      std::shared_ptr<RegionTensors> tensors,
                      std::unique_ptr<CudaFeatureImage> image)
      : OnDemandTensor (std::move (shared), kGpuCost), tensors_ (std::move (tensors)),
        image_ (std::move (image))
  {
    shared_->value_bytes += image_->bytes ();
  }

  /// Returns the tensor from which a query is answered cheapest, and computes it if necessary.
  Expected<std::shared_ptr<const RegionTensor>> cheapest_tensor (const Query &query)
  {
    const auto lock = TRY (mutex_.lock ());
    return region_tensor_of (optimizer_.choose_tensor (query).value_or (optimizer_.frame ()));
  }
  Expected<std::shared_ptr<Tensor>> whole ()
  {
    const auto lock = TRY (mutex_.lock ());
    return TRY (region_tensor_of (optimizer_.frame ()))->tensor;
  }

  Expected<std::shared_ptr<Tensor>> compute (const Region &region) override
  {
    return with_context (*tensors_->context, [&] () -> Expected<std::shared_ptr<Tensor>> {
      const std::shared_ptr<Tensor> tensor =
          TRY (tensors_->compute (shape_of (region), region, is_whole (region), *image_));
      shared_->count_tensor (is_whole (region));
      return tensor;
    });
  }

  const std::shared_ptr<RegionTensors> tensors_;
  const std::unique_ptr<CudaFeatureImage> image_;
  std::atomic<bool> is_prepared_ = false;  // whether many queries were announced
};

class CudaStore final : public DeviceStore {
public:
  CudaStore (ContextRef context, Download download)
      : tensors_ (std::make_shared<RegionTensors> (std::move (context), download))
  {
  }
  ~CudaStore () override
  {
    const CudaContext::Scope scope (*tensors_->context);
    while (holds_ && holds_->drop_oldest ().value_or (false)) {
    }
    holds_.reset ();
    tensors_->end ();
  }

  bool takes (const Frame &frame) const override
  {
    return !frame.context || frame.context->handle () == tensors_->context->handle ();
  }

  Expected<std::unique_ptr<EngineTensor>>
  make (const std::shared_ptr<OnDemandShared> &shared) override
  {
    return CudaOnDemandTensor::create (shared, tensors_);
  }

  Expected<MemoryReturns *> returns () override
  {
    return with_context (*tensors_->context, [&] () -> Expected<MemoryReturns *> {
      if (!holds_)
        holds_ = TRY (BufferHolds::create (tensors_->context));
      holds_->drop_read ();
      return holds_.get ();
    });
  }

  Expected<SubmittedFrame> keep (const Frame &frame, std::shared_ptr<EngineTensor> into) override
  {
    const auto tensor = std::static_pointer_cast<CudaOnDemandTensor> (into);
    TRY (tensor->keep (frame));
    return SubmittedFrame{ tensor, [this, tensor] (GstBuffer *buffer, bool wait) {
                            return holds_->hold_until_read (buffer, wait, tensor, tensor->kept ());
                          } };
  }

  int device () const override { return tensors_->context->device (); }
  guint64 bytes () const override { return tensors_->bytes (); }

private:
  const std::shared_ptr<RegionTensors> tensors_;
  std::unique_ptr<BufferHolds> holds_;
};

}  // namespace

std::unique_ptr<DeviceStore> make_cuda_store (std::shared_ptr<CudaContext> context,
                                              Download download)
{
  // Tensors are never downloaded in advance, because no consumer asks for all of each frame.
  return std::make_unique<CudaStore> (
      std::move (context), download == Download::never ? Download::never : Download::lazy);
}

}  // namespace integralhist
