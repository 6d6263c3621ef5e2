// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times whole pipelines: a source of ready-made frames ! cudaintegralhist ! a sink that counts.
// Every line is a pipeline that ran for a while after a warm-up. Above the lines of a size are the
// ceilings of that size, measured in the same run: copies between pinned memory and the device,
// cudaMemset of the tensor, and only the algorithm.
//
//   pipelines --help
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../support/command_line.hpp"
#include "../support/processor_time.hpp"
#include "ends.hpp"

#include <kernels/inthist.hpp>
#include <kernels/registry.hpp>
#if INTHIST_CUDA
#include <kernels/cuda/raii.hpp>

#include "../support/must.hpp"
#endif

namespace {

struct Run {
  int width = 640, height = 480;
  unsigned bins = 32;
  bool table = false;  // of the pixels' values: one plane
  std::string backend = "cuda", compute = "eager", memory, download, track, feature = "luma";
  unsigned depth = 3, pipelines = 1;
  double seconds = 0.5;
};

struct Result {
  double frames_per_second = 0, host_us = 0, compute_us = 0;
  std::string failure;
};

inthist::Shape shape_of (const Run &run)
{
  inthist::Shape shape = { run.width, run.height, int (run.bins) };
  if (run.table) {
    shape.bins = 1;
    shape.content = inthist::Content::sums;
  }
  return shape;
}

double now ()
{
  return double (g_get_monotonic_time ()) / 1e6;
}

/// One pipeline, from its first frame to its last.
class Pipeline {
public:
  explicit Pipeline (const Run &run)
  {
    const bool kept = run.download != "never" && run.backend == "cuda";
    GstElement *source = GST_ELEMENT (new_ready_source (run.memory == "plain", &finished_));
    sink_ = new_counting_sink (kept ? run.depth : 0, kept);
    const std::string what = run.table ? "cudaintegralimage"
                                       : "cudaintegralhist feature=" + run.feature
                                             + " bins=" + std::to_string (run.bins);
    g_autofree char *line = g_strdup_printf (
        "%s backend=%s compute=%s download=%s async-depth=%u tuning-time=0", what.c_str (),
        run.backend.c_str (), run.compute.c_str (), run.download.c_str (), run.depth);
    element_ = gst_parse_launch (line, nullptr);
    g_autofree char *caps_text =
        g_strdup_printf ("video/x-raw%s,format=NV12,width=%d,height=%d,framerate=30/1",
                         run.memory == "cuda" ? "(memory:CUDAMemory)" : "", run.width, run.height);
    g_autoptr (GstCaps) caps = gst_caps_from_string (caps_text);
    pipeline_ = gst_pipeline_new (nullptr);
    gst_bin_add_many (GST_BIN (pipeline_), source, element_, sink_, nullptr);
    gst_element_link_filtered (source, element_, caps);
    GstElement *last = element_;
    if (!run.track.empty ()) {
      last = gst_parse_launch (
          ("integralhisttrack method=fragments lost-after=0 targets=" + run.track).c_str (),
          nullptr);
      gst_bin_add (GST_BIN (pipeline_), last);
      gst_element_link (element_, last);
    }
    gst_element_link (last, GST_ELEMENT (sink_));
    bus_ = gst_element_get_bus (pipeline_);
    gst_element_set_state (pipeline_, GST_STATE_PLAYING);
  }
  ~Pipeline ()
  {
    gst_element_set_state (pipeline_, GST_STATE_NULL);
    gst_object_unref (bus_);
    gst_object_unref (pipeline_);
  }
  Pipeline (const Pipeline &) = delete;

  guint64 frames () const { return sink_->frames; }

  /// Returns the pipeline's error, or nothing.
  std::string failure ()
  {
    g_autoptr (GstMessage) message = gst_bus_pop_filtered (bus_, GST_MESSAGE_ERROR);
    g_autoptr (GError) error = nullptr;
    if (message)
      gst_message_parse_error (message, &error, nullptr);
    return error ? error->message : "";
  }

  double compute_us ()
  {
    g_autoptr (GstStructure) stats = nullptr;
    g_object_get (element_, "stats", &stats, nullptr);
    double us = 0;
    gst_structure_get_double (stats, "compute-us-mean", &us);
    return us;
  }

