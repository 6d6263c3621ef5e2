// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tuner.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <thread>

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
  virtual void *workspace (std::size_t bytes) = 0;
  /// Seconds that `frame` takes `n` times.
  virtual double time (int n, const Job &job, const Strategy &strategy) = 0;

  PixelPlane pixels;
  Stream stream = nullptr;
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

class CpuBench final : public Bench {
public:
  explicit CpuBench (const Shape &shape) : pattern_ (pattern (shape, stride_of (shape))), image_ (allocate (pattern_.size ()))
  {
    std::ranges::copy (pattern_, static_cast<std::uint8_t *> (image_.get ()));
    pixels = { static_cast<std::uint8_t *> (image_.get ()), stride_of (shape) };
  }

  void *workspace (std::size_t bytes) override
  {
    workspace_ = allocate (bytes);
    return workspace_.get ();
  }

  double time (int n, const Job &job, const Strategy &strategy) override
  {
    const auto start = Clock::now ();
    for (int i = 0; i < n; i++)
      strategy.run (job);
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

  const std::vector<std::uint8_t> pattern_;
  const Memory image_;
  Memory workspace_{ nullptr, std::free };
};

#if INTHIST_CUDA
class CudaBench final : public Bench {
public:
  explicit CudaBench (const Shape &shape)
      : stream_ (cuda::make_stream ()), start_ (cuda::make_event (cudaEventDefault)), stop_ (cuda::make_event (cudaEventDefault))
  {
    const std::size_t stride = stride_of (shape);
    const auto image = pattern (shape, stride);
    image_ = cuda::make_device_memory (image.size ());
    stream = stream_.get ();
    cuda::check (cudaMemcpyAsync (image_.get (), image.data (), image.size (), cudaMemcpyHostToDevice, stream));
    cuda::check (cudaStreamSynchronize (stream));
    pixels = { reinterpret_cast<std::uint8_t *> (image_.get ()), stride };
  }

  /// Kept while it is large enough.
  void *workspace (std::size_t bytes) override
  {
    if (bytes > workspace_bytes_ || !workspace_) {
      workspace_ = nullptr;
      workspace_bytes_ = 0;
      workspace_ = cuda::make_device_memory (std::max<std::size_t> (bytes, 1));
      workspace_bytes_ = bytes;
    }
    return workspace_.get ();
  }

  double time (int n, const Job &job, const Strategy &strategy) override
  {
    cuda::check (cudaEventRecord (start_.get (), stream));
    for (int i = 0; i < n; i++)
      cuda::check (strategy.run (job));
    cuda::check (cudaEventRecord (stop_.get (), stream));
    cuda::check (cudaEventSynchronize (stop_.get ()));
    float milliseconds;
    cuda::check (cudaEventElapsedTime (&milliseconds, start_.get (), stop_.get ()));
    return milliseconds / 1e3;
  }

private:
  const cuda::StreamOwner stream_;
  const cuda::EventOwner start_, stop_;
  cuda::DeviceMemory image_, workspace_;
  std::size_t workspace_bytes_ = 0;
};
#endif

std::unique_ptr<Bench>
make_bench (Device device, const Shape &shape)
{
#if INTHIST_CUDA
  if (device == Device::cuda)
    return std::make_unique<CudaBench> (shape);
#endif
  (void) device;
  return std::make_unique<CpuBench> (shape);
}

constexpr double kHopeless = 1.3;   // a first run that is so much slower than the best so far needs no second
constexpr double kClearly = 0.95;   // what the winner needs of the default's time
constexpr double kSample = 0.5e-3;  // seconds that a sample should take, for the clock to mean something

/// Seconds a frame: the best of three samples, or the first run where it is hopeless against `best`.
double
measure (Bench &bench, const Job &job, const Strategy &strategy, double best, const auto &over)
{
  bench.time (1, job, strategy);
  double seconds = bench.time (1, job, strategy);
  if (best > 0 && seconds > kHopeless * best)
    return seconds;
  const int frames = std::clamp (int (kSample / std::max (seconds, 1e-9)), 1, 50);
  for (int sample = 0; sample < 3 && !over (); sample++)
    seconds = std::min (seconds, bench.time (frames, job, strategy) / frames);
  return seconds;
}

}  // namespace

Choice
default_choice (Device device, const Shape &shape)
{
  const Strategy *strategy = preferred_strategy (device, shape);
  const auto first = [] (std::span<const int> list) { return list.empty () ? 0 : list.front (); };
  if (!strategy)
    return {};
  return { strategy, { first (strategy->tiles), first (strategy->threads) } };
}

std::vector<Choice>
candidates (Device device, const Shape &shape)
{
  std::vector<Choice> list;
  static constexpr int kNone[] = { 0 };
  const auto values = [] (std::span<const int> offered) { return offered.empty () ? std::span<const int> (kNone) : offered; };
  for (const Strategy &strategy : strategies ())
    if (strategy.device == device && !strategy.slow && accepts (strategy, shape))
      for (const int tile : values (strategy.tiles))
        for (const int threads : values (strategy.threads))
          list.push_back ({ &strategy, { tile, threads } });
  return list;
}

Choice
tune (Device device, const Shape &shape, const Layout &layout, void *tensor, double budget)
{
  const auto start = Clock::now ();
  const auto over = [&] { return seconds_since (start) > budget; };
  Choice first = default_choice (device, shape), best = first;
  if (!first.strategy || budget <= 0)
    return first;
  try {
    const auto bench = make_bench (device, shape);
    const auto run = [&] (const Choice &choice, double to_beat) {
      const std::size_t bytes = choice.strategy->workspace_bytes (shape, choice.tuning);
      const Job job = { shape, layout, bench->pixels, tensor, bench->workspace (bytes), bench->stream, choice.tuning };
      return measure (*bench, job, *choice.strategy, to_beat, over);
    };
    for (Choice choice : candidates (device, shape)) {
      const bool is_first = choice.strategy == first.strategy && choice.tuning == first.tuning;
      if (over () && !is_first)
        break;
      try {
        choice.seconds = run (choice, best.seconds);
      } catch (const std::exception &) {
        continue;
      }
      if (is_first)
        first = choice;
      if (best.seconds == 0 || choice.seconds < best.seconds)
        best = choice;
    }
    // the first ran on clocks that may have been asleep
    if (best.strategy != first.strategy || best.tuning != first.tuning) {
      first.seconds = run (first, 0);
      best.seconds = run (best, 0);
    }
  } catch (const std::exception &) {
    return first;
  }
  return first.seconds > 0 && best.seconds > kClearly * first.seconds ? first : best;
}

std::string
device_fingerprint (Device device)
{
#if INTHIST_CUDA
  if (device == Device::cuda) {
    int ordinal = 0, driver = 0;
    cudaDeviceProp properties;
    if (cudaGetDevice (&ordinal) != cudaSuccess || cudaGetDeviceProperties (&properties, ordinal) != cudaSuccess
        || cudaDriverGetVersion (&driver) != cudaSuccess)
      return "CUDA";
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
  (void) device;
  std::string model = "CPU";
  std::ifstream info ("/proc/cpuinfo");
  for (std::string line; std::getline (info, line);)
    if (line.starts_with ("model name") && line.find (": ") != std::string::npos) {
      model = line.substr (line.find (": ") + 2);
      break;
    }
  return model + ", " + std::to_string (std::thread::hardware_concurrency ()) + " threads";
}

}  // namespace inthist
