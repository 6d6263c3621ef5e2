// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <gst/integralhist/engine/device_feature_image.hpp>
#include <gst/integralhist/engine/engine.hpp>
#include <gst/integralhist/engine/strategy_choice.hpp>
#include <gst/integralhist/memory/recycled_memory.hpp>

#include "whole_tensors.hpp"

namespace integralhist {

/// State and statistics that an on-demand engine's tensors share, and keep after the engine's end.
class OnDemandShared {
public:
  /// `whole_tensors` computes whole tensors from kept pixel values. If it is null, or fails, the
  /// thread that asks computes them. `assist` is an optional GPU that answers many queries at once.
  OnDemandShared (const Shape &shape, const Lut &lut, const StrategyPlan &plan,
                  std::shared_ptr<WholeTensors> whole_tensors, std::optional<GpuAssist> assist)
      : shape (shape), lut (lut), plan (plan), whole_tensors (std::move (whole_tensors)),
        assist (std::move (assist))
  {
  }

  const Shape shape;
  const Lut lut;  // from kept values to bins; for a summed-area table, default scores
  const StrategyPlan plan;
  const std::shared_ptr<WholeTensors> whole_tensors;
  const std::optional<GpuAssist> assist;
  const Lut identity = inthist::uniform_lut (256);
  const std::shared_ptr<RecycledMemory> memory = std::make_shared<RecycledMemory> ();

  std::atomic<guint64> pixel_answers = 0, device_answers = 0, part_tensors = 0,
                       tensors = 0;           // as in Stats
  std::atomic<bool> assist_failed = false;    // if true, the assisting GPU is not used again
  std::atomic<bool> assist_was_used = false;  // for the last frame
  std::atomic<unsigned> computing = 0;        // tensors, now
  std::atomic<guint64> value_bytes = 0;       // of frames that are kept

  /// Returns the LUT for copying a frame's pixel values into memory: for a summed-area table it
  /// maps values to scores, and for histograms it is the identity.
  const Lut &copy_lut_of (const Frame &frame) const
  {
    return shape.content == Content::sums ? frame.lut_or (lut) : identity;
  }

  /// Allocates host memory for a frame; if a GPU assists, memory that the GPU reads without a copy.
  Expected<HostMemory> allocate (std::size_t bytes, const NoMemoryMessage &message) const
  {
    return (assist ? assist->allocate : AllocateHost (allocate_on_host)) (bytes, message);
  }

  /// Returns the bytes that copied frames and host tensors use or keep for reuse.
  guint64 bytes () const { return value_bytes + memory->bytes (); }

  void count_tensor (bool whole) { (whole ? tensors : part_tensors)++; }
  void add_time (guint64 nanoseconds)
  {
    const std::lock_guard lock (mutex_);
    time_.add (nanoseconds);
  }
  Duration time ()
  {
    const std::lock_guard lock (mutex_);
    return time_;
  }

  /// How many of the last frames, in a row, had queries for nearly all of the frame (`whole`), or
  /// for less (`less`), as QueryOptimizer::whole_is_better () says. One of the two numbers is 0.
  struct Streak {
    unsigned whole = 0, less = 0;
  };
  void note_released (bool whole)
  {
    const std::lock_guard lock (mutex_);
    streak_ = whole ? Streak{ streak_.whole + 1, 0 } : Streak{ 0, streak_.less + 1 };
  }
  Streak streak ()
  {
    const std::lock_guard lock (mutex_);
    return streak_;
  }

private:
  std::mutex mutex_;  // guards all below
  Streak streak_;
  Duration time_;
};

}  // namespace integralhist
