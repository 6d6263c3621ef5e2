// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tuner.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <stdexcept>

#include <tbb/task_arena.h>

#if INTHIST_CUDA
#include "cuda/raii.hpp"
#endif

namespace inthist {
namespace {

using Clock = std::chrono::steady_clock;

double
seconds_since (Clock::time_point start)
{
  return std::chrono::duration<double> (Clock::now () - start).count ();
}

/// Where candidates run: memory of the device, and how to time a number of frames. Errors are thrown.
class Bench {
public:
  virtual ~Bench () = default;
  /// Gives the job what it lacks: pixels, and workspaces of so many bytes.
  virtual void prepare (Job &job, std::size_t workspace_bytes) = 0;
  /// Seconds that `n` frames take.
  virtual double time (int n, const Job &job, const Strategy &strategy) = 0;
};

/// Rows of a pattern that has every bin, and for types other than u8 small numbers.
std::vector<std::uint8_t>
pattern (const Shape &shape, std::size_t stride)
{
  std::vector<std::uint8_t> pixels (stride * shape.height);
  if (shape.pixel == Type::u8)
    for (std::size_t i = 0; i < pixels.size (); i++)
      pixels[i] = std::uint8_t ((i * 7 + i / stride * 13) % shape.bins);
  return pixels;
}

std::size_t
stride_of (const Shape &shape)
{
  return shape.pixel == Type::u8 ? bin_stride (shape.width) : std::size_t (shape.width) * bytes_of (shape.pixel);
}

/// One frame after another, each on all cores, as the engine has it.
class CpuBench final : public Bench {
public:
  explicit CpuBench (const Shape &shape) : stride_ (stride_of (shape)), image_ (allocate (stride_ * shape.height))
  {
    std::ranges::copy (pattern (shape, stride_), static_cast<std::uint8_t *> (image_.get ()));
  }

  void prepare (Job &job, std::size_t workspace_bytes) override
  {
    workspace_ = allocate (workspace_bytes);
    job.pixels = { static_cast<std::uint8_t *> (image_.get ()), stride_ };
    job.workspace = workspace_.get ();
  }

  double time (int n, const Job &job, const Strategy &strategy) override
  {
    const auto start = Clock::now ();
    for (int i = 0; i < n; i++)
      if (inthist::run (strategy, job) != 0)
        throw std::runtime_error (strategy.name);
    return seconds_since (start);
  }

private:
  using Memory = std::unique_ptr<void, decltype (&std::free)>;

  static Memory allocate (std::size_t bytes)
  {
    Memory memory (std::aligned_alloc (256, (bytes + 256) / 256 * 256), std::free);
    if (!memory)
      throw std::bad_alloc ();
    return memory;
  }

  const std::size_t stride_;
  const Memory image_;
  Memory workspace_{ nullptr, std::free };
};

#if INTHIST_CUDA
/// Frames in turn on some streams, each with a workspace of its own.
class CudaBench final : public Bench {
public:
  CudaBench (const Shape &shape, int lanes) : stride_ (stride_of (shape)), start_ (timed_event ()), stop_ (timed_event ()), lanes_ (lanes)
  {
    const auto image = pattern (shape, stride_);
    image_ = cuda::make_device_memory (image.size ());
    for (Lane &lane : lanes_) {
      lane.stream = cuda::make_stream ();
      lane.done = cuda::make_event (cudaEventDisableTiming);
    }
    cuda::check (cudaMemcpyAsync (image_.get (), image.data (), image.size (), cudaMemcpyHostToDevice, first ()));
    cuda::check (cudaStreamSynchronize (first ()));
  }

  /// Workspaces are kept while they are large enough.
  void prepare (Job &job, std::size_t workspace_bytes) override
  {
    for (Lane &lane : lanes_)
      if (workspace_bytes > lane.workspace_bytes || !lane.workspace) {
        lane.workspace = nullptr;
        lane.workspace_bytes = 0;
        lane.workspace = cuda::make_device_memory (std::max<std::size_t> (workspace_bytes, 1));
        lane.workspace_bytes = workspace_bytes;
      }
    job.pixels = { reinterpret_cast<std::uint8_t *> (image_.get ()), stride_ };
  }

  double time (int n, const Job &job, const Strategy &strategy) override
  {
    cuda::check (cudaEventRecord (start_.get (), first ()));
    for (Lane &lane : lanes_)
      cuda::check (cudaStreamWaitEvent (lane.stream.get (), start_.get (), 0));
    for (int i = 0; i < n; i++) {
      Lane &lane = lanes_[i % lanes_.size ()];
      Job frame = job;
      frame.stream = lane.stream.get ();
      frame.workspace = lane.workspace.get ();
      cuda::check (inthist::run (strategy, frame));
    }
    for (Lane &lane : lanes_) {
      cuda::check (cudaEventRecord (lane.done.get (), lane.stream.get ()));
      cuda::check (cudaStreamWaitEvent (first (), lane.done.get (), 0));
    }
    cuda::check (cudaEventRecord (stop_.get (), first ()));
    cuda::check (cudaEventSynchronize (stop_.get ()));
    float milliseconds;
    cuda::check (cudaEventElapsedTime (&milliseconds, start_.get (), stop_.get ()));
    return milliseconds / 1e3;
  }

private:
  struct Lane {
    cuda::StreamOwner stream;
    cuda::EventOwner done;
    cuda::DeviceMemory workspace;
    std::size_t workspace_bytes = 0;
  };

