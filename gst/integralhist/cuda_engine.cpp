// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Histograms and tables on a GPU. Each lane has a stream: upload from pinned memory (or read CUDA memory where it lies), bin indices, strategy. The tensor's event
// is its fence. Nothing waits for the device, but for a lane that is still busy `async-depth` frames later.
#include "engine.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include <cuda/raii.hpp>

namespace integralhist {
namespace {

using namespace inthist::cuda;
using Context = std::shared_ptr<CudaContext>;

/// Runs CUDA calls with the context current, and turns what they throw into an Error.
template <class Body>
auto
on (const CudaContext &context, Body &&body)
{
  const CudaContext::Scope scope (context);
  if (!scope)
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, "CUDA: the context of device " + std::to_string (context.device ()) + " is gone");
  try {
    return body ();
  } catch (const CudaError &error) {
    if (error.code == cudaErrorMemoryAllocation) {
      std::size_t available = 0, total = 0;
      cudaMemGetInfo (&available, &total);
      throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY,
                   no_memory ("what a frame needs besides its tensor, on the GPU or pinned on the host,", error.bytes, available, "GPU")
                       + ": lower async-depth, set max-tensors, or download=never");
    }
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, std::string ("CUDA: ") + error.what ());
  }
}

/// Streams and small buffers for region queries, one set for each thread that asks at the same time. They wait for the next caller.
class Queries {
public:
  struct Lane {
    StreamOwner stream = make_stream ();
    PinnedMemory regions, host_answers;
    DeviceMemory device_answers;
    std::size_t regions_bytes = 0, answers_bytes = 0;

    void reserve (std::size_t regions_wanted, std::size_t answers_wanted)
    {
      if (regions_wanted > regions_bytes) {
        regions_bytes = 0;
        regions = make_pinned_memory (regions_wanted);
        regions_bytes = regions_wanted;
      }
      if (answers_wanted > answers_bytes) {
        answers_bytes = 0;
        host_answers = make_pinned_memory (answers_wanted);
        device_answers = make_device_memory (answers_wanted);
        answers_bytes = answers_wanted;
      }
    }
  };

  explicit Queries (Context context) : context_ (std::move (context)) {}

  ~Queries ()
  {
    const CudaContext::Scope scope (*context_);
    idle_.clear ();
  }

  /// With the context current.
  std::unique_ptr<Lane> acquire ()
  {
    {
      const std::lock_guard lock (mutex_);
      if (!idle_.empty ()) {
        auto lane = std::move (idle_.back ());
        idle_.pop_back ();
        return lane;
      }
    }
    return std::make_unique<Lane> ();
  }

  void give_back (std::unique_ptr<Lane> lane)
  {
    const std::lock_guard lock (mutex_);
    idle_.push_back (std::move (lane));
  }

private:
  const Context context_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Lane>> idle_;
};

DeviceMemory
allocate_tensor (const inthist::Shape &shape, std::size_t bytes, unsigned alive)
{
  try {
    return make_device_memory (bytes);
  } catch (const CudaError &error) {
    if (error.code != cudaErrorMemoryAllocation)
      throw;
    std::size_t available = 0, total = 0;
    cudaMemGetInfo (&available, &total);
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY, no_memory_for_tensor (shape, bytes, available, "GPU", alive));
  }
}

class CudaTensor final : public Tensor {
public:
  /// With the context current.
  CudaTensor (const inthist::Shape &of, unsigned alive, Context context, std::shared_ptr<Queries> queries, Download download)
      : Tensor (of), context_ (std::move (context)), queries_ (std::move (queries)), download_ (download),
        memory_ (allocate_tensor (of, bytes (), alive)), computed_ (make_event (cudaEventDisableTiming | cudaEventBlockingSync)),
        downloaded_ (make_event (cudaEventDisableTiming | cudaEventBlockingSync))
  {
    if (download_ == Download::eager)
      host_ = make_pinned_memory (bytes ());
  }

  ~CudaTensor () override
  {
    const CudaContext::Scope scope (*context_);
    cudaEventSynchronize (computed_.get ());
    cudaEventSynchronize (downloaded_.get ());
    memory_.reset ();
    host_.reset ();
    computed_.reset ();
    downloaded_.reset ();
  }

