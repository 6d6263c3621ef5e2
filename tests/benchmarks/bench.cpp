// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long a frame takes, for every strategy of every device, next to what the memory allows (memset of as many bytes) and to OpenCV.
//
// All candidates of a device take turns, a lap each, so that whatever else the machine does hits them alike. Tensors go round a ring
// of buffers larger than the caches. Before the last lap the ring is filled with a poison byte, and after it the tensors must equal the
// reference.
//
//   bench [--size WxH]... [--bins N] [--counter u32|u16] [--device cpu|cuda|all] [--seconds S]
//
// S is the measuring time of one device and size (2). The table goes to stdout, progress to stderr.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <tbb/parallel_for.h>

#include "inthist.hpp"

#if INTHIST_CUDA
#include <cuda_runtime.h>
#endif
#if HAVE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#endif

using namespace inthist;

namespace {

using Bytes = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr std::uint8_t kPoison = 0xa5;
constexpr int kWarmUpLaps = 3, kLeastLaps = 10;

double
seconds_since (Clock::time_point start)
{
  return std::chrono::duration<double> (Clock::now () - start).count ();
}

struct Candidate {
  std::string name;
  std::function<double ()> lap;     // seconds a frame
  std::function<void ()> poison;    // what a lap writes
  std::function<bool ()> verified;  // after a lap; none for a memset
  double spent = 0;                 // seconds in laps
  std::vector<double> laps = {};

  double percentile (double share) const
  {
    std::vector<double> sorted = laps;
    std::sort (sorted.begin (), sorted.end ());
    return sorted[std::size_t (std::lround (share * double (sorted.size () - 1)))];
  }
};

/// A frame and its answer.
struct Problem {
  Shape shape;
  Layout layout;
  std::size_t bytes;
  Bytes image;           // one byte a pixel, no padding
  Bytes wanted;          // the tensor, with poison between rows
  std::string strategy;  // the one to time, "all", or empty for the fastest of each device

  Problem (const Shape &s, const std::string &name)
      : shape (s), layout (layout_of (s)), bytes (tensor_bytes (s, layout)), image (std::size_t (s.width) * s.height),
        wanted (bytes, kPoison), strategy (name)
  {
    draw ();
    Bytes bins (bin_stride (s.width) * s.height);
    const BinPlane plane{ bins.data (), bin_stride (s.width) };
    const Lut lut = uniform_lut (s.bins);
    for (int y = 0; y < s.height; y++)
      for (int x = 0; x < s.width; x++)
        plane.data[y * plane.stride + x] = lut[image[std::size_t (y) * s.width + x]];
    reference ({ s, layout, plane, wanted.data () });
  }

  bool wants (const Strategy &s, Device device) const
  {
    return s.device == device && s.supports (shape)
           && (strategy.empty () ? &s == fastest_strategy (device) : strategy == "all" || strategy == s.name);
  }

  Image source (const void *data) const { return { data, std::size_t (shape.width), {} }; }

private:
  /// Smooth noise: hills of about 100 pixels over hills of about 15, and a little grain.
  void draw ()
  {
    std::mt19937 random (1);
    const auto hills = [&] (int step, double height, std::vector<double> &sum) {
      const int columns = shape.width / step + 2, rows = shape.height / step + 2;
      std::vector<double> grid (std::size_t (columns) * rows);
      for (auto &value : grid)
        value = height * (random () / 4294967296.0 - 0.5);
      for (int y = 0; y < shape.height; y++)
        for (int x = 0; x < shape.width; x++) {
          const double *at = &grid[std::size_t (y / step) * columns + x / step];
          const double u = double (x % step) / step, v = double (y % step) / step;
          sum[std::size_t (y) * shape.width + x] +=
              (1 - v) * ((1 - u) * at[0] + u * at[1]) + v * ((1 - u) * at[columns] + u * at[columns + 1]);
        }
    };
    std::vector<double> sum (image.size (), 128);
    hills (97, 300, sum);
    hills (13, 60, sum);
    for (std::size_t i = 0; i < image.size (); i++)
      image[i] = std::uint8_t (std::clamp (sum[i] + double (random () % 9) - 4, 0.0, 255.0));
  }
};

// The CPU

struct CpuRing {
  std::vector<std::unique_ptr<std::uint8_t, decltype (&free)>> memory;
  std::vector<std::uint8_t *> tensors;
  std::size_t bytes;
  int turn = 0;

  explicit CpuRing (std::size_t size) : bytes (size)
  {
    for (int i = 0; i < 2; i++)
      tensors.push_back (allocate (bytes));
    poison ();
  }

