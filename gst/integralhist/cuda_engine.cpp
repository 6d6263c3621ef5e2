// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Histograms and tables on a GPU, several frames in flight. Poostchi et al. (2017, section 4.4, Algorithm 6) upload one image while they compute another; here each frame
// has a slot, of which there are `async-depth`, and streams do all but the first step:
//
//   streaming thread   copies the picture to pinned memory, if it does not lie there; enqueues the rest; returns
//   upload             the picture, to the device, if it does not lie there                  ──► event: it is there
//   compute            waits for that; the strategy. A stream for each slot, as the small passes of one frame hide behind the writes of another
//   download           waits for that; the tensor, to pinned memory, if it is wanted early   ──► event: the slot is free
//
// Events order them. The streaming thread waits only for the frame that had the slot before, `async-depth` frames ago.
#include <cstring>

#include "loans.hpp"
#include "trace.hpp"

namespace integralhist {
namespace {

using namespace inthist::cuda;

class CudaEngine final : public Engine {
public:
  CudaEngine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options, Context context)
      : shape_ (shape), lut_ (lut), download_ (options.download), context_ (std::move (context)),
        queries_ (std::make_shared<Queries> (context_)), slots_ (options.async_depth)
  {
    on (*context_, [&] {
      try {
        allocate (shape, options);
      } catch (...) {
        release ();
        throw;
      }
    });
    loans_ = std::make_unique<Loans> (context_);
  }

  ~CudaEngine () override
  {
    const CudaContext::Scope scope (*context_);
    for (const Slot &slot : slots_)
      settle (slot);
    loans_.reset ();
    release ();
  }

  std::shared_ptr<Tensor> submit (const Frame &frame) override
  {
    const TraceRange range ("integral histogram: submit");
    return on (*context_, [&] {
      Slot &slot = next_slot ();
      loans_->give_back ();  // outside of the lock: what comes back may be the last of its buffer
      const auto tensor = next_tensor ();
      if (!tensor)
        return tensor;
      const std::lock_guard lock (mutex_);
      try {
        slot.measured = measure_now ();
        const inthist::Image image = bring (frame, slot);
        compute (image, *tensor, slot);
        if (download_ == Download::eager)
          download (*tensor, slot);
      } catch (...) {
        settle (slot);  // part of it may be under way
        throw;
      }
      slot.busy = true;
      last_read_ = frame.place == Place::host ? nullptr : frame.place == Place::pinned ? slot.there.get () : slot.computed.get ();
      stats_.frames++;
      return tensor;
    });
  }

  void hold (GstBuffer *buffer, Tensor &tensor) override
  {
    if (last_read_)
      on (*context_, [&] {
        if (loans_->are_in_the_way ())
          await (last_read_);
        else if (!has_fired (last_read_))
          loans_->add (buffer, tensor, last_read_);
      });
  }

  void set_flushing (bool flushing) override { pool_->set_flushing (flushing); }

  Stats stats () override
  {
    const std::lock_guard lock (mutex_);
    const CudaContext::Scope scope (*context_);
    Stats stats = stats_;
    stats.backend = "cuda";
    stats.device = context_->device ();
    for (Slot &slot : slots_)
      if (slot.busy && cudaEventQuery (done (slot)) == cudaErrorNotReady)
        stats.in_flight++;
      else
        note_times (slot, stats);
    return stats;
  }

  const Plan &plan () const override { return plan_; }

private:
  template <class Memory>
  struct Sized {
    Memory memory;
    std::size_t bytes = 0;
  };

  /// What a frame needs until its tensor is done.
  struct Slot {
    StreamOwner stream;
    Sized<PinnedMemory> staging;
    Sized<DeviceMemory> image;
    DeviceMemory pixels, workspace;
    EventOwner there, computed, downloaded;                        // end of a stream's part
    EventOwner upload_started, compute_started, download_started;  // recorded where the frame is measured
    bool busy = false, measured = false, uploaded = false;
  };