  bool wait (GstClockTime timeout) override
  {
    return on (*context_, [&] {
      if (timeout == GST_CLOCK_TIME_NONE) {
        check (cudaEventSynchronize (computed_.get ()));
        return true;
      }
      const auto start = std::chrono::steady_clock::now ();
      for (;;) {
        const cudaError_t state = cudaEventQuery (computed_.get ());
        if (state == cudaSuccess)
          return true;
        if (state != cudaErrorNotReady)
          check (state);
        if (std::chrono::steady_clock::now () - start >= std::chrono::nanoseconds (std::min<GstClockTime> (timeout, G_MAXINT64 / 4)))
          return false;
        std::this_thread::sleep_for (std::chrono::microseconds (20));
      }
    });
  }

  void regions (std::span<const Region> regions, guint32 *counts) override { ask (inthist::cuda::count_regions, regions, counts); }
  void regions (std::span<const Region> regions, guint64 *sums) override { ask (inthist::cuda::sum_regions, regions, sums); }

  const void *host () override
  {
    if (download_ == Download::never)
      throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_NOT_DOWNLOADED,
                   "the tensor stays on the GPU, as download=never says; ask regions, or set download to lazy or eager");
    const std::lock_guard lock (host_mutex_);
    on (*context_, [&] {
      if (!host_)
        host_ = make_pinned_memory (bytes ());
      if (!download_started_) {
        auto lane = queries_->acquire ();
        start_download (lane->stream.get ());
        check (cudaEventSynchronize (downloaded_.get ()));
        queries_->give_back (std::move (lane));
      } else {
        check (cudaEventSynchronize (downloaded_.get ()));
      }
    });
    return host_.get ();
  }

  CudaView cuda () const override
  {
    return { reinterpret_cast<guint64> (memory_.get ()), computed_.get (), context_->handle (), context_->device () };
  }

  // for the engine, with the context current

  /// Orders `stream` after all that used the tensor before.
  void reuse (cudaStream_t stream)
  {
    download_started_ = false;
    check (cudaStreamWaitEvent (stream, computed_.get (), 0));
    check (cudaStreamWaitEvent (stream, downloaded_.get (), 0));
  }

  void *data () { return memory_.get (); }
  void set_computed (cudaStream_t stream) { check (cudaEventRecord (computed_.get (), stream)); }

  void start_download (cudaStream_t stream)
  {
    check (cudaStreamWaitEvent (stream, computed_.get (), 0));
    check (cudaMemcpyAsync (host_.get (), memory_.get (), bytes (), cudaMemcpyDeviceToHost, stream));
    check (cudaEventRecord (downloaded_.get (), stream));
    download_started_ = true;
  }

private:
  /// `query` is count_regions or sum_regions.
  template <class Query, class Answer>
  void ask (Query query, std::span<const Region> regions, Answer *answers)
  {
    if (regions.empty ())
      return;
    on (*context_, [&] {
      auto lane = queries_->acquire ();
      const std::size_t bytes = regions.size () * shape.bins * sizeof (Answer);
      lane->reserve (regions.size_bytes (), bytes);
      std::memcpy (lane->regions.get (), regions.data (), regions.size_bytes ());
      cudaStream_t stream = lane->stream.get ();
      auto *on_device = reinterpret_cast<Answer *> (lane->device_answers.get ());
      check (cudaStreamWaitEvent (stream, computed_.get (), 0));
      check (query (shape, layout, memory_.get (), reinterpret_cast<const Region *> (lane->regions.get ()), int (regions.size ()),
                    on_device, stream));
      check (cudaMemcpyAsync (lane->host_answers.get (), on_device, bytes, cudaMemcpyDeviceToHost, stream));
      check (cudaStreamSynchronize (stream));
      std::memcpy (answers, lane->host_answers.get (), bytes);
      queries_->give_back (std::move (lane));
    });
  }

  const Context context_;
  const std::shared_ptr<Queries> queries_;
  const Download download_;
  DeviceMemory memory_;
  EventOwner computed_, downloaded_;
  std::mutex host_mutex_;  // guards the host copy
  PinnedMemory host_;
  bool download_started_ = false;
};

