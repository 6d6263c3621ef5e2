// SPDX-License-Identifier: LGPL-2.1-or-later
//
// All candidates of a shape and device take turns, a lap each, so that other work on the machine
// hits them alike. A frame starts from 8-bit pixels (a table from its own type) and ends with the
// tensor. Stages are timed in laps of their own, since an event between two kernels is not free. At
// the end each candidate's buffers are poisoned and filled once more, and must be right.
#include "bench.hpp"

#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include <kernels/clock.hpp>
#include <kernels/query.hpp>
#include <kernels/registry.hpp>

#include "peers/peers.hpp"
#include "pixel_sums.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "text.hpp"

namespace inthist::check {
namespace {

constexpr int kMaxFrames = 64;  // a lap
// of a lap, if frames are short enough
constexpr double kLapSeconds = 0.004, kCpuLapSeconds = 0.0002;
constexpr std::size_t kMinLaps = 10, kMinSlowLaps = 3;
constexpr int kStagedFrames = 15, kStagedSlowFrames = 2;

/// Smooth noise, similar to a real frame: hills of about 100 pixels over hills of about 15, and a
/// little grain.
Bytes landscape (int width, int height, unsigned seed)
{
  std::mt19937 random (seed);
  std::vector<double> sum (std::size_t (width) * height, 128);
  const auto hills = [&] (int step, double tall) {
    const int columns = width / step + 2, rows = height / step + 2;
    std::vector<double> grid (std::size_t (columns) * rows);
    for (auto &value : grid)
      value = tall * (random () / 4294967296.0 - 0.5);
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++) {
        const double *at = &grid[std::size_t (y / step) * columns + x / step];
        const double u = double (x % step) / step, v = double (y % step) / step;
        sum[std::size_t (y) * width + x] += (1 - v) * ((1 - u) * at[0] + u * at[1])
                                            + v * ((1 - u) * at[columns] + u * at[columns + 1]);
      }
  };
  hills (97, 300);
  hills (13, 60);
  Bytes image (sum.size ());
  for (std::size_t i = 0; i < image.size (); i++)
    image[i] = std::uint8_t (std::clamp (sum[i] + double (random () % 9) - 4, 0.0, 255.0));
  return image;
}

Bytes picture_named (const std::string &name, int width, int height, unsigned seed)
{
  if (name == "frame")
    return first_test_frame ();
  if (name == "landscape")
    return landscape (width, height, seed);
  return picture (name == "noise"      ? Pattern::noise
                  : name == "constant" ? Pattern::full
                                       : Pattern::checkerboard,
                  width, height, seed);
}

Case case_of (const Shape &shape, unsigned seed, const std::string &picture)
{
  Case c;
  c.shape = shape;
  c.seed = seed;
  if (shape.content == Content::bins) {
    c.pattern = Pattern::video;
    c.video = std::make_shared<Bytes> (picture_named (picture, shape.width, shape.height, seed));
  }
  return c;
}

/// Says why the shape cannot be timed here. The host needs memory for the truth and for the copy
/// that is compared, and on the CPU for two buffers of the ring; a GPU needs one buffer at least.
std::string no_room_for (const Shape &shape, Device device)
{
  const std::size_t tensor = tensor_bytes (shape),
                    pixels = std::size_t (shape.width) * shape.height;
  return no_room (device,
                  (device == Device::cpu ? 4 : 2) * tensor
                      + 3 * pixels * (bytes_of (shape.pixel) + sizeof (double)),
                  tensor + 2 * pixels * bytes_of (shape.pixel));
}

#if INTHIST_CUDA
/// The frames of a candidate as CUDA graphs, one for each buffer.
std::function<void (const Slot &)>
captured (const Rig &rig, const std::function<void (const Slot &)> &frame, int lanes)
{
  frame (rig.slot (0, lanes));  // loads the kernels, which a capture does not allow
  using Graph =
      std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, cuda::Destroy<cudaGraphExecDestroy>>;
  const auto graphs = std::make_shared<std::vector<Graph>> ();
  for (int i = 0; i < rig.size (); i++) {
    const Slot slot = rig.slot (i, lanes);
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    CHECK_CUDA (cudaStreamBeginCapture (slot.stream, cudaStreamCaptureModeThreadLocal));
    frame (slot);
    CHECK_CUDA (cudaStreamEndCapture (slot.stream, &graph));
    CHECK_CUDA (cudaGraphInstantiateWithFlags (&ready, graph, 0));
    CHECK_CUDA (cudaGraphDestroy (graph));
    graphs->emplace_back (ready);
  }
  return [graphs] (const Slot &slot) {
    CHECK_CUDA (cudaGraphLaunch ((*graphs)[slot.index].get (), slot.stream));
  };
}

/// Pinned host memory, which a GPU copies from and to by itself.
Memory pinned (std::size_t bytes)
{
  void *memory = nullptr;
  CHECK_CUDA (cudaMallocHost (&memory, bytes));
  return { static_cast<std::uint8_t *> (memory), [] (void *block) { cudaFreeHost (block); } };
}
#endif

class Bench {
public:
  Bench (const Options &options, Device device, const Input &input, const std::string &picture,
         std::FILE *words)
      : options_ (options), words_ (words), rig_ (device, input, options.buffers),
        picture_ (picture),
        name_ (check::name_of (input.c.shape) + " on " + check::name_of (device))
  {
  }

