// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Large frames over several GPUs, as in Poostchi et al. (2017, section 4.6), and in rounds on one:
//
//   devices [--size WxH]... [--bins B]... [--devices N]... [--task-bins T]... [--seconds S]
//           [--csv FILE] [--no-cpu]
//
// For each size and number of bins it times the CPU on one thread and on all; each number of
// devices, with tensors that stay on them (resident) and with tensors that are downloaded to pinned
// host memory; and one device that may use no more memory than a tenth of the tensor (rounds).
// Pixels lie in pinned host memory and are uploaded for each frame. Frames follow each other as in
// a stream; a frame is done when its tensor is in the place that the row names. With --task-bins,
// tasks of that many bins are timed instead of rounds. "of links" is the download rate as a share
// of the rate of the devices' links when all download at once, measured just before, for as long.
#include <chrono>
#include <cstdio>
#include <deque>
#include <random>
#include <thread>

#include <tbb/global_control.h>

#include <gst/integralhist/host/cpu_engine.hpp>
#include <gst/integralhist/cuda/cuda_engine.hpp>
#include <gst/integralhist/factory/shard_devices.hpp>
#include <gst/integralhist/sharded/sharded_engine.hpp>
#include <kernels/clock.hpp>

#if INTHIST_CUDA
#include <kernels/cuda/raii.hpp>
#endif

#include "../support/must.hpp"
#include "../support/command_line.hpp"

using namespace integralhist;
using inthist::Clock, inthist::seconds_since, inthist::Content, inthist::Shape, inthist::Type;

namespace {

std::string no_room (const Available &)
{
  return "no memory for a picture";
}

class Table {
public:
  explicit Table (const char *csv) : csv_wanted_ (csv), csv_ (csv ? std::fopen (csv, "w") : nullptr)
  {
    std::printf ("%-18s %-16s %8s %12s %10s %9s\n", "tensor (u32)", "where", "devices", "frames/s",
                 "GB/s", "of links");
    if (csv_)
      std::fprintf (csv_, "width,height,bins,where,devices,frames_per_second\n");
  }
  ~Table ()
  {
    if (csv_)
      std::fclose (csv_);
  }

  void row (const Shape &shape, const char *where, int devices, double frames_per_second,
            double links = 0)
  {
    rows++;
    const double rate = frames_per_second * double (inthist::tensor_bytes (shape));
    const std::string tensor = std::to_string (shape.width) + "x" + std::to_string (shape.height)
                               + "x" + std::to_string (shape.bins);
    std::printf ("%-18s %-16s %8d %12.2f %10.1f", tensor.c_str (), where, devices,
                 frames_per_second, rate / 1e9);
    std::printf (links > 0 ? " %8.2f\n" : "\n", rate / links);
    std::fflush (stdout);
    if (csv_) {
      std::fprintf (csv_, "%d,%d,%d,\"%s\",%d,%g\n", shape.width, shape.height, shape.bins, where,
                    devices, frames_per_second);
      std::fflush (csv_);
    }
  }
  static void skip (const Shape &shape, const char *where, int devices, const char *why)
  {
    std::printf ("SKIP: %dx%dx%d %s %d: %s\n", shape.width, shape.height, shape.bins, where,
                 devices, why);
  }