class CudaEngine final : public Engine {
public:
  CudaEngine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options, Context context)
      : shape_ (shape), lut_ (lut), download_ (options.download), context_ (std::move (context)),
        queries_ (std::make_shared<Queries> (context_)), lanes_ (options.async_depth)
  {
    on (*context_, [&] {
      try {
        allocate (shape, options);
      } catch (...) {
        release ();
        throw;
      }
    });
  }

  ~CudaEngine () override
  {
    const CudaContext::Scope scope (*context_);
    for (Lane &lane : lanes_)
      cudaStreamSynchronize (lane.stream.get ());
    release ();
  }

  std::shared_ptr<Tensor> submit (const Frame &frame) override
  {
    const auto tensor = std::static_pointer_cast<CudaTensor> (on (*context_, [&] { return pool_->acquire (); }));
    if (!tensor)
      return nullptr;
    const std::lock_guard lock (mutex_);
    on (*context_, [&] {
      Lane &lane = lanes_[stats_.frames % lanes_.size ()];
      finish (lane);
      cudaStream_t stream = lane.stream.get ();
      tensor->reuse (stream);
      check (cudaEventRecord (lane.started.get (), stream));
      const inthist::Image image = frame.on_device ? after_producer (frame, lane) : upload (frame, lane);
      check (cudaEventRecord (lane.uploaded.get (), stream));
      const inthist::PixelPlane pixels = { reinterpret_cast<guint8 *> (lane.pixels.get ()), inthist::bin_stride (shape_.width) };
      const inthist::Binning binning = { image, lut_ };
      const bool early = frame.on_device;  // the producer waits for its pixels, not for the tensor
      if (early) {
        check (inthist::cuda::bin_image (image, lut_, shape_.width, shape_.height, pixels, stream));
        check (cudaEventRecord (lane.read.get (), stream));
      }
      check (inthist::run (*plan_.choice.strategy, { shape_, tensor->layout, pixels, tensor->data (), lane.workspace.get (), stream,
                                                     plan_.choice.tuning, nullptr, early ? nullptr : &binning }));
      tensor->set_computed (stream);
      check (cudaEventRecord (lane.computed.get (), stream));
      if (download_ == Download::eager) {
        check (cudaStreamWaitEvent (download_stream_.get (), lane.computed.get (), 0));
        check (cudaEventRecord (lane.download_started.get (), download_stream_.get ()));
        tensor->start_download (download_stream_.get ());
        check (cudaEventRecord (lane.done.get (), download_stream_.get ()));
        stats_.bytes_down += tensor->bytes ();
      } else {
        check (cudaEventRecord (lane.done.get (), stream));
      }
      lane.busy = true;
      stats_.frames++;
      // the frame's memory may be written again as soon as it is pushed
      if (frame.on_device)
        check (cudaEventSynchronize (lane.read.get ()));
    });
    return tensor;
  }

  void set_flushing (bool flushing) override { pool_->set_flushing (flushing); }

  Stats stats () override
  {
    const std::lock_guard lock (mutex_);
    Stats stats = stats_;
    stats.backend = "cuda";
    stats.device = context_->device ();
    const CudaContext::Scope scope (*context_);
    stats.in_flight = std::ranges::count_if (
        lanes_, [] (const Lane &lane) { return lane.busy && cudaEventQuery (lane.done.get ()) == cudaErrorNotReady; });
    return stats;
  }

  const Plan &plan () const override { return plan_; }

