// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame's tensor that is not computed before somebody asks. It keeps the frame's values, a byte
// a pixel, and answers as Demand says (demand.hpp). Of a feature that costs more than a copy, the
// CPU keeps the picture instead, and makes the values of what is asked, tile by tile. Of a table it
// keeps their scores: what is asked later is of the LUT that the frame came with.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "demand.hpp"
#include <gst/integralhist/engine/device_values.hpp>
#include <gst/integralhist/engine/engine.hpp>
#include <gst/integralhist/engine/engine_tensor.hpp>
#include <gst/integralhist/memory/host_memory.hpp>
#include <gst/integralhist/engine/plan.hpp>
#include <gst/integralhist/memory/recycled_memory.hpp>
#include <gst/integralhist/engine/whole_tensor_engine.hpp>

namespace integralhist {

/// What the tensors of an engine share, and what the engine hears of them. It outlives the engine
/// while tensors are out.
class OnDemandContext {
public:
  /// `behind` computes whole frames, of what is kept; where it is null, or fails, who asks does.
  /// `beside` is a GPU for many questions at once, if there is one.
  OnDemandContext (const inthist::Shape &shape, const inthist::Lut &lut, const Plan &plan,
                   std::shared_ptr<WholeTensorEngine> whole_engine, std::optional<GpuAssist> assist)
      : shape (shape), lut (lut), plan (plan), whole_engine (std::move (whole_engine)),
        assist (std::move (assist))
  {
  }

  const inthist::Shape shape;
  const inthist::Lut lut;  // from what is kept to bins; of a table, its scores by default
  const Plan plan;
  const std::shared_ptr<WholeTensorEngine> whole_engine;
  const std::optional<GpuAssist> assist;
  const inthist::Lut identity = inthist::uniform_lut (256);
  const std::shared_ptr<RecycledMemory> memory = std::make_shared<RecycledMemory> ();

  std::atomic<guint64> pixel_answers = 0, device_answers = 0, part_tensors = 0,
                       tensors = 0;           // as in Stats
  std::atomic<bool> assist_failed = false;    // once, and it is left alone from then on
  std::atomic<bool> assist_was_used = false;  // for the last frame
  std::atomic<bool> values_wanted = false;    // of frames in a GPU's memory
  std::atomic<unsigned> computing = 0;        // tensors, now
  std::atomic<guint64> value_bytes = 0;       // of frames that are kept

  /// Returns the LUT that makes the bytes which are kept of a frame: values, or a table's scores.
  const inthist::Lut &kept_by (const Frame &frame) const
  {
    return shape.content == inthist::Content::powers ? frame.lut_or (lut) : identity;
  }

  /// Allocates the memory of a frame, which a GPU beside reads in place.
  Expected<HostMemory> allocate (std::size_t bytes, const NoMemoryMessage &message,
                                 const Cancelled &cancelled) const
  {
    return (assist ? assist->allocate : AllocateHost (allocate_on_host)) (bytes, message,
                                                                          cancelled);
  }

  /// Makes the values of a frame in the memory of the GPU beside.
  Expected<std::unique_ptr<DeviceValues>> values_for (const Frame &frame);
  /// Takes values that nobody asks any more, for another frame.
  void give_back (std::unique_ptr<DeviceValues> values);
  /// Frees values, once the GPU has read the frame.
  void drop (std::unique_ptr<DeviceValues> values);

  /// Returns the memory that frames hold, or keep for the next, but for tensors on a device.
  guint64 bytes () const { return value_bytes + memory->bytes (); }

  /// Counts a tensor that was computed.
  void count (bool whole) { (whole ? tensors : part_tensors)++; }
  /// Adds the time that one took.
  void add_time (guint64 nanoseconds);
  Duration time ();

  /// How many frames in a row, of those that nobody holds any more, were asked for (nearly) all, or
  /// for less (Demand::is_for_all). One of the two is 0.
  struct Streak {
    unsigned all = 0, less = 0;
  };
  void note_released (bool for_all);
  Streak streak ();

private:
  std::mutex mutex_;  // guards all below
  Streak streak_;
  Duration time_;
  std::vector<std::unique_ptr<DeviceValues>> free_values_;
};

/// What all such tensors are, wherever the values lie.
class OnDemandTensor : public EngineTensor {
public:
  Expected<> wait (GstClockTime) override { return {}; }
  void released () override;

protected:
  /// A tensor of a part of the frame.
  struct Box {
    Region region;
    std::shared_ptr<Tensor> tensor;
  };

  OnDemandTensor (std::shared_ptr<OnDemandContext> frames, const AnswerCost &cost)
      : EngineTensor (frames->shape), frames_ (std::move (frames)), demand_ (shape, cost)
  {
  }

  /// Computes the tensor of a part of the frame.
  virtual Expected<std::shared_ptr<Tensor>> compute (const Region &region) = 0;