  void allocate (const inthist::Shape &shape, const Options &options)
  {
    const auto make = [shape, context = context_, queries = queries_, download = download_] (unsigned alive) {
      try {
        return std::make_unique<CudaTensor> (shape, alive, context, queries, download);
      } catch (const CudaError &error) {
        fail (error);
      }
    };
    pool_ = std::make_shared<TensorPool> (make, options);
    plan_ = plan_for (inthist::Device::cuda, shape, options.strategy, options.tuning_time, int (options.async_depth),
                      static_cast<CudaTensor &> (*pool_->acquire ()).data ());
    const std::size_t workspace = std::max<std::size_t> (plan_.choice.strategy->workspace_bytes (shape, plan_.choice.tuning), 1);
    upload_stream_ = make_stream ();
    download_stream_ = make_stream ();
    trace_name (upload_stream_.get (), "integral histogram: upload");
    trace_name (download_stream_.get (), "integral histogram: download");
    for (Slot &slot : slots_) {
      slot.stream = make_stream ();
      trace_name (slot.stream.get (), "integral histogram: compute");
      slot.pixels = make_device_memory (inthist::bin_stride (shape.width) * shape.height);
      slot.workspace = make_device_memory (workspace);
      for (EventOwner *event :
           { &slot.there, &slot.computed, &slot.downloaded, &slot.upload_started, &slot.compute_started, &slot.download_started })
        *event = make_event (cudaEventBlockingSync);
    }
  }

  void release ()
  {
    slots_.clear ();
    upload_stream_.reset ();
    download_stream_.reset ();
    if (pool_)
      pool_->close ();
  }

  cudaEvent_t done (const Slot &slot) const { return download_ == Download::eager ? slot.downloaded.get () : slot.computed.get (); }

  /// Waits until the slot's last frame is done.
  void make_free (Slot &slot)
  {
    if (!slot.busy)
      return;
    await (done (slot));
    note_times (slot, stats_);
    slot.busy = false;
  }

  /// Free.
  Slot &next_slot ()
  {
    const TraceRange range ("integral histogram: wait for a slot");
    const std::lock_guard lock (mutex_);
    Slot &slot = slots_[stats_.frames % slots_.size ()];
    make_free (slot);
    return slot;
  }

  /// Null when flushing. A buffer that is lent has its tensor, too, so where there is no other those are waited for.
  std::shared_ptr<CudaTensor> next_tensor ()
  {
    const TraceRange range ("integral histogram: wait for a tensor");
    for (;;) {
      const guint64 given_back = loans_->given_back ();
      try {
        while (pool_->is_exhausted () && loans_->settle_oldest ()) {
        }
        return std::static_pointer_cast<CudaTensor> (pool_->acquire ());
      } catch (const Error &error) {
        // one that came back meanwhile may have been the one that was missing
        if (error.code != GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY || (!loans_->settle_oldest () && loans_->given_back () == given_back))
          throw;
      }
    }
  }

  /// Whatever became of its frame.
  void settle (const Slot &slot)
  {
    for (cudaStream_t stream : { upload_stream_.get (), slot.stream.get (), download_stream_.get () })
      cudaStreamSynchronize (stream);
  }

  /// At most once a millisecond: a frame at 30 a second is measured, and where tens of thousands come, one of them in tens, so that the others need not pay for it.
  bool measure_now ()
  {
    const gint64 now = g_get_monotonic_time ();
    if (now - last_measured_ < 1000)
      return false;
    last_measured_ = now;
    return true;
  }

  void note_times (const Slot &slot, Stats &stats) const
  {
    if (!slot.busy || !slot.measured)
      return;
    const auto add = [] (Duration &duration, const EventOwner &from, const EventOwner &to) {
      float milliseconds;
      if (cudaEventElapsedTime (&milliseconds, from.get (), to.get ()) == cudaSuccess)
        duration.add (guint64 (milliseconds * 1e6));
    };
    if (slot.uploaded)
      add (stats.upload, slot.upload_started, slot.there);
    add (stats.compute, slot.compute_started, slot.computed);
    if (download_ == Download::eager)
      add (stats.download, slot.download_started, slot.downloaded);
  }

  /// The picture on the device, for the slot's stream.
  inthist::Image bring (const Frame &frame, Slot &slot)
  {
    slot.uploaded = frame.place != Place::device;
    if (slot.uploaded) {
      const Rows rows = frame.place == Place::host ? stage (rows_of (frame), slot) : rows_of (frame);
      reserve (&Slot::image, make_device_memory, rows.pitch * shape_.height);
      if (slot.measured)
        check (cudaEventRecord (slot.upload_started.get (), upload_stream_.get ()));
      upload (rows, slot);
      check (cudaEventRecord (slot.there.get (), upload_stream_.get ()));
      check (cudaStreamWaitEvent (slot.stream.get (), slot.there.get (), 0));
      return { slot.image.memory.get (), rows.pitch, frame.image.format };
    }
    if (frame.producer) {
      check (cudaEventRecord (slot.there.get (), frame.producer));
      check (cudaStreamWaitEvent (slot.stream.get (), slot.there.get (), 0));
    }
    return frame.image;
  }