  static cuda::EventOwner timed_event () { return cuda::make_event (cudaEventDefault); }
  Stream first () const { return lanes_.front ().stream.get (); }

  const std::size_t stride_;
  const cuda::EventOwner start_, stop_;
  cuda::DeviceMemory image_;
  std::vector<Lane> lanes_;
};
#endif

std::unique_ptr<Bench>
make_bench ([[maybe_unused]] Device device, const Shape &shape, [[maybe_unused]] int lanes)
{
#if INTHIST_CUDA
  if (device == Device::cuda)
    return std::make_unique<CudaBench> (shape, std::max (lanes, 1));
#endif
  return std::make_unique<CpuBench> (shape);
}

constexpr double kHopeless = 1.3;   // a first run that is so much slower than the best so far needs no second
constexpr double kClearly = 0.95;   // what the winner needs of the default's time
constexpr double kSample = 0.5e-3;  // seconds that a sample should take, for the clock to mean something

/// Seconds a frame: the best of three samples. Less is known where the time is `over`, or where the candidate is hopeless against `best`.
double
measure (Bench &bench, const Job &job, const Strategy &strategy, int lanes, double best, const auto &over)
{
  double seconds = bench.time (1, job, strategy);  // warms up
  if (!over ())
    seconds = bench.time (lanes, job, strategy) / lanes;
  if (best > 0 && seconds > kHopeless * best)
    return seconds;
  const int frames = std::clamp (int (kSample / std::max (seconds, 1e-9)), lanes, 50);
  for (int sample = 0; sample < 3 && !over (); sample++)
    seconds = std::min (seconds, bench.time (frames, job, strategy) / frames);
  return seconds;
}

}  // namespace

std::vector<Choice>
candidates (Device device, const Shape &shape)
{
  std::vector<Choice> list;
  static constexpr int kNone[] = { 0 };
  const auto values = [] (std::span<const int> offered) { return offered.empty () ? std::span<const int> (kNone) : offered; };
  for (const Strategy &strategy : strategies ())
    if (strategy.device == device && !strategy.slow)
      for (const int tile : values (strategy.tiles))
        for (const int threads : values (strategy.threads))
          if (accepts (strategy, shape, { tile, threads }))
            list.push_back ({ &strategy, { tile, threads } });
  return list;
}

Choice
default_choice (Device device, const Shape &shape)
{
  const auto list = candidates (device, shape);
  return list.empty () ? Choice{ .strategy = preferred_strategy (device, shape) } : list.front ();
}

Choice
tune (Device device, const Shape &shape, const Layout &layout, void *tensor, double budget, int lanes)
{
  const auto start = Clock::now ();
  const auto over = [&] { return seconds_since (start) > budget; };
  const auto bench = make_bench (device, shape, lanes);
  const auto run = [&] (const Choice &choice, double to_beat) {
    Job job = { .shape = shape, .layout = layout, .pixels = {}, .tensor = tensor, .tuning = choice.tuning };
    bench->prepare (job, choice.strategy->workspace_bytes (shape, choice.tuning));
    return measure (*bench, job, *choice.strategy, std::max (lanes, 1), to_beat, over);
  };
  std::vector<Choice> list = candidates (device, shape);
  Choice *best = nullptr;
  bool complete = true;
  for (Choice &choice : list) {
    complete = best == nullptr || !over ();
    if (!complete)
      break;
    try {
      choice.seconds = run (choice, best ? best->seconds : 0);
    } catch (const std::exception &) {
      continue;
    }
    if (!best || choice.seconds < best->seconds)
      best = &choice;
  }
  if (!best)
    throw std::runtime_error ("no strategy could be run");
  Choice &first = list.front ();
  if (best != &first && first.seconds > 0) {
    // the first may have run on clocks that were asleep
    for (Choice *choice : { &first, best })
      if (!over ())
        choice->seconds = run (*choice, 0);
    if (best->seconds > kClearly * first.seconds)
      best = &first;
  }
  best->complete = complete;
  return *best;
}

std::string
device_fingerprint ([[maybe_unused]] Device device)
{
#if INTHIST_CUDA
  if (device == Device::cuda) {
    int ordinal = 0, driver = 0;
    cudaDeviceProp properties;
    if (cudaGetDevice (&ordinal) != cudaSuccess || cudaGetDeviceProperties (&properties, ordinal) != cudaSuccess
        || cudaDriverGetVersion (&driver) != cudaSuccess) {
      cudaGetLastError ();  // nobody else's business
      return "";
    }
    // the CUDA version that the driver is for, and its own where the system tells: "... Kernel Module  580.159.04  ..."
    std::string text =
        std::string (properties.name) + ", " + std::to_string (properties.multiProcessorCount) + " SMs, driver " + std::to_string (driver);
    std::ifstream version ("/proc/driver/nvidia/version");
    for (std::string word; version >> word;)
      if (word.find ('.') != std::string::npos && word.find_first_not_of ("0123456789.") == std::string::npos) {
        text += " " + word;
        break;
      }
    return text;
  }
#endif
  std::ifstream info ("/proc/cpuinfo");
  for (std::string line; std::getline (info, line);)
    if (line.starts_with ("model name") && line.find (": ") != std::string::npos)
      return line.substr (line.find (": ") + 2) + ", " + std::to_string (tbb::this_task_arena::max_concurrency ()) + " threads";
  return "";
}

}  // namespace inthist