  std::uint8_t *allocate (std::size_t size)
  {
    memory.emplace_back (static_cast<std::uint8_t *> (std::aligned_alloc (4096, (size + 4096) / 4096 * 4096)), &free);
    return memory.back ().get ();
  }

  std::uint8_t *next () { return tensors[turn++ % tensors.size ()]; }

  void poison ()
  {
    for (auto *tensor : tensors)
      memset (tensor, kPoison, bytes);
  }
};

std::vector<Candidate>
cpu_candidates (const Problem &problem)
{
  const Shape shape = problem.shape;
  const auto ring = std::make_shared<CpuRing> (problem.bytes);
  const auto timed = [] (auto &&work) {
    const auto start = Clock::now ();
    work ();
    return seconds_since (start);
  };
  const auto poison = [ring] { ring->poison (); };
  std::vector<Candidate> list;

  const std::size_t cores = std::max (1u, std::thread::hardware_concurrency ());
  // Some processors have a short cut for zeros, which no data takes; counts are not zero, so ones are the measure
  for (const int value : { 1, 0 })
    list.push_back ({ "memset of " + std::string (value ? "ones" : "zeros") + " on " + std::to_string (cores) + " cores",
                      [=] {
                        return timed ([&] {
                          std::uint8_t *const to = ring->next ();
                          const auto edge = [&] (std::size_t part) { return ring->bytes * part / cores / 64 * 64; };
                          tbb::parallel_for (
                              std::size_t (0), cores,
                              [&] (std::size_t part) {
                                const std::size_t end = part + 1 == cores ? ring->bytes : edge (part + 1);
                                memset (to + edge (part), value, end - edge (part));
                              },
                              tbb::static_partitioner ());
                        });
                      },
                      poison,
                      {} });

  const auto bins = BinPlane{ ring->allocate (bin_stride (shape.width) * shape.height), bin_stride (shape.width) };
  for (const Strategy &strategy : strategies ()) {
    if (!problem.wants (strategy, Device::cpu))
      continue;
    void *const workspace = ring->allocate (strategy.workspace_bytes (shape));
    list.push_back ({ strategy.name,
                      [=, &problem, &strategy, lut = uniform_lut (shape.bins)] {
                        return timed ([&] {
                          cpu::bin_image (problem.source (problem.image.data ()), lut, shape.width, shape.height, bins);
                          strategy.run ({ shape, problem.layout, bins, ring->next (), workspace });
                        });
                      },
                      poison,
                      [=, &problem] {
                        return memcmp (ring->tensors[(ring->turn - 1) % ring->tensors.size ()], problem.wanted.data (), problem.bytes) == 0;
                      } });
  }

#if HAVE_OPENCV
  // cv::integral knows one plane and sums, not bins: a mask a bin. Its masks are 255, its sums 255 times ours.
  if (shape.counter == Counter::u32) {
    struct Planes {
      std::vector<cv::Mat> masks, sums[2];
      int turn = 0;
    };
    const auto planes = std::make_shared<Planes> ();
    planes->masks.resize (shape.bins);
    for (auto &sums : planes->sums)
      for (int b = 0; b < shape.bins; b++)
        sums.emplace_back (shape.height + 1, shape.width + 1, CV_32S, cv::Scalar (-1));
    std::vector<int> thread_counts = { 1 };
    if (cores > 1)
      thread_counts.push_back (int (cores));
    for (const int threads : thread_counts) {
      list.push_back ({ "OpenCV cv::integral, threads: " + std::to_string (threads),
                        [=, &problem] {
                          const cv::Mat image (shape.height, shape.width, CV_8U, const_cast<std::uint8_t *> (problem.image.data ()));
                          auto &sums = planes->sums[planes->turn++ % 2];
                          const auto frame = [&] {
                            cv::parallel_for_ (cv::Range (0, shape.bins), [&] (const cv::Range &range) {
                              for (int b = range.start; b < range.end; b++) {
                                const int low = (b * 256 + shape.bins - 1) / shape.bins, high = ((b + 1) * 256 - 1) / shape.bins;
                                cv::inRange (image, low, high, planes->masks[b]);
                                cv::integral (planes->masks[b], sums[b], CV_32S);
                              }
                            });
                          };
                          cv::setNumThreads (threads);
                          frame ();  // starts the threads anew
                          return timed (frame);
                        },
                        [planes] {
                          for (auto &sums : planes->sums)
                            for (auto &sum : sums)
                              sum.setTo (-1);
                        },
                        [=, &problem] {
                          const auto &sums = planes->sums[(planes->turn - 1) % 2];
                          for (int b = 0; b < shape.bins; b++)
                            for (int y = 0; y < shape.height; y++) {
                              const auto *wanted = reinterpret_cast<const std::uint32_t *> (
                                  &problem.wanted[b * problem.layout.plane_pitch + y * problem.layout.row_pitch]);
                              const int *is = sums[b].ptr<int> (y + 1) + 1;
                              for (int x = 0; x < shape.width; x++)
                                if (is[x] < 0 || std::uint32_t (is[x]) != 255 * wanted[x])
                                  return false;
                            }
                          return true;
                        } });
    }
  }
#endif
  return list;
}

// CUDA

#if INTHIST_CUDA
void
check (int status, const char *what)
{
  if (status == cudaSuccess)
    return;
  fprintf (stderr, "bench: %s: %s\n", what, cudaGetErrorString (cudaError_t (status)));
  exit (1);
}
#define CHECK(call) check (call, #call)

constexpr int kStreams = 4;  // frames in flight
constexpr int kFramesALap = 64;

/// Streams, tensors larger together than four times the L2 cache, and a bin plane for each stream. Tensor i belongs to stream i % kStreams.
struct CudaRing {
  cudaStream_t streams[kStreams];
  cudaEvent_t start, stop, done[kStreams];
  std::vector<void *> memory;
  std::vector<cudaGraphExec_t> graphs;
  std::vector<std::uint8_t *> tensors;
  std::uint8_t *image;
  BinPlane bins[kStreams];
  std::size_t bytes;