  /// The number of candidates, without ceilings that the command line does not name.
  int timed () const
  {
    return int (std::ranges::count_if (
        list_, [&] (const Candidate &c) { return !c.ceiling || options_.is_named (c.name); }));
  }

  /// Runs all candidates, and returns how many gave a wrong tensor.
  int run ()
  {
    add_peers ();
    add_strategies ();
    if (list_.empty ())
      return 0;
    Progress progress (text ("%s: %zu candidates", name_.c_str (), list_.size ()));
    progress.show (0);
    for (Candidate &candidate : list_)
      warm_up (candidate);
    take_laps (progress);
    for (Candidate &candidate : list_)
      if (candidate.staged)
        candidate.stages =
            rig_.stages (candidate, is_slow (candidate) ? kStagedSlowFrames : kStagedFrames);
    int wrong = 0;
    for (const Candidate &candidate : list_)
      if (const std::string how = rig_.verify (candidate); !how.empty ()) {
        std::fprintf (words_, "FAIL: %s, %s, %s: %s\n", name_.c_str (), candidate.name.c_str (),
                      candidate.mode.c_str (), how.c_str ());
        wrong++;
      }
    if (options_.regions)
      wrong += time_regions ();
    return wrong;
  }

  std::vector<Row> rows () const
  {
    double ceiling = 0;
    for (const Candidate &candidate : list_)
      if (candidate.ceiling && ceiling == 0)
        ceiling = percentile (candidate.laps, 0.5);
    const Shape &shape = rig_.shape;
    const Rows in_plane = rows_of (shape);
    const double pixels = double (shape.width) * shape.height,
                 written = double (in_plane.n) * double (in_plane.bytes) * shape.bins;
    std::vector<Row> rows;
    for (const Candidate &candidate : list_) {
      const double median = percentile (candidate.laps, 0.5);
      rows.push_back (
          { rig_.device, shape, picture_, candidate.name, candidate.mode, candidate.tuning,
            candidate.laps.size (), median, percentile (candidate.laps, 0.05),
            percentile (candidate.laps, 0.95),
            candidate.reads ? written + pixels * double (bytes_of (shape.pixel)) : written,
            ceiling / median, candidate.stages });
    }
    rows.insert (rows.end (), regions_.begin (), regions_.end ());
    return rows;
  }

private:
  void skip (const char *name, const char *why)
  {
    std::fprintf (words_, "SKIP: %s, %s: %s\n", name_.c_str (), name, why);
  }
  void refused (const char *name, const char *why)
  {
    std::fprintf (words_, "refused: %s, %s: %s\n", name_.c_str (), name, why);
  }

  void add_peers ()
  {
    for (const Peer *const peer : options_.peers) {
      if (peer->device != rig_.device)
        continue;
      if (!peer->add)
        skip (peer->name, "not in this build");
      else if (peer->takes (rig_.shape))
        peer->add (rig_, list_);
      else if (!peer->ceiling)
        refused (peer->name, text ("it takes %s", peer->limit).c_str ());
    }
  }