  bool is_usable () const { return csv_ || !csv_wanted_; }
  int rows = 0;

private:
  const bool csv_wanted_;
  std::FILE *const csv_;
};

/// Frames a second of an engine that has warmed up, with so many tensors held; with `download` each
/// is waited for on the host.
double measure (Engine &engine, const Frame &frame, double seconds, bool download, unsigned held)
{
  std::deque<std::shared_ptr<Tensor>> tensors;
  const auto finish_oldest = [&] {
    if (download)
      must (tensors.front ()->host ());
    else
      must (tensors.front ()->wait (GST_CLOCK_TIME_NONE));
    tensors.pop_front ();
  };
  const auto pass = [&] {
    while (tensors.size () > held)
      finish_oldest ();
    tensors.push_back (must (engine.submit (frame)).tensor);
  };
  // warm up until all memory is allocated, also on the device that gets most of it
  for (unsigned i = 0; i < 1 + 4 * held; i++)
    pass ();
  while (!tensors.empty ())
    finish_oldest ();
  const auto start = Clock::now ();
  int n = 0;
  for (; n == 0 || seconds_since (start) < seconds; n++)
    pass ();
  while (!tensors.empty ())
    finish_oldest ();
  return n / seconds_since (start);
}

void run_cpu (Table &table, const Shape &shape, const Frame &frame, double seconds)
{
  const int all = int (std::thread::hardware_concurrency ());
  for (const int threads : { 1, all }) {
    const tbb::global_control limit (tbb::global_control::max_allowed_parallelism,
                                     std::size_t (threads));
    const char *const where = threads == 1 ? "CPU, 1 thread" : "CPU, all cores";
    try {
      Options options;
      options.tuning_time = 0;
      options.async_depth = options.max_tensors = 1;
      const auto engine =
          must (make_cpu_engine (shape, inthist::uniform_lut (shape.bins), options));
      table.row (shape, where, threads == 1 ? 1 : all, measure (*engine, frame, seconds, true, 0));
    } catch (const std::runtime_error &error) {
      table.skip (shape, where, threads, error.what ());
    }
  }
}

#if INTHIST_CUDA
using Contexts = std::vector<std::shared_ptr<CudaContext>>;

/// Bytes a second that the first n devices download together, on the average of as long a time as
/// frames are timed.
double links_of (const Contexts &contexts, int n, double seconds)
{
  using namespace inthist::cuda;
  constexpr std::size_t kBytes = std::size_t (1) << 30;
  struct Link {
    DeviceMemory from;
    PinnedMemory to;
    StreamOwner stream;
  };
  std::vector<Link> links;
  for (int d = 0; d < n; d++) {
    const CudaContext::Scope scope (*contexts[d]);
    links.push_back ({ must (make_device_memory (kBytes)), must (make_pinned_memory (kBytes)),
                       must (make_stream ()) });
  }
  const auto lap = [&] {
    for (int d = 0; d < n; d++) {
      const CudaContext::Scope scope (*contexts[d]);
      must (check (cudaMemcpyAsync (links[d].to.get (), links[d].from.get (), kBytes,
                                    cudaMemcpyDeviceToHost, links[d].stream.get ())));
    }
    for (int d = 0; d < n; d++) {
      const CudaContext::Scope scope (*contexts[d]);
      must (check (cudaStreamSynchronize (links[d].stream.get ())));
    }
  };
  lap ();
  const auto start = Clock::now ();
  int laps = 0;
  for (; laps == 0 || seconds_since (start) < seconds; laps++)
    lap ();
  const double rate = double (n) * kBytes * laps / seconds_since (start);
  for (int d = 0; d < n; d++) {
    const CudaContext::Scope scope (*contexts[d]);
    links[d] = {};
  }
  return rate;
}

void run_devices (Table &table, const Shape &shape, const Frame &frame, const Contexts &contexts,
                  int n, const std::vector<int> &task_bins, double seconds)
{
  const std::size_t bytes = inthist::tensor_bytes (shape);
  const inthist::Lut lut = inthist::uniform_lut (shape.bins);
  const auto run = [&] (const char *where, Options options, double links) {
    try {
      std::vector<ShardDevice> devices;
      for (int d = 0; d < n; d++)
        devices.push_back (must (cuda_shard_device (contexts[d], lut, options)));
      options.tuning_time = 0;
      std::unique_ptr<Engine> engine;
      if (n > 1 || options.max_device_memory > 0 || options.task_bins > 0)
        engine = must (make_sharded_engine (
            shape, options, devices,
            device_functions ({ contexts.begin (), contexts.begin () + n }), {}));
      else
        engine = must (make_cuda_engine (shape, lut, options, contexts[0]));
      table.row (shape, where, n,
                 measure (*engine, frame, seconds, links > 0,
                          options.max_tensors == 1 ? 0 : options.async_depth - 1),
                 links);
    } catch (const std::runtime_error &error) {
      table.skip (shape, where, n, error.what ());
    }
  };
  const double links = links_of (contexts, n, seconds);
  Options options;
  for (const bool download : { false, true })
    for (const int bins : task_bins) {
      options.task_bins = bins;
      options.download = download ? Download::eager : Download::lazy;
      // the host copy of a large tensor takes long to be pinned: one is enough to keep the links
      // busy
      options.max_tensors = download && bytes > std::size_t (2) << 30 ? 1 : 0;
      run ((std::string (download ? "downloaded" : "resident")
            + (bins ? ", T " + std::to_string (bins) : ""))
               .c_str (),
           options, download ? links : 0);
    }
  if (n == 1 && task_bins.size () == 1) {
    options.task_bins = 0;
    options.max_device_memory = bytes / 10;
    run ("rounds, a tenth", options, links);
  }
}
#endif

}  // namespace

