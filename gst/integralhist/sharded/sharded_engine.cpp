// SPDX-License-Identifier: LGPL-2.1-or-later
#include "sharded_engine.hpp"

#include <utility>

#include <gst/integralhist/base/check_threads.hpp>
#include <gst/integralhist/base/trace.hpp>
#include <gst/integralhist/engine/picture_planes.hpp>
#include <gst/integralhist/engine/tensor_pool.hpp>
#include <gst/integralhist/memory/memory_messages.hpp>
#include <gst/integralhist/memory/recycled_memory.hpp>

#include "device_worker.hpp"
#include "fault.hpp"
#include "frame_queue.hpp"

namespace integralhist {
namespace {

Expected<std::optional<Fault>> wanted_fault ()
{
#if INTEGRALHIST_FAULTS
  const char *const wanted = g_getenv ("INTEGRALHIST_FAULT");
  return parse_fault (wanted ? wanted : "");
#else
  return std::optional<Fault> ();
#endif
}

class ShardedEngine final : public Engine {
public:
  ShardedEngine (const Shape &shape, const Options &options, const Partition &partition,
                 const DeviceFunctions &functions)
      : shape_ (shape), partition_ (partition), functions_ (functions),
        staging_ (std::make_shared<RecycledMemory> (functions.allocate, options.async_depth + 1)),
        queue_ (options)
  {
  }

  Expected<> open (const Options &options, const std::vector<ShardDevice> &devices)
  {
    const auto fault = TRY (wanted_fault ());
    Options of_frames = options;
    // Limits the number of tensors, so that every task of an accepted frame finds memory.
    if (partition_.frames > 0
        && (options.max_tensors == 0 || options.max_tensors > partition_.frames))
      of_frames.max_tensors = partition_.frames;
    const auto make = [shape = shape_, partition = partition_, download = options.download,
                       allocate = functions_.allocate] (unsigned alive) {
      return ShardedTensor::create (shape, partition, download, allocate, alive);
    };
    pool_ = TRY (TensorPool::create (make, of_frames));
    if (!partition_.resident)  // the CPU then joins the parts of tensors and answers queries
      TRY (check_threads ());

    Options of_parts = for_parts (options);
    for (std::size_t d = 0; d < devices.size (); d++) {
      of_parts.max_tensors = partition_.tensors[d];
      auto engine =
          TRY (devices[d].make_engine (shape_, of_parts, { partition_.bins, partition_.rows }));
      const int device = devices[d].id;
      workers_.push_back (std::make_unique<DeviceWorker> (
          device, std::move (engine), shape_, partition_, *pool_, queue_,
          fault && fault->device == device ? fault->part : 0));
    }
    for (auto &worker : workers_)
      TRY (worker->start ());
    return {};
  }

  ~ShardedEngine () override
  {
    queue_.stop ();
    for (auto &worker : workers_)
      worker->join ();
    workers_.clear ();
    if (pool_)
      pool_->close ();
  }

  Expected<SubmittedFrame> submit (const Frame &frame) override
  {
    const TraceRange range ("integral histogram: divide");
    TRY (queue_.await_room ());
    // If memory is short, acquire () waits until a frame in flight is done.
    const auto tensor = std::static_pointer_cast<ShardedTensor> (TRY (pool_->acquire (queue_)));
    tensor->begin ();
    auto pending = std::make_shared<PendingFrame> ();
    pending->frame = PartFrame{ frame };
    pending->tensor = tensor;
    if (frame.location == PixelLocation::host)
      TRY (stage (*pending));
    else
      TRY (functions_.await_writes (frame));
    const bool for_peers = peers_copy () && frame.location != PixelLocation::device;
    if (for_peers)
      pending->uploaded = TRY (functions_.upload (pending->frame, shape_.width, shape_.height));
    TRY (queue_.add (pending, partition_.groups));
    if (for_peers)
      bytes_up_ += PicturePlanes (frame.image, shape_.width, shape_.height).bytes ();
    if (frame.location == PixelLocation::host)
      return SubmittedFrame{ tensor };
    return SubmittedFrame{ tensor, [this, tensor, pending] (GstBuffer *buffer, bool wait) {
                            queue_.hold (*pending, buffer, wait, tensor);
                            return Expected<> ();
                          } };
  }

