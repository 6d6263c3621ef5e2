// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The engine that computes tensors (integral histograms and summed-area tables) on a GPU, with
// several frames in flight. Poostchi et al. (2017, section 4.4, Algorithm 6) upload one image while
// they compute another. In this engine, each frame in flight has one of `async-depth` slots, and
// CUDA streams do all steps but the first:
//
//   streaming thread  copies the picture to a staging buffer unless it is in pinned memory;
//                     enqueues the rest; returns
//   upload            the picture, unless it is on the device; event: the picture has arrived
//   compute           waits for that event; runs the strategy. Each slot has its own stream, so
//                     that the small passes of one frame hide behind the writes of another
//   download          waits for the tensor; copies it to pinned memory if an early copy is
//                     needed; event: the slot is free
//
// The streaming thread waits only for the last frame of its slot, `async-depth` frames ago. Several
// parts of a frame read the same picture, each from its own slot.
#include "cuda_engine.hpp"

#include <optional>
#include <utility>

#include <gst/integralhist/base/log.hpp>
#include <gst/integralhist/base/trace.hpp>
#include <gst/integralhist/cuda/base/cuda_error.hpp>
#include <gst/integralhist/cuda/base/cuda_event.hpp>
#include <gst/integralhist/cuda/memory/buffer_holds.hpp>
#include <gst/integralhist/engine/strategy_choice.hpp>
#include <gst/integralhist/engine/tensor_pool.hpp>

#include "cuda_tensor.hpp"
#include "slots.hpp"

namespace integralhist {
namespace {

using namespace inthist::cuda;

class CudaEngine final : public PartEngine {
public:
  CudaEngine (const Shape &shape, const Lut &lut, const Options &options, ContextRef context,
              const PartLimit &limit)
      : shape_ (shape), largest_part_ (limit.of (shape)), lut_ (lut), download_ (options.download),
        context_ (std::move (context)),
        query_buffers_ (std::make_shared<QueryBufferPool> (context_)), download_stream_ (context_),
        above_ (context_), slots_ (context_, options.async_depth),
        pictures_ (context_, options.async_depth + (limit.bins > 0 ? kPicturesAhead : 0),
                   shape.width,
                   [this] (const Picture &picture) { return slots_.await_readers (picture); })
  {
  }

  Expected<> open (const Options &options)
  {
    TRY (with_context (*context_, [&] { return allocate (options); }));
    holds_ = TRY (BufferHolds::create (context_));
    return {};
  }

  ~CudaEngine () override
  {
    const CudaContext::Scope scope (*context_);
    for (const Slot &slot : slots_)
      await_streams (slot);
    holds_.reset ();
    if (pool_)
      pool_->close ();
  }

  Expected<SubmittedFrame> submit (const Frame &frame) override
  {
    const std::shared_ptr<Tensor> tensor =
        TRY (submit_part (PartFrame{ frame }, { 0, shape_.bins, 0, shape_.height }, nullptr));
    if (frame.location == PixelLocation::host)
      return SubmittedFrame{ tensor };
    const cudaEvent_t read = (frame.location == PixelLocation::pinned ? last_slot_->picture->arrived
                                                                      : last_slot_->computed)
                                 .get ();
    return SubmittedFrame{ tensor, [this, tensor, read] (GstBuffer *buffer, bool wait) {
                            return holds_->hold_until_read (buffer, wait, tensor, read);
                          } };
  }

  bool is_free () override
  {
    const CudaContext::Scope scope (*context_);
    return slots_.is_next_free () && !pool_->is_exhausted ();
  }

  void fetch (const PartFrame &frame) override
  {
    const CudaContext::Scope scope (*context_);
    if (!is_here (frame) && !pictures_.find (frame, {}) && !slots_.has_readers (pictures_.next ()))
      // A failure is ignored, because the frame's first part will report it.
      (void) pictures_.fetch (frame, { 0, shape_.bins, 0, shape_.height }, measure_now ());
  }

  bool has_fetched (const PartFrame &frame) override
  {
    const CudaContext::Scope scope (*context_);
    const Picture *const picture = pictures_.find (frame, {});
    return !picture || has_fired (picture->arrived.get ());
  }