  explicit CudaRing (const Problem &problem) : bytes (problem.bytes)
  {
    int l2 = 0;
    CHECK (cudaDeviceGetAttribute (&l2, cudaDevAttrL2CacheSize, 0));
    for (int i = 0; i < (bytes * 4 > 4 * std::size_t (l2) ? 4 : 8); i++)
      tensors.push_back (allocate (bytes));
    image = allocate (problem.image.size ());
    CHECK (cudaMemcpy (image, problem.image.data (), problem.image.size (), cudaMemcpyHostToDevice));
    const std::size_t stride = bin_stride (problem.shape.width);
    for (int i = 0; i < kStreams; i++) {
      CHECK (cudaStreamCreateWithFlags (&streams[i], cudaStreamNonBlocking));
      CHECK (cudaEventCreateWithFlags (&done[i], cudaEventDisableTiming));
      bins[i] = { allocate (stride * problem.shape.height), stride };
    }
    CHECK (cudaEventCreate (&start));
    CHECK (cudaEventCreate (&stop));
  }
  ~CudaRing ()
  {
    for (auto graph : graphs)
      cudaGraphExecDestroy (graph);
    for (int i = 0; i < kStreams; i++) {
      cudaEventDestroy (done[i]);
      cudaStreamDestroy (streams[i]);
    }
    cudaEventDestroy (start);
    cudaEventDestroy (stop);
    for (auto *block : memory)
      cudaFree (block);
  }
  CudaRing (const CudaRing &) = delete;

  std::uint8_t *allocate (std::size_t size)
  {
    void *block = nullptr;
    CHECK (cudaMalloc (&block, size));
    memory.push_back (block);
    return static_cast<std::uint8_t *> (block);
  }

  /// Seconds a frame of kFramesALap frames, dealt out to `n` streams; GPU time from the first to the last.
  double lap (int n, const std::function<void (int tensor, cudaStream_t stream)> &frame)
  {
    CHECK (cudaEventRecord (start, streams[0]));
    for (int i = 1; i < n; i++)
      CHECK (cudaStreamWaitEvent (streams[i], start, 0));
    for (int i = 0; i < kFramesALap; i++)
      frame (i % int (tensors.size ()), streams[i % n]);
    for (int i = 1; i < n; i++) {
      CHECK (cudaEventRecord (done[i], streams[i]));
      CHECK (cudaStreamWaitEvent (streams[0], done[i], 0));
    }
    CHECK (cudaEventRecord (stop, streams[0]));
    CHECK (cudaEventSynchronize (stop));
    float milliseconds = 0;
    CHECK (cudaEventElapsedTime (&milliseconds, start, stop));
    return milliseconds / 1e3 / kFramesALap;
  }

  void poison ()
  {
    for (auto *tensor : tensors)
      CHECK (cudaMemset (tensor, kPoison, bytes));
    CHECK (cudaDeviceSynchronize ());
  }