  void add_strategies ()
  {
    struct Entry {
      const Strategy *strategy;
      Tuning tuning;
      bool in_flight;
    };
    std::vector<Entry> entries;
    std::size_t first = 0, others = 0;
    const std::size_t most = free_bytes (rig_.device) / 2,
                      most_in_flight = most / 4;  // for one lane, and for each of the others
    for (const Strategy *const strategy : options_.strategies) {
      if (strategy->device != rig_.device)
        continue;
      if (!accepts (*strategy, rig_.shape)) {
        refused (strategy->name, text ("it takes %s", limit_of (*strategy, rig_.shape)).c_str ());
        continue;
      }
      for (const Tuning &tuning : tunings_of (*strategy, options_.tile, options_.threads)) {
        if (!accepts (*strategy, rig_.shape, tuning)) {
          refused (label_of (*strategy, tuning).c_str (),
                   "it does not have these parameters for this shape");
          continue;
        }
        const std::size_t bytes = strategy->workspace_bytes (rig_.shape, tuning);
        if (bytes > most) {
          skip (label_of (*strategy, tuning).c_str (), "its workspace does not fit");
          continue;
        }
        const bool in_flight = rig_.lanes > 1 && !strategy->slow && bytes <= most_in_flight;
        first = std::max (first, bytes);
        others = in_flight ? std::max (others, bytes) : others;
        entries.push_back ({ strategy, tuning, in_flight });
      }
    }
    rig_.make_workspaces (first, others);
#if INTHIST_CUDA
    if (options_.transfers && rig_.device == Device::cuda)
      make_transfers ();
#endif
    for (const auto &[strategy, tuning, in_flight] : entries) {
      const auto frame = frame_of (*strategy, tuning);
      add (*strategy, tuning, "alone", frame, 1);
      list_.back ().staged = true;
      if (rig_.device == Device::cpu && !strategy->slow
          && std::thread::hardware_concurrency () > 1) {
        add (*strategy, tuning, "alone, 1 thread", frame, 1);
        list_.back ().arena = std::make_shared<tbb::task_arena> (1);
      }
      if (in_flight)
        add (*strategy, tuning, text ("%d in flight", rig_.lanes), frame, rig_.lanes);
#if INTHIST_CUDA
      if (in_flight && strategy == preferred_strategy (Device::cuda, rig_.shape)) {
        if (rig_.lanes > 2)
          add (*strategy, tuning, "2 in flight", frame, 2);
        for (int lanes = 1; lanes <= rig_.lanes; lanes *= 2)
          add (*strategy, tuning,
               lanes == 1 ? "alone, graphs" : text ("%d in flight, graphs", lanes),
               captured (rig_, frame, lanes), lanes);
      }
      for (int lanes = 1; lanes <= (in_flight ? 2 : 1) && !downloaded_.empty (); lanes++)
        add_with_transfers (*strategy, tuning, frame, lanes);
#endif
    }
  }

#if INTHIST_CUDA
  void make_transfers ()
  {
    const std::size_t tensor = tensor_bytes (rig_.shape, rig_.layout);
    if (free_bytes (Device::cpu) < 4 * tensor)  // two tensors, the truth, and a copy
      return skip ("transfers", "the host has no room for two tensors");
    const Bytes &source =
        rig_.shape.content == Content::bins ? *rig_.input.c.video : rig_.input.pixels;
    uploaded_.push_back (pinned (source.size ()));
    std::memcpy (uploaded_[0].get (), source.data (), source.size ());
    for (int lane = 0; lane < std::min (2, rig_.lanes); lane++)
      downloaded_.push_back (pinned (tensor));
  }

  void add_with_transfers (const Strategy &strategy, const Tuning &tuning,
                           const std::function<void (const Slot &)> &frame, int lanes)
  {
    const Shape &shape = rig_.shape;
    const std::size_t tensor = tensor_bytes (shape, rig_.layout),
                      pixels = std::size_t (shape.width) * shape.height * bytes_of (shape.pixel);
    const auto both_ways = [this, frame, tensor, pixels] (const Slot &slot) {
      if (slot.listener)
        slot.listener->begin ("upload");
      CHECK_CUDA (cudaMemcpyAsync (rig_.images[slot.lane].get (), uploaded_[0].get (), pixels,
                                   cudaMemcpyHostToDevice, slot.stream));
      frame (slot);
      if (slot.listener)
        slot.listener->begin ("download");
      CHECK_CUDA (cudaMemcpyAsync (downloaded_[slot.lane].get (), slot.tensor, tensor,
                                   cudaMemcpyDeviceToHost, slot.stream));
    };
    add (strategy, tuning, lanes == 1 ? "alone, transfers" : "2 in flight, transfers", both_ways,
         lanes);
    Candidate &candidate = list_.back ();
    candidate.staged = lanes == 1;
    candidate.poison = [this, tensor] {
      for (const auto &buffer : downloaded_)
        std::memset (buffer.get (), poison_of (rig_.shape.counter), tensor);
    };
    candidate.wrong = [this, wrong = candidate.wrong, tensor, lanes] (const Bytes &slot) {
      std::string how = wrong (slot);
      for (int lane = 0; lane < lanes && how.empty (); lane++)
        if (std::memcmp (downloaded_[lane].get (), slot.data (), tensor) != 0)
          how = "what was downloaded is not the tensor";
      return how;
    };
  }
#endif

