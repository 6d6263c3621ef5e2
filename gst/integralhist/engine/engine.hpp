// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Engines turn video frames into tensors: integral histograms in memory. The C API and the producer
// element use them. No .hpp file of this folder is installed.
//
//   Engine::submit (frame) ──► Tensor, returned at once; the engine fills it later
//   Tensor::wait, ask, host     wait until that is done; submit waits for a slot and a tensor
//
// An engine has `async-depth` slots. A slot is the memory for one frame in flight besides the
// frame's tensor. A tensor returns to a pool when its last consumer drops it, and may outlive the
// engine. A PartEngine also computes some of a frame's bins or rows. A sharded engine distributes
// frames over several part engines. If a frame does not fit one device, the engine computes the
// frame in rounds. Failures are returned as an Error (error.hpp).
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "strategy_choice.hpp"
#include "tensor.hpp"

namespace integralhist {

class CudaContext;

/// The memory that has the pixels of a frame. Engine::submit () copies pixels in host memory.
/// Pixels in pinned host memory or device memory are read later, in place.
enum class PixelLocation { host, pinned, device };

struct Frame {
  Image image;
  PixelLocation location = PixelLocation::host;
  // For pixels on a device: the CUDA stream that writes them; null if they are already written.
  Stream written_on = nullptr;
  // For pixels on a device: the CUDA context of their memory; null if it is the engine's.
  std::shared_ptr<CudaContext> context = nullptr;
  // For a summed-area table: the lookup table from this frame's pixel values to scores, which may
  // change without a new engine; null for the engine's.
  std::shared_ptr<const Lut> lut = nullptr;

  const Lut &lut_or (const Lut &engines) const { return lut ? *lut : engines; }
};

struct Duration {
  guint64 sum = 0, max = 0, count = 0;  // nanoseconds
  void add (guint64 nanoseconds) { add (Duration{ nanoseconds, nanoseconds, 1 }); }
  void add (const Duration &other)
  {
    sum += other.sum;
    max = std::max (max, other.max);
    count += other.count;
  }
};

/// The Stats::compute_mode_reason of engines that compute all frames at once, or all on demand.
inline constexpr const char *kModeSet = "set, or needed by other settings";

struct Stats {
  const char *backend = "none";
  int device = -1;
  guint64 frames = 0, in_flight = 0;
  guint64 bytes_up = 0, bytes_down = 0;
  guint64 bytes_staged = 0;  // uploaded bytes that lay in unpinned host memory
  Duration upload, compute, download;
  const char *compute_mode = "eager";  // how the next frame is computed: "eager" or "on-demand"
  const char *compute_mode_reason = kModeSet;
  // Counts about frames that are computed on demand, when a consumer asks.
  guint64 pixel_answers = 0;    // queries answered from the pixels, without a tensor
  guint64 device_answers = 0;   // queries that a GPU answered about frames in host memory
  guint64 part_tensors = 0;     // number of computed tensors of regions of frames
  guint64 tensors = 0;          // number of computed tensors of whole frames
  guint64 bytes_on_demand = 0;  // bytes that frames use, or that are kept for later frames

  struct DeviceParts {
    int device;
    guint64 parts;
  };
  std::vector<DeviceParts> parts;  // number of frame parts that each device computed

  /// Adds another engine's statistics, except the counts about frames on demand.
  void add (const Stats &other)
  {
    device = std::max (device, other.device);
    for (const auto which : { &Stats::frames, &Stats::in_flight, &Stats::bytes_up,
                              &Stats::bytes_down, &Stats::bytes_staged })
      this->*which += other.*which;
    for (const auto which : { &Stats::upload, &Stats::compute, &Stats::download })
      (this->*which).add (other.*which);
    for (const auto &[id, n] : other.parts) {
      const auto same = std::ranges::find (parts, id, &DeviceParts::device);
      if (same != parts.end ())
        same->parts += n;
      else
        parts.push_back ({ id, n });
    }
  }
};

/// A frame's tensor, and a function that holds the frame's buffer, from Engine::submit ().
struct SubmittedFrame {
  std::shared_ptr<Tensor> tensor;
  /// Holds a reference to the frame's GstBuffer, so that no element writes to it before the engine
  /// has read the pixels. If `wait` is true, waits for the read instead, unless this thread is
  /// cancelled. To be called while the engine exists, before another element may write to the
  /// buffer.
  std::function<Expected<> (GstBuffer *, bool wait)> hold = [] (GstBuffer *, bool) {
    return Expected<> ();
  };
};

class Engine {
public:
  virtual ~Engine () = default;

  /// Returns a frame's tensor before it is computed, or Error::Kind::flushing if cancelled.
  virtual Expected<SubmittedFrame> submit (const Frame &frame) = 0;
  /// Waits until all submitted frames are computed or this thread is cancelled (cancel.hpp).
  /// Returns the first failure since the last call. A CUDA engine returns at once, because it
  /// reports failures with the next frame or with the tensor.
  virtual Expected<> finish () { return {}; }
  /// Returns whether a failure has ended the engine, which then computes no more frames.
  virtual bool has_failed () { return false; }
  /// Drops queued frames whose tensors no consumer holds, and calls the functions in the options no
  /// more. This is the last call before the engine is destroyed.
  virtual void abandon () {}
  virtual Stats stats () = 0;
  virtual const StrategyPlan &plan () const = 0;
  virtual std::string description () const { return plan ().description; }
};

}  // namespace integralhist