  bool verified (const Bytes &wanted)
  {
    Bytes got (bytes);
    for (auto *tensor : tensors) {
      CHECK (cudaMemcpy (got.data (), tensor, bytes, cudaMemcpyDeviceToHost));
      if (got != wanted)
        return false;
    }
    return true;
  }
};

std::vector<Candidate>
cuda_candidates (const Problem &problem)
{
  const Shape shape = problem.shape;
  const auto ring = std::make_shared<CudaRing> (problem);
  const auto poison = [ring] { ring->poison (); };
  const auto verified = [ring, &problem] { return ring->verified (problem.wanted); };
  std::vector<Candidate> list;

  list.push_back ({ "cudaMemsetAsync",
                    [ring] {
                      return ring->lap (1, [&] (int tensor, cudaStream_t stream) {
                        CHECK (cudaMemsetAsync (ring->tensors[tensor], 0, ring->bytes, stream));
                      });
                    },
                    poison,
                    {} });

  for (const Strategy &strategy : strategies ()) {
    if (!problem.wants (strategy, Device::cuda))
      continue;
    std::vector<std::uint8_t *> workspaces;
    for (int i = 0; i < kStreams; i++)
      workspaces.push_back (ring->allocate (std::max<std::size_t> (1, strategy.workspace_bytes (shape))));
    // `own` is whose bin plane and workspace the frame uses
    const auto launch = [=, ring = ring.get (), &problem, &strategy] (int tensor, int own, cudaStream_t stream) {
      CHECK (cuda::bin_image (problem.source (ring->image), uniform_lut (shape.bins), shape.width, shape.height, ring->bins[own], stream));
      CHECK (strategy.run ({ shape, problem.layout, ring->bins[own], ring->tensors[tensor], workspaces[own], stream }));
    };
    const auto graphs_of = [&] (int n) {
      std::vector<cudaGraphExec_t> graphs;
      for (int tensor = 0; tensor < int (ring->tensors.size ()); tensor++) {
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        CHECK (cudaStreamBeginCapture (ring->streams[0], cudaStreamCaptureModeThreadLocal));
        launch (tensor, tensor % n, ring->streams[0]);
        CHECK (cudaStreamEndCapture (ring->streams[0], &graph));
        CHECK (cudaGraphInstantiateWithFlags (&ready, graph, 0));
        CHECK (cudaGraphDestroy (graph));
        graphs.push_back (ready);
        ring->graphs.push_back (ready);
      }
      return graphs;
    };
    const auto add_graphs = [&] (const char *how, int n) {
      list.push_back ({ strategy.name + std::string (how),
                        [ring, n, graphs = graphs_of (n)] {
                          return ring->lap (n, [&] (int tensor, cudaStream_t stream) { CHECK (cudaGraphLaunch (graphs[tensor], stream)); });
                        },
                        poison, verified });
    };
    list.push_back ({ strategy.name + std::string (", alone, launches"),
                      [ring, launch] { return ring->lap (1, [&] (int tensor, cudaStream_t stream) { launch (tensor, 0, stream); }); },
                      poison, verified });
    if (&strategy != fastest_strategy (Device::cuda))
      continue;  // thousands of launches make graphs of gigabytes
    add_graphs (", alone, graph", 1);
    add_graphs (", 4 in flight, graphs", kStreams);
  }
  return list;
}
#endif

/// Whether every candidate's last lap gave the right tensor.
bool
measure (std::vector<Candidate> &list, double seconds)
{
  for (int i = 0; i < kWarmUpLaps; i++)
    for (auto &candidate : list)
      candidate.lap ();
  const auto start = Clock::now ();
  for (int i = 0; i < kLeastLaps || seconds_since (start) < seconds; i++)
    for (auto &candidate : list) {
      if (candidate.laps.size () >= 3 && candidate.spent > seconds)
        continue;  // slow ones are known well enough by then
      const auto lap_start = Clock::now ();
      candidate.laps.push_back (candidate.lap ());
      candidate.spent += seconds_since (lap_start);
    }
  bool good = true;
  for (auto &candidate : list) {
    candidate.poison ();
    candidate.laps.push_back (candidate.lap ());
    if (!candidate.verified || candidate.verified ())
      continue;
    fprintf (stderr, "bench: WRONG RESULT: %s\n", candidate.name.c_str ());
    good = false;
  }
  return good;
}

struct Options {
  std::vector<std::pair<int, int>> sizes;
  int bins = 32;
  Counter counter = Counter::u32;
  std::string device = "all";
  std::string strategy;  // a name, "all", or empty for the fastest of each device
  double seconds = 2;
};

[[noreturn]] void
usage ()
{
  fprintf (stderr, "usage: bench [--size WxH]... [--bins 1..256] [--counter u32|u16] [--device cpu|cuda|all]\n"
                   "             [--strategy NAME|all] [--seconds S]\n");
  exit (2);
}

Options
parse (int argc, char **argv)
{
  Options o;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    int width = 0, height = 0;
    if (name == "--size" && sscanf (value.c_str (), "%dx%d", &width, &height) == 2 && width > 0 && height > 0)
      o.sizes.push_back ({ width, height });
    else if (name == "--bins" && atoi (value.c_str ()) >= 1 && atoi (value.c_str ()) <= 256)
      o.bins = atoi (value.c_str ());
    else if (name == "--counter" && (value == "u32" || value == "u16"))
      o.counter = value == "u32" ? Counter::u32 : Counter::u16;
    else if (name == "--device" && (value == "cpu" || value == "cuda" || value == "all"))
      o.device = value;
    else if (name == "--strategy" && (value == "all" || find_strategy (value)))
      o.strategy = value;
    else if (name == "--seconds" && atof (value.c_str ()) > 0)
      o.seconds = atof (value.c_str ());
    else
      usage ();
  }
  if (o.sizes.empty ())
    o.sizes = { { 640, 480 }, { 1280, 720 }, { 1920, 1080 } };
  return o;
}