  bool is_whole (const Region &region) const
  {
    return region.width == shape.width && region.height == shape.height;
  }
  /// Returns the shape of a part's tensor.
  inthist::Shape shape_of (const Region &region) const;
  /// Locks, and waits while another thread computes; a flush or a stop ends that.
  Expected<std::unique_lock<std::mutex>> lock ();
  /// Calls `compute` without the lock; others wait meanwhile.
  template <class Compute>
  auto unlocked (std::unique_lock<std::mutex> &lock, Compute &&compute)
  {
    computing_ = true;
    lock.unlock ();
    auto computed = compute ();
    lock.lock ();
    computing_ = false;
    changed_.notify_all ();
    return computed;
  }
  /// Returns the tensor of a part that `demand_` has named. Computes it, if it must.
  Expected<std::shared_ptr<const Box>> box_of (std::unique_lock<std::mutex> &lock,
                                               const Region &part);
  /// Calls `ask` with a box's tensor, and with the query moved there.
  template <class Ask>
  Expected<> ask_box (const Box &box, const Query &query, Ask &&ask)
  {
    std::unique_ptr<Region[]> list;
    const Query there =
        is_whole (box.region) ? query : TRY (moved (query, box.region, shape, list));
    return ask (*box.tensor, std::span (&there, 1));
  }

  const std::shared_ptr<OnDemandContext> frames_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool computing_ = false;  // without the lock; nobody touches the rest meanwhile
  std::shared_ptr<const Box> box_;
  Demand demand_;

private:
  static Expected<Query> moved (Query query, const Region &to, const inthist::Shape &frame,
                                std::unique_ptr<Region[]> &list);
};

/// Values in host memory, of which the CPU computes parts.
class HostOnDemandTensor final : public OnDemandTensor {
public:
  ~HostOnDemandTensor () override
  {
    frames_->value_bytes -= value_bytes (shape) + picture_bytes_ + device_bytes_;
  }
  /// Allocates the memory of the values; `alive` other tensors exist.
  static Expected<std::unique_ptr<EngineTensor>>
  create (const std::shared_ptr<OnDemandContext> &frames, unsigned alive,
          const Cancelled &cancelled);

  /// Copies the frame's values, or its picture. The engine calls this before anybody else has the
  /// tensor.
  Expected<> keep (const Frame &frame);

  Expected<> ask (std::span<const Query> queries) override;
  Expected<> ask_cells (std::span<const CellsQuery> queries) override;
  Expected<DeviceValues *> prepare (std::span<const Region> regions) override;
  Expected<> ask_on (inthist::Stream stream, std::span<const Query> queries) override;
  Expected<const void *> host () override;
  CudaView cuda () override;
  Expected<std::span<const Shard>> shards () override;
  Expected<> add_reader (inthist::Stream stream) override;
  void add_all_readers () override;
  Expected<> wait_on (inthist::Stream stream) override;
  void released () override;

private:
  static constexpr int kTileColumns = 64, kTileRows = 16;

  HostOnDemandTensor (std::shared_ptr<OnDemandContext> frames, HostMemory values,
                      Cancelled cancelled)
      : OnDemandTensor (std::move (frames), kCpuCost), values_ (std::move (values)),
        cancelled_ (std::move (cancelled))
  {
    frames_->value_bytes += value_bytes (shape);
  }
  static std::size_t value_bytes (const inthist::Shape &shape)
  {
    return std::size_t (shape.width) * shape.height * inthist::bytes_of (shape.pixel);
  }

  Expected<> keep_picture (const Frame &frame);
  /// Calls `see` with the number of each tile that n regions are in, `region (i)` being within the
  /// frame, and that has no values yet.
  template <class RegionOf, class See>
  void each_missing_tile (int n, RegionOf &&region, See &&see) const;
  /// Makes the values of these tiles. Nobody else may do so meanwhile.
  template <class RegionOf>
  Expected<> make_values (int n, RegionOf &&region);
  /// Does so without the lock, if some are missing.
  template <class RegionOf>
  Expected<> need_values (std::unique_lock<std::mutex> &lock, int n, RegionOf &&region);
  /// Returns the values from a region's first pixel on, and their bins. They must have been made.
  inthist::Binning binning (const Region &region) const;
  Expected<bool> prepare_on_device (std::span<const Region> regions);
  Expected<> answer_from_pixels (std::unique_lock<std::mutex> locked, const Query &query);
  Expected<> ask_one (const Query &query);
  Expected<std::shared_ptr<Tensor>> compute (const Region &region) override;
  Expected<std::shared_ptr<Tensor>> whole_behind (std::unique_lock<std::mutex> &lock);
  Expected<std::shared_ptr<Tensor>> try_behind (std::unique_lock<std::mutex> &lock);
  Expected<std::shared_ptr<Tensor>> on_gpu ();

  const HostMemory values_;  // or words of WeightedPixel; rows lie one behind the other
  const Cancelled cancelled_;
  HostMemory picture_;
  std::size_t picture_bytes_ = 0;
  std::optional<inthist::Binning> source_;  // the picture that values are made from, if they are
  std::vector<bool> made_;                  // by tile, row by row; who computes has it
  std::shared_ptr<Tensor> whole_;           // of the engine behind; guarded by mutex_
  std::size_t device_bytes_ = 0;
  std::unique_ptr<DeviceValues> device_values_;  // once they were wanted
  bool on_device_ = false;                       // this frame's are there; guarded by mutex_
};

}  // namespace integralhist