  std::function<void (const Slot &)> frame_of (const Strategy &strategy, const Tuning &tuning) const
  {
    // the kept memory cannot be shared with other candidates
    const auto kept = std::make_shared<std::vector<Memory>> ();
    const std::size_t bytes = strategy.workspace_bytes (rig_.shape, tuning);
    for (int lane = 0; strategy.keeps_workspace && lane < rig_.lanes; lane++) {
      kept->push_back (rig_.memory (bytes));
      fill (rig_.device, kept->back ().get (), 0, bytes);
    }
    return [this, &strategy, tuning, kept] (const Slot &slot) {
      const bool bins = rig_.shape.content == Content::bins;
      const Binning binning = { { rig_.images[slot.lane].get (), rig_.shape.width, {} },
                                uniform_lut (rig_.shape.bins) };
      const PixelPlane pixels =
          bins ? PixelPlane{ rig_.bins[slot.lane].get (), padded_columns (rig_.shape.width) }
               : PixelPlane{ rig_.images[slot.lane].get (), rig_.input.c.stride () };
      const auto &workspaces = strategy.keeps_workspace ? *kept : rig_.workspaces;
      const int status = inthist::run (strategy, { .shape = rig_.shape,
                                                   .layout = rig_.layout,
                                                   .pixels = pixels,
                                                   .tensor = slot.tensor,
                                                   .workspace = workspaces[slot.lane].get (),
                                                   .stream = slot.stream,
                                                   .tuning = tuning,
                                                   .listener = slot.listener,
                                                   .binning = bins ? &binning : nullptr,
                                                   .workspace_kept = strategy.keeps_workspace });
      if (status != 0)
        throw std::runtime_error (
            text ("%s: error %d", label_of (strategy, tuning).c_str (), status));
    };
  }

  void add (const Strategy &strategy, const Tuning &tuning, const std::string &mode,
            const std::function<void (const Slot &)> &frame, int lanes)
  {
    Candidate candidate;
    candidate.name = strategy.name;
    candidate.mode = mode;
    candidate.tuning = tuning;
    candidate.frame = frame;
    candidate.lanes = lanes;
    candidate.wrong = [this] (const Bytes &slot) {
      return rig_.input.truth.difference ({ slot, 0, rig_.layout }, poison_of (rig_.shape.counter));
    };
    list_.push_back (std::move (candidate));
  }

  /// Warms up, and finds out how many frames make a lap.
  void warm_up (Candidate &candidate)
  {
    rig_.lap (candidate);
    const double seconds = rig_.lap (candidate);
    const double lap = rig_.device == Device::cpu ? kCpuLapSeconds : kLapSeconds;
    const int frames = int (std::clamp (lap / seconds, 1.0, double (kMaxFrames)));
    candidate.frames = (frames + candidate.lanes - 1) / candidate.lanes * candidate.lanes;
    if (!is_slow (candidate))
      rig_.lap (candidate);
  }

  /// Regions of the first strategy's tensor, a batch at a time; some of the answers are counted
  /// pixel by pixel. Returns how many batches are wrong.
  int time_regions ()
  {
    const auto made = std::ranges::find (list_, true, &Candidate::staged);
    if (made == list_.end ())
      return 0;
    const Slot slot = rig_.slot (0, 1);
    made->frame (slot);
    std::mt19937 random (options_.seed);
    const Shape &shape = rig_.shape;
    const std::size_t n = options_.regions, answers = n * shape.bins;
    const Memory list = rig_.memory (n * sizeof (Region)),
                 out = rig_.memory (answers * sizeof (std::uint32_t));
    const auto ask = [&] {
      const Query query = {
        .kind = QueryKind::counts,
        .windows = { reinterpret_cast<const Region *> (list.get ()), int (n), {} },
        .answers = out.get ()
      };
#if INTHIST_CUDA
      if (rig_.device == Device::cuda) {
        CHECK_CUDA (cuda::answer ({ shape, rig_.layout, slot.tensor }, query, slot.stream));
        CHECK_CUDA (cudaStreamSynchronize (slot.stream));
        return;
      }
#endif
      if (const int error = cpu::answer ({ shape, rig_.layout, slot.tensor }, query); error != 0)
        throw std::runtime_error (text ("answer: error %d", error));
    };
    int wrong = 0;
    for (const bool any_size : { false, true }) {
      std::vector<Region> regions (n);
      for (Region &r : regions) {
        r.width = any_size ? 1 + int (random () % shape.width) : std::min (64, shape.width);
        r.height = any_size ? 1 + int (random () % shape.height) : std::min (64, shape.height);
        r.x = int (random () % (shape.width - r.width + 1));
        r.y = int (random () % (shape.height - r.height + 1));
      }
      copy (rig_.device, list.get (), reinterpret_cast<const std::uint8_t *> (regions.data ()),
            n * sizeof (Region));
      ask ();
      std::vector<double> times;
      const auto start = Clock::now ();
      while (times.size () < kMinLaps || seconds_since (start) < options_.seconds / 10) {
        const auto lap = Clock::now ();
        ask ();
        times.push_back (seconds_since (lap));
      }
      Bytes got (answers * sizeof (std::uint32_t));
      copy (rig_.device, got.data (), out.get (), got.size ());
      const std::string mode = text ("%zu, %s", n, any_size ? "any size" : "64x64");
      if (!are_right (regions, got)) {
        std::fprintf (words_, "FAIL: %s, regions, %s: a wrong count\n", name_.c_str (),
                      mode.c_str ());
        wrong++;
      }
      const double median = percentile (times, 0.5);
      regions_.push_back ({ rig_.device,
                            shape,
                            picture_,
                            "regions",
                            mode,
                            {},
                            times.size (),
                            median,
                            percentile (times, 0.05),
                            percentile (times, 0.95),
                            double (n * sizeof (Region) + got.size ()),
                            0,
                            {} });
    }
    return wrong;
  }