  bool has_failed () override { return queue_.has_failed (); }
  Expected<> finish () override { return queue_.finish (); }
  void abandon () override { queue_.abandon (); }

  Stats stats () override
  {
    Stats stats;
    for (auto &worker : workers_) {
      const Stats own = worker->engine ().stats ();
      stats.add (own);
      stats.backend = own.backend;
      stats.device = workers_.size () == 1 ? own.device : -1;
      stats.parts.push_back ({ worker->device (), worker->n_parts () });
    }
    queue_.count (stats);
    stats.bytes_staged = bytes_staged_;
    stats.bytes_up += bytes_up_;
    return stats;
  }

  const StrategyPlan &plan () const override { return workers_.front ()->engine ().plan (); }

  std::string description () const override
  {
    const auto count = [] (int n, const std::string &what) {
      return joined (n, " ", what, n == 1 ? "" : "s");
    };
    std::string devices;
    for (const auto &worker : workers_)
      devices.append (devices.empty () ? "" : ",").append (std::to_string (worker->device ()));
    return "frames in " + count (partition_.groups, "task") + " of at most "
           + count (partition_.bins, "bin")
           + (partition_.strips > 1 ? ", each in " + count (partition_.strips, "strip") + " of rows"
                                    : "")
           + ", for " + (workers_.size () == 1 ? "device " : "devices ") + devices + "; "
           + (partition_.resident ? "at most " + count (int (partition_.frames), "tensor")
                                        + ", in shards that stay there"
                                  : "in rounds, tensors in host memory")
           + (peers_copy () ? "; pictures go up once, and from device to device" : "");
  }

private:
  /// Returns the options of the engines that compute parts of frames, one for each device.
  static Options for_parts (Options options)
  {
    options.async_depth = kPartsAtOnce;
    if (options.download == Download::eager)
      options.download = Download::lazy;  // parts are copied to a HostDestination instead
    options.waits_for_tensors = true;     // until earlier parts are done
    options.on_long_wait = nullptr;
    options.on_failure = nullptr;
    options.tuning_time = 0;  // use the built-in strategy, whose memory was counted
    return options;
  }

  /// Returns whether each picture is uploaded to one device, from which the other devices copy it.
  bool peers_copy () const { return partition_.resident && functions_.peers_copy (shape_); }

  /// Copies a frame's pixels to a staging buffer, because devices read them after submit ().
  Expected<> stage (PendingFrame &pending)
  {
    const PicturePlanes planes (pending.frame.image, shape_.width, shape_.height);
    pending.staging = TRY (staging_->take (planes.size (), [&planes] (const Available &available) {
      return no_memory_text ("a frame's pixels", planes.size (), available) + ": lower async-depth";
    }));
    (void) planes.stage (pending.staging.get ());
    pending.frame.image = planes.image_in (pending.staging.get ());
    pending.frame.location = PixelLocation::pinned;
    bytes_staged_ += planes.bytes ();
    return {};
  }

  const Shape shape_;
  const Partition partition_;
  const DeviceFunctions functions_;
  const std::shared_ptr<RecycledMemory> staging_;  // buffers for pixels in unpinned memory
  std::shared_ptr<TensorPool> pool_;
  FrameQueue queue_;
  std::vector<std::unique_ptr<DeviceWorker>> workers_;
  std::atomic<guint64> bytes_up_ = 0, bytes_staged_ = 0;  // bytes that the devices do not count
};

}  // namespace

Expected<std::unique_ptr<Engine>> make_sharded_engine (const Shape &shape, const Options &options,
                                                       std::vector<ShardDevice> devices,
                                                       const DeviceFunctions &functions,
                                                       const PixelFormat &format)
{
  const auto picture = [&] (int rows) {
    return most_picture_bytes (format, shape.width, rows, shape.height);
  };
  const auto overhead = [&] (int bins, int rows) {
    return overhead_of (shape_of_part (shape, bins, rows), options, functions.device,
                        picture (rows), kPartsAtOnce);
  };
  const Partition partition = TRY (
      divide (shape, devices, options, overhead,
              functions.peers_copy (shape) ? options.async_depth * picture (shape.height) : 0));
  auto engine = std::make_unique<ShardedEngine> (shape, options, partition, functions);
  TRY (engine->open (options, devices));
  return engine;
}

}  // namespace integralhist