int main (int argc, char **argv)
{
  gst_init (nullptr, nullptr);
  std::vector<std::pair<int, int>> sizes;
  std::vector<int> bins, counts, task_bins = { 0 };
  double seconds = 1;
  std::string csv;
  bool no_cpu = false;
  command_line::read (
      argc, argv,
      "usage: devices [--size WxH]... [--bins B]... [--devices N]... [--task-bins T]... "
      "[--seconds S] [--csv FILE] [--no-cpu]\n"
      "       by default 1280x720 to 8192x8192 with 32 and 128 bins, on the CPU and on 1, 2, 4 and "
      "8 devices, for a second each\n",
      { { "--size", command_line::sizes (sizes, 1, 1 << 20) },
        { "--bins", command_line::numbers (bins, 1, 256) },
        { "--devices", command_line::numbers (counts, 1) },
        { "--task-bins", command_line::numbers (task_bins, 1) },
        { "--seconds", command_line::number (seconds, 1e-6) },
        { "--csv", command_line::text (csv) } },
      { { "--no-cpu", &no_cpu } });
  if (sizes.empty ())
    sizes = { { 1280, 720 }, { 1920, 1080 }, { 4096, 3072 }, { 6400, 4800 }, { 8192, 8192 } };
  if (bins.empty ())
    bins = { 32, 128 };
  if (counts.empty ())
    counts = { 1, 2, 4, 8 };

#if INTHIST_CUDA
  Contexts contexts;
  const auto count = CudaContext::device_count ();
  if (!count)
    std::printf ("SKIP: devices on CUDA: %s\n", count.error ().message.c_str ());
  for (int d = 0, n = count.value_or (0); d < n; d++)
    contexts.push_back (must (CudaContext::primary (d)));
#else
  std::printf ("SKIP: devices on CUDA: this build has none\n");
#endif

  Table table (csv.empty () ? nullptr : csv.c_str ());
  if (!table.is_usable ()) {
    std::fprintf (stderr, "devices: cannot write %s\n", csv.c_str ());
    return 1;
  }
  for (const auto &[width, height] : sizes)
    for (const int n_bins : bins) {
      const Shape shape = { width, height, n_bins, Type::u32, Content::bins, Type::u8 };
      DeviceFunctions host;
      bool pinned = false;
#if INTHIST_CUDA
      if ((pinned = !contexts.empty ()))
        host = device_functions ({ contexts[0] });
#endif
      const HostMemory pixels = must (host.allocate (std::size_t (width) * height, no_room));
      std::mt19937 random (1);
      for (std::size_t i = 0; i < std::size_t (width) * height; i++)
        pixels.get ()[i] = std::byte (random ());
      Frame frame;
      frame.image = { pixels.get (), width, {} };
      if (!no_cpu)
        run_cpu (table, shape, frame, seconds);
      frame.location = pinned ? PixelLocation::pinned : PixelLocation::host;
#if INTHIST_CUDA
      for (const int n : counts)
        if (n <= int (contexts.size ()))
          run_devices (table, shape, frame, contexts, n, task_bins, seconds);
#endif
    }
  std::printf ("%d measured\n", table.rows);
  return table.rows > 0 ? 0 : 1;
}
