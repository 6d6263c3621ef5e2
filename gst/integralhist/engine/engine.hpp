// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The engines behind the C API and the producer element: tensors with a fence, a pool of tensors,
// and engines that fill them. No .hpp file of this folder is installed.
//
//   Engine::submit (frame) ──► Tensor, returned at once; the engine fills it later
//   Tensor::wait, ask, host     wait for the fence; submit waits only for a slot and a tensor
//
// An engine has `async-depth` slots, one for each frame in flight. A tensor stays out of the pool
// while a consumer holds it; only a tensor may outlive its engine. A PartEngine also computes some
// of a frame's bins or rows. A sharded engine distributes frames over several part engines. If a
// frame does not fit one device, the engine computes it in rounds. Failures are returned as an
// Error (error.hpp).
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan.hpp"
#include "tensor.hpp"

namespace integralhist {

class CudaContext;

/// The memory of a frame's pixels. Pixels in host memory are copied before submit returns. Pinned
/// host memory and device memory are read later, in place.
enum class PixelLocation { host, pinned, device };

struct Frame {
  inthist::Image image;
  PixelLocation location = PixelLocation::host;
  // For pixels on a device: the stream that writes them; null if they are already written.
  inthist::Stream producer = nullptr;
  // For pixels on a device: the context of their memory; null if it is the engine's.
  std::shared_ptr<CudaContext> context = nullptr;
  // For a summed-area table: the scores of this frame's values; null for the engine's LUT. Each
  // frame may have its own scores without a new engine.
  std::shared_ptr<const inthist::Lut> lut = nullptr;

  const inthist::Lut &lut_or (const inthist::Lut &engines) const { return lut ? *lut : engines; }
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

/// The reason for a schedule (at once or on demand) that never changes.
inline constexpr const char *kScheduleSet = "set, or needed by other settings";

struct Stats {
  const char *backend = "none";
  int device = -1;
  guint64 frames = 0, in_flight = 0;
  guint64 bytes_up = 0, bytes_down = 0;
  guint64 bytes_staged = 0;  // part of bytes_up that came from unpinned memory
  Duration upload, compute, download;
  const char *schedule = "eager";  // how the next frame is computed: "eager" or "on-demand"
  const char *schedule_reason = kScheduleSet;
  // Counts about frames that are computed on demand.
  guint64 pixel_answers = 0;    // queries answered from the pixels, without a tensor
  guint64 device_answers = 0;   // queries that a GPU answered about frames in host memory
  guint64 part_tensors = 0;     // tensors computed of a region of a frame
  guint64 tensors = 0;          // tensors computed of a whole frame
  guint64 bytes_on_demand = 0;  // memory that frames use, or keep for later ones

  struct DeviceParts {
    int device;
    guint64 parts;
  };
  std::vector<DeviceParts> parts;  // parts that each device of a sharded engine computed

  /// Adds the counts of another engine on the same devices. Does not add those of frames on demand.
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

/// A frame that an engine has accepted: its tensor, and a hold on its buffer.
struct SubmittedFrame {
  std::shared_ptr<Tensor> tensor;
  /// Lets the engine hold the frame's buffer, and so make it unwritable, until its pixels have been
  /// read. If `wait` is true, waits until then, unless this thread is cancelled. Call this while
  /// the engine lives, before another element may write to the buffer.
  std::function<Expected<> (GstBuffer *, bool wait)> hold = [] (GstBuffer *, bool) {
    return Expected<> ();
  };
};

class Engine {
public:
  virtual ~Engine () = default;

  /// Returns the frame's tensor before it is computed. If cancelled, returns an
  /// Error::Kind::flushing.
  virtual Expected<SubmittedFrame> submit (const Frame &frame) = 0;
  /// Waits until all frames are computed, and returns the first failure since the last call. If
  /// this thread is cancelled (cancel.hpp), does not wait. A CUDA engine returns at once: it
  /// reports failures with the next frame, or with the tensor.
  virtual Expected<> finish () { return {}; }
  /// Returns whether a failure ended the engine: it computes no more frames.
  virtual bool has_failed () { return false; }
  /// Drops frames whose tensors no consumer holds. From then on calls none of the options'
  /// functions. This is the last call before the engine is dropped.
  virtual void abandon () {}
  virtual Stats stats () = 0;
  virtual const Plan &plan () const = 0;
  /// Returns a text for the log that says how frames are computed.
  virtual std::string description () const { return plan ().description; }
};

}  // namespace integralhist