private:
  /// What a frame needs until its tensor is done.
  struct Lane {
    StreamOwner stream;
    PinnedMemory staging;
    DeviceMemory image, pixels, workspace;
    std::size_t image_bytes = 0;
    EventOwner started, uploaded, read, computed, download_started, done;
    bool busy = false;
  };

  void allocate (const inthist::Shape &shape, const Options &options)
  {
    const auto make = [shape, context = context_, queries = queries_, download = download_] (unsigned alive) {
      return std::make_unique<CudaTensor> (shape, alive, context, queries, download);
    };
    pool_ = std::make_shared<TensorPool> (make, options);
    plan_ = plan_for (inthist::Device::cuda, shape, options.strategy, options.tuning_time, int (options.async_depth),
                      static_cast<CudaTensor &> (*pool_->acquire ()).data ());
    const std::size_t workspace = std::max<std::size_t> (plan_.choice.strategy->workspace_bytes (shape, plan_.choice.tuning), 1);
    download_stream_ = make_stream ();
    for (Lane &lane : lanes_) {
      lane.stream = make_stream ();
      lane.pixels = make_device_memory (inthist::bin_stride (shape.width) * shape.height);
      lane.workspace = make_device_memory (workspace);
      for (EventOwner *event : { &lane.started, &lane.uploaded, &lane.read, &lane.computed, &lane.download_started, &lane.done })
        *event = make_event (cudaEventBlockingSync);
    }
  }

  void release ()
  {
    lanes_.clear ();
    download_stream_.reset ();
    if (pool_)
      pool_->close ();
  }

  /// Waits until the lane's last frame is done, and notes its times.
  void finish (Lane &lane)
  {
    if (!lane.busy)
      return;
    check (cudaEventSynchronize (lane.done.get ()));
    lane.busy = false;
    const auto add = [] (Duration &duration, const EventOwner &from, const EventOwner &to) {
      float milliseconds;
      if (cudaEventElapsedTime (&milliseconds, from.get (), to.get ()) == cudaSuccess)
        duration.add (guint64 (milliseconds * 1e6));
    };
    add (stats_.upload, lane.started, lane.uploaded);
    add (stats_.compute, lane.uploaded, lane.computed);
    if (download_ == Download::eager)
      add (stats_.download, lane.download_started, lane.done);
  }

  /// Copies the frame to pinned memory and from there to the device.
  inthist::Image upload (const Frame &frame, Lane &lane)
  {
    const std::size_t row = std::size_t (shape_.width) * frame.image.format.bytes, stride = (row + 255) / 256 * 256;
    if (lane.image_bytes < stride * shape_.height) {
      lane.image_bytes = 0;
      lane.staging = make_pinned_memory (stride * shape_.height);
      lane.image = make_device_memory (stride * shape_.height);
      lane.image_bytes = stride * shape_.height;
    }
    const auto *from = static_cast<const std::byte *> (frame.image.data);
    if (frame.image.stride == stride)
      std::memcpy (lane.staging.get (), from, stride * (shape_.height - 1) + row);
    else
      for (int y = 0; y < shape_.height; y++)
        std::memcpy (lane.staging.get () + y * stride, from + y * frame.image.stride, row);
    const std::size_t bytes = stride * (shape_.height - 1) + row;
    check (cudaMemcpyAsync (lane.image.get (), lane.staging.get (), bytes, cudaMemcpyHostToDevice, lane.stream.get ()));
    stats_.bytes_up += bytes;
    return { lane.image.get (), stride, frame.image.format };
  }

  /// Orders the lane's stream after what the producer of device memory has enqueued so far.
  const inthist::Image &after_producer (const Frame &frame, Lane &lane)
  {
    if (frame.producer) {
      check (cudaEventRecord (lane.read.get (), frame.producer));
      check (cudaStreamWaitEvent (lane.stream.get (), lane.read.get (), 0));
    }
    return frame.image;
  }

  const inthist::Shape shape_;
  const inthist::Lut lut_;
  const Download download_;
  const Context context_;
  const std::shared_ptr<Queries> queries_;
  std::shared_ptr<TensorPool> pool_;
  Plan plan_;
  StreamOwner download_stream_;

  std::mutex mutex_;  // guards all below
  std::vector<Lane> lanes_;
  Stats stats_;
};

}  // namespace

std::unique_ptr<Engine>
make_cuda_engine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options, std::shared_ptr<CudaContext> context)
{
  return std::make_unique<CudaEngine> (shape, lut, options, std::move (context));
}

}  // namespace integralhist
