// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bench.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "clock.hpp"
#if INTHIST_CUDA
#include "cuda/raii.hpp"
#endif

namespace inthist {
namespace {

struct Free {
  void operator() (void *memory) const { std::free (memory); }
};
using Memory = std::unique_ptr<std::uint8_t, Free>;

Outcome<Memory> allocate (std::size_t bytes)
{
  Memory memory (static_cast<std::uint8_t *> (std::aligned_alloc (256, (bytes + 256) / 256 * 256)));
  if (!memory)
    return failure ("no memory for " + std::to_string (bytes) + " bytes");
  return memory;
}

/// Makes pixels of every bin (u8), or zeros. Large frames take a while, so this can be stopped.
Outcome<Memory> pattern (const Shape &shape, std::size_t stride, const std::atomic<bool> *cancelled)
{
  Memory pixels = TRY (allocate (stride * shape.height));
  for (int y = 0; y < shape.height; y++) {
    if (is_set (cancelled))
      return stopped ();
    std::uint8_t *const row = pixels.get () + y * stride;
    if (shape.pixel != Type::u8) {
      std::memset (row, 0, stride);
      continue;
    }
    const int step = 7 % shape.bins;
    int value = int ((y * (stride * 7 + 13)) % shape.bins);
    for (std::size_t x = 0; x < stride; x++) {
      row[x] = std::uint8_t (value);
      value += step;
      value -= value >= shape.bins ? shape.bins : 0;
    }
  }
  return pixels;
}

/// Runs one frame after another, each on all cores, as the engine does.
class CpuBench final : public Bench {
public:
  static Outcome<std::unique_ptr<Bench>> make (const Shape &shape,
                                               const std::atomic<bool> *cancelled)
  {
    auto bench = std::make_unique<CpuBench> ();
    bench->stride_ = binned_stride (shape);
    bench->image_ = TRY (pattern (shape, bench->stride_, cancelled));
    return bench;
  }

  Outcome<> prepare (Job &job, std::size_t workspace_bytes) override
  {
    if (workspace_bytes > workspace_bytes_ || !workspace_) {
      workspace_ = nullptr;
      workspace_ = TRY (allocate (workspace_bytes));
      workspace_bytes_ = workspace_bytes;
    }
    job.pixels = { image_.get (), stride_ };
    job.workspace = workspace_.get ();
    return {};
  }

  Outcome<double> time (int n, const Job &job, const Strategy &strategy) override
  {
    const auto start = Clock::now ();
    for (int i = 0; i < n; i++) {
      if (is_set (job.cancelled))
        return stopped ();
      if (const int error = inthist::run (strategy, job); error != 0)
        return failure (std::string (strategy.name) + ": "
                            + std::generic_category ().message (error),
                        error == ECANCELED);
    }
    return seconds_since (start);
  }

  bool first_run_counts () const override { return true; }

private:
  std::size_t stride_ = 0, workspace_bytes_ = 0;
  Memory image_, workspace_;
};

#if INTHIST_CUDA
/// Runs frames in turn on some streams, each with a workspace of its own.
class CudaBench final : public Bench {
public:
  static Outcome<std::unique_ptr<Bench>> make (const Shape &shape, int slots,
                                               const std::atomic<bool> *cancelled)
  {
    auto bench = std::make_unique<CudaBench> ();
    bench->stride_ = binned_stride (shape);
    const std::size_t bytes = bench->stride_ * shape.height;
    const Memory image = TRY (pattern (shape, bench->stride_, cancelled));
    bench->start_ = TRY (cuda::make_event (cudaEventDefault));
    bench->stop_ = TRY (cuda::make_event (cudaEventDefault));
    bench->slots_ = std::vector<Slot> (slots);
    for (Slot &slot : bench->slots_) {
      slot.stream = TRY (cuda::make_stream ());
      slot.done = TRY (cuda::make_event (cudaEventDisableTiming));
    }
    bench->image_ = TRY (cuda::make_device_memory (bytes));
    constexpr std::size_t kPiece = 32 << 20;  // bytes, of a few milliseconds
    for (std::size_t at = 0; at < bytes; at += kPiece) {
      if (is_set (cancelled))
        return stopped ();
      TRY (cuda::check (cudaMemcpyAsync (bench->image_.get () + at, image.get () + at,
                                         std::min (kPiece, bytes - at), cudaMemcpyHostToDevice,
                                         bench->first ())));
    }
    TRY (cuda::check (cudaStreamSynchronize (bench->first ())));
    return bench;
  }

  Outcome<> prepare (Job &job, std::size_t workspace_bytes) override
  {
    for (Slot &slot : slots_) {
      TRY (slot.workspace.reserve (workspace_bytes));
      slot.workspace_kept = false;
    }
    job.pixels = { reinterpret_cast<std::uint8_t *> (image_.get ()), stride_ };
    return {};
  }

  /// Waits for what was launched before a stop, as it uses our memory.
  Outcome<double> time (int n, const Job &job, const Strategy &strategy) override
  {
    TRY (cuda::check (cudaEventRecord (start_.get (), first ())));
    for (Slot &slot : slots_)
      TRY (cuda::check (cudaStreamWaitEvent (slot.stream.get (), start_.get (), 0)));
    bool all = true;
    for (int i = 0; i < n && all; i++) {
      Slot &slot = slots_[i % slots_.size ()];
      Job frame = job;
      frame.stream = slot.stream.get ();
      frame.workspace = slot.workspace.get ();
      frame.workspace_kept = std::exchange (slot.workspace_kept, false);
      TRY (cuda::check (inthist::run (strategy, frame)));
      slot.workspace_kept = true;
      all = !is_set (job.cancelled);
    }
    for (Slot &slot : slots_) {
      TRY (cuda::check (cudaEventRecord (slot.done.get (), slot.stream.get ())));
      TRY (cuda::check (cudaStreamWaitEvent (first (), slot.done.get (), 0)));
    }
    TRY (cuda::check (cudaEventRecord (stop_.get (), first ())));
    TRY (cuda::check (cudaEventSynchronize (stop_.get ())));
    if (!all)
      return stopped ();
    float milliseconds;
    TRY (cuda::check (cudaEventElapsedTime (&milliseconds, start_.get (), stop_.get ())));
    return milliseconds / 1e3;
  }

  /// Returns false, for the first run loads the kernels.
  bool first_run_counts () const override { return false; }

private:
  struct Slot {
    cuda::StreamOwner stream;
    cuda::EventOwner done;
    cuda::GrowingDeviceMemory workspace;
    bool workspace_kept = false;  // by the last run since prepare ()
  };

  Stream first () const { return slots_.front ().stream.get (); }

  std::size_t stride_ = 0;
  cuda::EventOwner start_, stop_;
  cuda::DeviceMemory image_;
  std::vector<Slot> slots_;
};
#endif

}  // namespace

#if INTHIST_CUDA
Failure::Failure (const cuda::CudaError &error) : text (error.what ()) {}
#endif

Outcome<std::unique_ptr<Bench>> make_bench ([[maybe_unused]] Device device, const Shape &shape,
                                            [[maybe_unused]] int slots,
                                            const std::atomic<bool> *cancelled)
{
#if INTHIST_CUDA
  if (device == Device::cuda)
    return CudaBench::make (shape, slots, cancelled);
#endif
  return CpuBench::make (shape, cancelled);
}

}  // namespace inthist