  void finish ()
  {
    finished_ = true;
    gst_message_unref (gst_bus_timed_pop_filtered (
        bus_, GST_CLOCK_TIME_NONE, GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
  }

private:
  std::atomic<bool> finished_ = false;
  GstElement *pipeline_, *element_;
  CountingSink *sink_;
  GstBus *bus_;
};

Result measure (const Run &run)
{
  std::vector<std::unique_ptr<Pipeline>> all;
  for (unsigned i = 0; i < run.pipelines; i++)
    all.push_back (std::make_unique<Pipeline> (run));
  const auto frames = [&] {
    guint64 n = 0;
    for (const auto &pipeline : all)
      n += pipeline->frames ();
    return n;
  };
  const auto failure = [&] {
    for (const auto &pipeline : all)
      if (const std::string why = pipeline->failure (); !why.empty ())
        return why;
    return std::string ();
  };
  Result result;
  // after so many frames, every tensor, slot and pool exists
  for (const auto &pipeline : all)
    while (pipeline->frames () < 8 * run.depth + 8) {
      if (result.failure = failure (); !result.failure.empty ())
        return result;
      g_usleep (500);
    }
  const double start = now (), processor = processor_seconds ();
  const guint64 before = frames ();
  while (result.failure.empty () && (now () - start < run.seconds || frames () - before < 8)) {
    g_usleep (500);
    result.failure = failure ();
  }
  if (!result.failure.empty ())
    return result;
  const double seconds = now () - start, busy = processor_seconds () - processor;
  const guint64 n = frames () - before;
  result.frames_per_second = double (n) / seconds;
  result.host_us = busy * 1e6 / double (n);
  result.compute_us = all[0]->compute_us ();
  for (const auto &pipeline : all)
    pipeline->finish ();
  return result;
}

struct Ceilings {
  double up = 0, down = 0, fill = 0, alone = 0, in_flight = 0;  // microseconds a frame
};

#if INTHIST_CUDA
using namespace inthist::cuda;

void must_succeed (int result)
{
  must (check (result));
}

/// Microseconds for each of `n` calls.
double time_of (int n, const std::function<void (int)> &enqueue)
{
  for (int i = 0; i < 4; i++)
    enqueue (i);
  must_succeed (cudaDeviceSynchronize ());
  const double start = now ();
  for (int i = 0; i < n; i++)
    enqueue (i);
  must_succeed (cudaDeviceSynchronize ());
  return (now () - start) * 1e6 / n;
}

Ceilings ceilings_of (const Run &run)
{
  const inthist::Shape shape = shape_of (run);
  const inthist::Layout layout = inthist::layout_of (shape);
  const inthist::Strategy &strategy = *inthist::preferred_strategy (inthist::Device::cuda, shape);
  const std::size_t bytes = inthist::tensor_bytes (shape, layout),
                    picture = std::size_t (run.width) * run.height;
  constexpr int kLanes = 4;
  const auto host = must (make_pinned_memory (std::max (bytes, picture)));
  struct Lane {
    StreamOwner stream = must (make_stream ());
    DeviceMemory tensor, workspace, image, pixels;
  } lanes[kLanes];
  for (Lane &lane : lanes) {
    lane.tensor = must (make_device_memory (bytes));
    lane.workspace = must (make_device_memory (strategy.workspace_bytes (shape, {})));
    lane.image = must (make_device_memory (picture));
    lane.pixels = must (make_device_memory (inthist::padded_columns (run.width) * run.height));
    must_succeed (cudaMemset (lane.image.get (), 100, picture));
  }
  const inthist::Lut lut = inthist::uniform_lut (int (run.bins));
  const auto compute = [&] (Lane &lane, cudaStream_t stream) {
    const inthist::Binning binning = { { lane.image.get (), run.width, {} }, lut };
    const DeviceMemory &pixels = run.table ? lane.image : lane.pixels;
    must_succeed (inthist::run (
        strategy, { .shape = shape,
                    .layout = layout,
                    .pixels = { reinterpret_cast<std::uint8_t *> (pixels.get ()),
                                run.table ? run.width : inthist::padded_columns (run.width) },
                    .tensor = lane.tensor.get (),
                    .workspace = lane.workspace.get (),
                    .stream = stream,
                    .binning = run.table ? nullptr : &binning }));
  };
  cudaStream_t stream = lanes[0].stream.get ();
  const int n = std::max (8, int (4e9 / double (bytes))),
            copies = std::max (4, int (5e8 / double (bytes)));
  return {
    time_of (n,
             [&] (int) {
               must_succeed (cudaMemcpyAsync (lanes[0].image.get (), host.get (), picture,
                                              cudaMemcpyHostToDevice, stream));
             }),
    time_of (copies,
             [&] (int i) {
               must_succeed (cudaMemcpyAsync (host.get (), lanes[i % kLanes].tensor.get (), bytes,
                                              cudaMemcpyDeviceToHost, stream));
             }),
    time_of (n,
             [&] (int i) {
               must_succeed (cudaMemsetAsync (lanes[i % kLanes].tensor.get (), 0, bytes, stream));
             }),
    time_of (n, [&] (int i) { compute (lanes[i % kLanes], stream); }),
    time_of (n, [&] (int i) { compute (lanes[i % kLanes], lanes[i % kLanes].stream.get ()); })
  };
}
#endif

void print_heading ()
{
  printf ("%-10s %4s  %-7s %-8s %5s %9s  %11s %8s %8s  %8s %10s\n", "size", "bins", "memory",
          "download", "depth", "pipelines", "frames/s", "of most", "GB/s", "host us", "compute us");
}

/// `most` is the ceiling in frames a second.
void print (const Run &run, const Result &result, double most, double bytes)
{
  const std::string size = std::to_string (run.width) + "x" + std::to_string (run.height);
  printf ("%-10s %4u  %-7s %-8s %5u %9u  ", size.c_str (), unsigned (shape_of (run).bins),
          run.memory.c_str (), run.download.c_str (), run.depth, run.pipelines);
  if (!result.failure.empty ()) {
    printf ("FAILED: %s\n", result.failure.c_str ());
    return;
  }
  printf ("%11.0f ", result.frames_per_second);
  if (most > 0)
    printf ("%7.1f%% ", 100 * result.frames_per_second / most);
  else
    printf ("%8s ", "-");
  printf ("%8.1f  %8.1f %10.1f\n", result.frames_per_second * bytes / 1e9, result.host_us,
          result.compute_us);
  fflush (stdout);
}

constexpr const char *kHelp =
    R"(usage: pipelines [OPTION...]

How fast whole pipelines are: ready-made frames ! cudaintegralhist ! a sink that counts.

  --table          cudaintegralimage instead
  --size WxH       frames, several times for several sizes (512x512, 640x480, 1280x720, 1920x1080,
                   4096x3072)
  --bins N         1 to 256 (32)
  --memory NAME    plain, pinned (the element's pool) or cuda (memory:CUDAMemory), several times for
                   several (all three)
  --depth N        async-depth, 1 to 64, several times for several (1, 2, 3, 8)
  --many           1, 2 and 8 pipelines at once
  --track X,Y,W,H  with an integralhisttrack that follows this box, and so waits for every tensor
  --feature NAME   what is counted (luma); joint features have their own number of bins
  --compute NAME   eager, on-demand or auto; without --track nobody asks (eager)
  --seconds S      for each line (0.5)
  --backend NAME   cuda, or cpu, which has plain memory and no downloads (cuda)

Columns: "of most" is the share of the rate that the ceilings above the table allow; "host us" the
processor time of the whole process for each frame; "compute us" the element's own stats. Lines of
lazy and eager copy every tensor to the host. A line that needs more than 16 GB of pinned memory is
left out.
)";

int usage (const std::string &complaint)
{
  fprintf (stderr, "pipelines: %s; see pipelines --help\n", complaint.c_str ());
  return 2;
}

}  // namespace

int main (int argc, char **argv)
{
  if (!g_getenv ("GST_PLUGIN_PATH"))
    g_setenv ("GST_PLUGIN_PATH", PLUGIN_PATH, TRUE);  // this build's
  Run base;
  bool many = false;
  std::vector<std::pair<int, int>> sizes;
  std::vector<unsigned> depths;
  std::vector<std::string> memories;
  const auto take_box = [&] (const std::string &value) {
    int x, y, w, h;
    base.track = value;
    return std::sscanf (value.c_str (), "%d,%d,%d,%d", &x, &y, &w, &h) == 4;
  };
  const auto take_memory = [&] (const std::string &value) {
    return command_line::text (memories.emplace_back (), { "plain", "pinned", "cuda" }) (value);
  };
  command_line::read (
      argc, argv, kHelp,
      { { "--size", command_line::sizes (sizes, 1, 32767) },
        { "--bins", command_line::number (base.bins, 1u, 256u) },
        { "--depth", command_line::numbers (depths, 1u, 64u) },
        { "--seconds", command_line::number (base.seconds, 0.001, 3600.) },
        { "--track", take_box },
        { "--feature", command_line::text (base.feature) },
        { "--compute", command_line::text (base.compute, { "eager", "on-demand", "auto" }) },
        { "--memory", take_memory },
        { "--backend", command_line::text (base.backend, { "cpu", "cuda" }) } },
      { { "--many", &many }, { "--table", &base.table } });
  if (base.table && !base.track.empty ())
    return usage ("--track wants a histogram: leave --table out");
  gst_init (nullptr, nullptr);
  g_autoptr (GstElementFactory) factory = gst_element_factory_find ("cudaintegralhist");
  if (!factory)
    return usage (std::string ("no element cudaintegralhist in GST_PLUGIN_PATH=")
                  + g_getenv ("GST_PLUGIN_PATH"));
  const bool cuda = base.backend == "cuda";
#if INTHIST_CUDA
  int devices = 0;
  if (cuda && (cudaGetDeviceCount (&devices) != cudaSuccess || devices == 0))
    return usage ("no CUDA device: --backend cpu measures the CPU");
#else
  if (cuda)
    return usage ("this build has no CUDA: --backend cpu measures the CPU");
#endif
  if (sizes.empty ())
    sizes = { { 512, 512 }, { 640, 480 }, { 1280, 720 }, { 1920, 1080 }, { 4096, 3072 } };
  if (depths.empty ())
    depths = { 1, 2, 3, 8 };
  if (memories.empty ())
    memories = cuda ? std::vector<std::string>{ "plain", "pinned", "cuda" }
                    : std::vector<std::string>{ "plain" };
  if (!cuda && std::ranges::any_of (memories, [] (const std::string &memory) {
        return memory != "plain";
      }))
    return usage ("--backend cpu has --memory plain only");

  int lines = 0, failed = 0;
  for (const auto &[width, height] : sizes) {
    base.width = width;
    base.height = height;
    const inthist::Shape shape = shape_of (base);
    const double bytes = double (inthist::tensor_bytes (shape));
    Ceilings ceilings;
#if INTHIST_CUDA
    if (cuda) {
      ceilings = ceilings_of (base);
      printf ("\n%dx%dx%u, ceilings: picture up %.1f us, tensor down %.1f us (%.1f GB/s), memset "
              "%.1f us, algorithm alone %.1f us, 4 in "
              "flight %.1f us\n",
              width, height, unsigned (shape.bins), ceilings.up, ceilings.down,
              bytes / ceilings.down / 1e3, ceilings.fill, ceilings.alone, ceilings.in_flight);
    }
#endif
    print_heading ();
    const auto line = [&] (const Run &run) {
      const double up = run.memory == "cuda" ? 0 : ceilings.up,
                   down = run.download == "never" ? 0 : ceilings.down,
                   most = !cuda ? 0 : 1e6 / std::max ({ ceilings.in_flight, up, down });
      const Result result = measure (run);
      print (run, result, most, bytes);
      lines++;
      failed += !result.failure.empty ();
    };
    for (const std::string &memory : memories)
      for (const char *download : { "never", "lazy", "eager" })
        for (const unsigned depth : depths) {
          Run run = base;
          run.memory = memory;
          run.download = download;
          run.depth = depth;
          if (!cuda && (run.memory != "plain" || run.download != "never"))
            continue;
          if (many) {
            for (const unsigned pipelines : { 1, 2, 8 }) {
              run.pipelines = pipelines;
              if (run.download == "never")
                line (run);
            }
          } else if (run.download == "never" || bytes * (2 * depth + 1) < 16e9) {
            line (run);
          }
        }
  }
  printf ("pipelines: %d measured, %d failed\n", lines - failed, failed);
  return failed > 0;
}