  Expected<std::shared_ptr<EngineTensor>> submit_part (const PartFrame &frame, const Part &part,
                                                       std::byte *host) override
  {
    const TraceRange range ("integral histogram: submit");
    return with_context (*context_, [&] () -> Expected<std::shared_ptr<EngineTensor>> {
      Slot &slot = *TRY (slots_.next ());
      holds_->drop_read ();
      const auto tensor = TRY (next_tensor ());
      tensor->set_shape (shape_of_part (shape_, part.bins, part.rows));
      slot.measured = measure_now ();
      if (const auto enqueued = enqueue (frame, part, host, *tensor, slot); !enqueued) {
        await_streams (slot);  // waits, because enqueued work may already run
        return tl::make_unexpected (enqueued.error ());
      }
      last_slot_ = &slot;
      slots_.start (slot, slot.downloads ? tensor->bytes () : 0);
      return tensor;
    });
  }

  Stats stats () override
  {
    const CudaContext::Scope scope (*context_);
    const guint64 staged = pictures_.bytes_staged ();  // read first, never above bytes_up
    Stats stats = slots_.stats ();
    stats.bytes_staged = staged;
    stats.bytes_up = pictures_.bytes_up ();
    stats.backend = "cuda";
    stats.device = context_->device ();
    return stats;
  }

  const StrategyPlan &plan () const override { return plan_; }

private:
  Expected<> allocate (const Options &options)
  {
    const auto make = [shape = largest_part_, context = context_, buffers = query_buffers_,
                       download = download_] (unsigned alive) {
      return CudaTensor::create (shape, alive, context, buffers, download);
    };
    pool_ = TRY (TensorPool::create (make, options));
    const auto first = TRY (pool_->acquire ());
    plan_ = TRY (choose_strategy (Device::cuda, largest_part_, options.strategy,
                                  options.tuning_time, int (options.async_depth),
                                  static_cast<CudaTensor &> (*first).data ()));
    memory_ = part_memory_of (largest_part_, plan_.choice.strategy, plan_.choice.tuning);
    TRY (pictures_.open ());
    *download_stream_ = TRY (make_stream ());
    trace_name (download_stream_->get (), "integral histogram: download");
    TRY (slots_.open (memory_));
    if (largest_part_.height < shape_.height)
      *above_ = TRY (make_device_memory (memory_.above));
    return {};
  }

  /// Returns a tensor. If all are in use, waits for held input buffers, which keep tensors.
  Expected<std::shared_ptr<CudaTensor>> next_tensor ()
  {
    const TraceRange range ("integral histogram: wait for a tensor");
    while (pool_->is_exhausted () && TRY (holds_->drop_oldest ())) {
    }
    return std::static_pointer_cast<CudaTensor> (TRY (pool_->acquire (*holds_)));
  }

  /// Waits for all CUDA streams that use a slot, even if the slot's frame failed.
  void await_streams (const Slot &slot)
  {
    for (cudaStream_t stream :
         { pictures_.stream (), slot.stream.get (), download_stream_->get () })
      if (stream)
        cudaStreamSynchronize (stream);
  }

  /// Returns whether to measure the times of this frame: at most one frame per millisecond, so that
  /// measuring costs little at tens of thousands of frames per second.
  bool measure_now ()
  {
    const gint64 now = g_get_monotonic_time ();
    if (now - last_measured_ < 1000)
      return false;
    last_measured_ = now;
    return true;
  }

  Expected<> enqueue (const PartFrame &frame, const Part &part, std::byte *host, CudaTensor &tensor,
                      Slot &slot)
  {
    const Image image = TRY (fetch_rows (frame, part, slot));
    TRY (compute ({ image, lut_of_part (frame.lut_or (lut_), shape_, part) }, part, tensor, slot));
    slot.downloads = host || download_ == Download::eager;
    if (slot.downloads)
      TRY (download (tensor, { host, shape_, part }, slot));
    return {};
  }

  /// Enqueues the upload of the picture rows that a part needs, unless they are on the device, and
  /// makes the slot's stream wait for them. Returns the rows on the device.
  Expected<Image> fetch_rows (const PartFrame &frame, const Part &part, Slot &slot)
  {
    slot.picture = nullptr;
    slot.upload_measured = false;
    if (is_here (frame)) {
      TRY (wait_for_writes (slot.stream.get (), frame.written_on, slot.ready.get ()));
      if (frame.arrived)
        TRY (check (cudaStreamWaitEvent (slot.stream.get (), frame.arrived, 0)));
      return rows_of_part (frame.image, part);
    }
    Picture *picture = frame.number > 0 ? pictures_.find (frame, part) : nullptr;
    if (!picture)
      picture = TRY (pictures_.fetch (frame, part, slot.measured));
    slot.upload_measured = std::exchange (picture->timed, false);
    TRY (check (cudaStreamWaitEvent (slot.stream.get (), picture->arrived.get (), 0)));
    slot.picture = picture;
    Image image = picture->image;
    image.first_row = rows_of_part (frame.image, part).first_row;
    return image;
  }