  /// Of a picture in host memory, and how they shall lie on the device.
  struct Rows {
    const std::byte *data;
    std::size_t bytes, stride, pitch;
  };

  /// Rows that lie close, and well for the kernels, are copied as one piece.
  Rows rows_of (const Frame &frame) const
  {
    constexpr std::size_t kAlignment = 256;
    const std::size_t row = std::size_t (shape_.width) * frame.image.format.bytes, stride = frame.image.stride,
                      aligned = (row + kAlignment - 1) / kAlignment * kAlignment;
    return { static_cast<const std::byte *> (frame.image.data), row, stride, stride <= aligned && stride % 16 == 0 ? stride : aligned };
  }

  /// Copies them to pinned memory.
  Rows stage (const Rows &rows, Slot &slot)
  {
    const TraceRange range ("integral histogram: copy to pinned memory");
    reserve (&Slot::staging, make_pinned_memory, rows.pitch * shape_.height);
    std::byte *const to = slot.staging.memory.get ();
    if (rows.stride == rows.pitch)
      std::memcpy (to, rows.data, rows.pitch * (shape_.height - 1) + rows.bytes);
    else
      for (int y = 0; y < shape_.height; y++)
        std::memcpy (to + y * rows.pitch, rows.data + y * rows.stride, rows.bytes);
    stats_.bytes_staged += rows.bytes * shape_.height;
    return { to, rows.bytes, rows.pitch, rows.pitch };
  }

  /// For all slots at once, so that one frame pays for all.
  template <class Memory>
  void reserve (Sized<Memory> Slot::*which, Memory (*make) (std::size_t), std::size_t bytes)
  {
    for (Slot &slot : slots_)
      if (auto &has = slot.*which; has.bytes < bytes) {
        make_free (slot);
        has.bytes = 0;
        has.memory = make (bytes);
        has.bytes = bytes;
      }
  }

  void upload (const Rows &rows, Slot &slot)
  {
    if (rows.stride == rows.pitch)
      check (cudaMemcpyAsync (slot.image.memory.get (), rows.data, rows.pitch * (shape_.height - 1) + rows.bytes, cudaMemcpyHostToDevice,
                              upload_stream_.get ()));
    else
      check (cudaMemcpy2DAsync (slot.image.memory.get (), rows.pitch, rows.data, rows.stride, rows.bytes, shape_.height,
                                cudaMemcpyHostToDevice, upload_stream_.get ()));
    stats_.bytes_up += rows.bytes * shape_.height;
  }

  void compute (const inthist::Image &image, CudaTensor &tensor, Slot &slot)
  {
    cudaStream_t stream = slot.stream.get ();
    tensor.reuse (stream);
    if (slot.measured)
      check (cudaEventRecord (slot.compute_started.get (), stream));
    const inthist::Binning binning = { image, lut_ };
    check (inthist::run (*plan_.choice.strategy, { shape_,
                                                   tensor.layout,
                                                   { reinterpret_cast<guint8 *> (slot.pixels.get ()), inthist::bin_stride (shape_.width) },
                                                   tensor.data (),
                                                   slot.workspace.get (),
                                                   stream,
                                                   plan_.choice.tuning,
                                                   nullptr,
                                                   &binning }));
    tensor.set_computed (stream);
    check (cudaEventRecord (slot.computed.get (), stream));
  }

  void download (CudaTensor &tensor, Slot &slot)
  {
    cudaStream_t stream = download_stream_.get ();
    check (cudaStreamWaitEvent (stream, slot.computed.get (), 0));
    if (slot.measured)
      check (cudaEventRecord (slot.download_started.get (), stream));
    tensor.start_download (stream);
    check (cudaEventRecord (slot.downloaded.get (), stream));
    stats_.bytes_down += tensor.bytes ();
  }

  const inthist::Shape shape_;
  const inthist::Lut lut_;
  const Download download_;
  const Context context_;
  const std::shared_ptr<Queries> queries_;
  std::shared_ptr<TensorPool> pool_;
  Plan plan_;
  StreamOwner upload_stream_, download_stream_;
  std::unique_ptr<Loans> loans_;

  // of the frame that was submitted last, for hold ()
  cudaEvent_t last_read_ = nullptr;  // null where nothing is read later

  std::mutex mutex_;  // guards all below
  std::vector<Slot> slots_;
  gint64 last_measured_ = 0;
  Stats stats_;
};

}  // namespace

std::unique_ptr<Engine>
make_cuda_engine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options, std::shared_ptr<CudaContext> context)
{
  return std::make_unique<CudaEngine> (shape, lut, options, std::move (context));
}

}  // namespace integralhist