/// Whether there is a device; says which, or loudly why not.
bool
have_cuda ()
{
#if INTHIST_CUDA
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t status = cudaGetDeviceCount (&count);
  if (status == cudaSuccess && count > 0) {
    cudaDeviceProp properties;
    CHECK (cudaGetDeviceProperties (&properties, 0));
    CHECK (cudaDriverGetVersion (&driver));
    CHECK (cudaRuntimeGetVersion (&runtime));
    printf ("GPU: %s, %d SMs, L2 %d MB, driver for CUDA %d.%d, runtime %d.%d\n", properties.name, properties.multiProcessorCount,
            properties.l2CacheSize >> 20, driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return true;
  }
  const char *reason = status == cudaSuccess ? "no device" : cudaGetErrorString (status);
#else
  const char *reason = "built without CUDA";
#endif
  printf ("SKIP: CUDA: %s\n", reason);
  return false;
}

}  // namespace

int
main (int argc, char **argv)
{
  const Options options = parse (argc, argv);
  const bool cpu = options.device != "cuda", cuda = options.device != "cpu" && have_cuda ();
  if (cpu)
    printf ("CPU: %u cores%s\n", std::thread::hardware_concurrency (), HAVE_OPENCV ? ", OpenCV compared" : ", built without OpenCV");
  printf ("%-20s %-34s %12s %12s %12s %10s %9s %9s\n", "tensor", "what", "median us", "p5", "p95", "frames/s", "GB/s", "of memset");

  bool good = true;
  int outputs = 0;
  for (const auto &[width, height] : options.sizes) {
    const Shape shape{ width, height, options.bins, options.counter };
    char tensor[64];
    snprintf (tensor, sizeof tensor, "%dx%dx%d %s", width, height, shape.bins, shape.counter == Counter::u32 ? "u32" : "u16");
    fprintf (stderr, "bench: %s: the reference\n", tensor);
    const Problem problem (shape, options.strategy);
    for (const Device device : { Device::cpu, Device::cuda }) {
      if (device == Device::cpu ? !cpu : !cuda)
        continue;
      fprintf (stderr, "bench: %s: %s\n", tensor, device == Device::cpu ? "the CPU" : "CUDA");
      std::vector<Candidate> list;
      if (device == Device::cpu)
        list = cpu_candidates (problem);
#if INTHIST_CUDA
      if (device == Device::cuda)
        list = cuda_candidates (problem);
#endif
      good = measure (list, options.seconds) && good;
      const double memset_median = list.front ().percentile (0.5);
      for (const Candidate &candidate : list) {
        const double median = candidate.percentile (0.5);
        printf ("%-20s %-34s %12.1f %12.1f %12.1f %10.1f %9.1f %8.1f%%\n", tensor, candidate.name.c_str (), 1e6 * median,
                1e6 * candidate.percentile (0.05), 1e6 * candidate.percentile (0.95), 1 / median, double (problem.bytes) / median / 1e9,
                100 * memset_median / median);
        outputs += bool (candidate.verified);
      }
      fflush (stdout);
    }
  }
  if (good)
    printf ("bench: all %d candidates gave the reference's tensor\n", outputs);
  else
    printf ("bench: FAIL: wrong results, see above\n");
  return good ? 0 : 1;
}