  /// Tells whether answers are right, as far as 20 regions show.
  bool are_right (std::span<const Region> regions, const Bytes &got) const
  {
    const Shape &shape = rig_.shape;
    for (std::size_t i = 0; i < std::min<std::size_t> (20, regions.size ()); i++) {
      const Sums sums = count_pixels (*rig_.input.c.video, shape.width, regions[i], shape.bins);
      const std::vector<std::uint32_t> counts (sums.begin (), sums.end ());
      if (std::memcmp (&got[i * shape.bins * 4], counts.data (), shape.bins * 4) != 0)
        return false;
    }
    return true;
  }

  bool is_slow (const Candidate &candidate) const
  {
    const Strategy *const strategy = find_strategy (candidate.name);
    return strategy && strategy->slow;
  }

  void take_laps (Progress &progress)
  {
    const auto start = Clock::now ();
    const double share = options_.seconds / double (list_.size ());
    for (bool any = true; any;) {
      any = false;
      for (Candidate &candidate : list_) {
        if (candidate.laps.size () >= (is_slow (candidate) ? kMinSlowLaps : kMinLaps)
            && candidate.spent > share)
          continue;  // known well enough
        const auto lap_start = Clock::now ();
        candidate.laps.push_back (rig_.lap (candidate));
        candidate.spent += seconds_since (lap_start);
        progress.show (std::min (0.99, seconds_since (start) / options_.seconds));
        any = true;
      }
    }
  }

  const Options &options_;
  std::FILE *const words_;
  Rig rig_;
  const std::string picture_, name_;
  std::vector<Candidate> list_;
  std::vector<Row> regions_;
  std::vector<Memory> uploaded_, downloaded_;  // pinned, of all transfers; the latter of each lane
};

}  // namespace

int bench (const Options &options, std::FILE *results, std::FILE *words)
{
  const bool with_gpu = std::ranges::find (options.devices, Device::cuda) != options.devices.end ();
  Report report (options.format, results, this_machine (with_gpu));
  int timed = 0, wrong = 0;
  try {
    for (const Shape &shape : options.shapes) {
      std::vector<Device> devices;
      for (const Device device : options.devices)
        if (const std::string why = no_room_for (shape, device); why.empty ())
          devices.push_back (device);
        else
          std::fprintf (words, "SKIP: %s on %s: %s\n", name_of (shape).c_str (), name_of (device),
                        why.c_str ());
      if (devices.empty ())
        continue;
      std::fprintf (stderr, "inthist-check: %s: the truth\n", name_of (shape).c_str ());
      for (const std::string &picture : shape.content == Content::bins
                                            ? options.pictures
                                            : std::vector<std::string>{ "noise" }) {
        const Input input (case_of (shape, options.seed, picture));
        for (const Device device : devices) {
          Bench bench (options, device, input, picture, words);
          wrong += bench.run ();
          timed += bench.timed ();
          report.add (bench.rows ());
        }
      }
    }
  } catch (...) {
    report.finish ();
    throw;
  }
  report.finish ();
  return wrong ? -wrong : timed;
}

}  // namespace inthist::check