  bool is_here (const Frame &frame) const
  {
    return frame.location == PixelLocation::device
           && (!frame.context || frame.context->handle () == context_->handle ());
  }

  CudaExpected<> compute (const Binning &binning, const Part &part, CudaTensor &tensor, Slot &slot)
  {
    cudaStream_t stream = slot.stream.get ();
    TRY (tensor.reuse (stream));
    if (slot.measured)
      TRY (check (cudaEventRecord (slot.compute_started.get (), stream)));
    const PixelPlane pixels = { reinterpret_cast<guint8 *> (slot.pixels.get ()),
                                inthist::binned_stride (shape_) };
    // The strategy reuses the workspace's contents if its last use had this shape and did not fail.
    const bool kept = std::exchange (slot.workspace_shape, std::nullopt) == tensor.shape;
    TRY (check (inthist::run (*plan_.choice.strategy, { .shape = tensor.shape,
                                                        .layout = tensor.layout,
                                                        .pixels = pixels,
                                                        .tensor = tensor.data (),
                                                        .workspace = slot.workspace.get (),
                                                        .stream = stream,
                                                        .tuning = plan_.choice.tuning,
                                                        .binning = &binning,
                                                        .workspace_kept = kept })));
    slot.workspace_shape = tensor.shape;
    if (part.rows < shape_.height)
      TRY (add_strip_above (part, tensor, stream));
    TRY (tensor.set_computed (stream));
    return check (cudaEventRecord (slot.computed.get (), stream));
  }

  /// Completes a strip of rows, after the strip above it, which may have another stream.
  CudaExpected<> add_strip_above (const Part &part, CudaTensor &tensor, cudaStream_t stream)
  {
    if (last_slot_)
      TRY (check (cudaStreamWaitEvent (stream, last_slot_->computed.get (), 0)));
    if (part.first_row == 0)
      TRY (check (cudaMemsetAsync (above_->get (), 0, memory_.above, stream)));
    return check (inthist::cuda::add_above (tensor.shape, tensor.layout, tensor.data (),
                                            reinterpret_cast<std::uint32_t *> (above_->get ()),
                                            stream));
  }

  /// Enqueues the download of a tensor to the destination `to`, or else to the tensor's host copy.
  CudaExpected<> download (CudaTensor &tensor, const HostDestination &to, Slot &slot)
  {
    cudaStream_t stream = download_stream_->get ();
    TRY (check (cudaStreamWaitEvent (stream, slot.computed.get (), 0)));
    if (slot.measured)
      TRY (check (cudaEventRecord (slot.download_started.get (), stream)));
    if (to.tensor)
      TRY (tensor.enqueue_copy (to, stream));
    else
      TRY (tensor.start_download (stream));
    return check (cudaEventRecord (slot.downloaded.get (), stream));
  }

  const Shape shape_, largest_part_;  // shape_ is the shape of a whole frame
  const Lut lut_;
  const Download download_;
  const ContextRef context_;
  const std::shared_ptr<QueryBufferPool> query_buffers_;
  std::shared_ptr<TensorPool> pool_;
  StrategyPlan plan_;
  PartMemory memory_;
  InContext<StreamOwner> download_stream_;
  InContext<DeviceMemory> above_;  // integral histogram in the row above the next strip
  std::unique_ptr<BufferHolds> holds_;

  // Only the thread that calls submit () uses the members below; stats () reads only counts.
  Slots slots_;
  PictureCache pictures_;
  const Slot *last_slot_ = nullptr;  // slot of the part that was submitted last
  gint64 last_measured_ = 0;
};

}  // namespace

Expected<std::unique_ptr<PartEngine>> make_cuda_engine (const Shape &shape, const Lut &lut,
                                                        const Options &options,
                                                        std::shared_ptr<CudaContext> context,
                                                        const PartLimit &limit)
{
  auto engine = std::make_unique<CudaEngine> (shape, lut, options, std::move (context), limit);
  TRY (engine->open (options));
  return engine;
}

}  // namespace integralhist
