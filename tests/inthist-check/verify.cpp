// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of every strategy:
//
//   support     refuses no ordinary shape, none without saying what it takes, and every parameter
//               that it does not offer; of those on offer one goes with each shape that it takes
//   shapes      the case list, with the strategy's own parameters
//   image       the same from the picture instead of bins, where a strategy makes its bins itself
//   parameters  every tile and block size, with every kind of tensor; and in turn over the cases
//   again       one frame, another, the first again, in the same buffers
//   at once     two frames side by side: streams on CUDA, threads on the CPU
//   graph       captured into a CUDA graph, and replayed with other pixels
//
// and before them one of this program: that it notices faults.
#include "verify.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include <kernels/registry.hpp>

#include "progress.hpp"
#include "text.hpp"

namespace inthist::check {
namespace {

enum Check { kSupport, kShapes, kImage, kParameters, kAgain, kAtOnce, kGraph, kChecks };
constexpr const char *kCheckNames[] = { "support", "shapes",  "image", "parameters",
                                        "again",   "at once", "graph" };

constexpr int kShown = 5;                  // failures of a strategy that are printed
constexpr std::size_t kSmall = 256 << 20;  // bytes that any machine has

struct Tally {
  int runs = 0, failed = 0, refused = 0;
};

/// A shape of the kind: large enough for several tiles, small enough for many runs.
Shape shape_of (Shape kind, int width, int height, int bins)
{
  kind.width = width;
  kind.height = height;
  if (kind.content != Content::sums)
    kind.bins = bins;
  return kind;
}

Case case_of (const Shape &shape, Pattern pattern, unsigned seed)
{
  Case c;
  c.shape = shape;
  c.pattern = pattern;
  c.seed = seed;
  return c;
}

class Verifier {
public:
  explicit Verifier (const Options &options) : options_ (options), strategies_ (options.strategies)
  {
  }

  int all ()
  {
    const bool notices = notices_faults ();
    std::printf ("[%s] inthist-check: notices faults\n", notices ? "OK" : "FAIL");
    run_shapes ();
    int compared = 0;
    for (const auto &[strategy, tallies] : tallies_)
      compared += tallies[kShapes].runs;
    if (compared == 0)
      return notices ? 0 : -1;
    Progress progress ("the checks of each strategy");
    for (std::size_t i = 0; i < strategies_.size (); i++) {
      progress.show (double (i) / double (strategies_.size ()));
      const Strategy &strategy = *strategies_[i];
      support (strategy);
      if (options_.tile.is_default () && options_.threads.is_default ())
        parameters (strategy);
      const auto first = std::ranges::find_if (
          kinds_, [&] (const Shape &kind) { return accepts (strategy, probe (strategy, kind)); });
      for (const Shape &kind : kinds_) {
        // sanitizers see only two kinds, as they are slow
        if (options_.small && kind != *first && kind.pixel != Type::f32)
          continue;
        again (strategy, probe (strategy, kind));
        for (const Shape &shape : shapes_of_kept (strategy, kind))
          again (strategy, shape);
        at_once (strategy, probe (strategy, kind));
        if (strategy.device == Device::cuda)
          for (const Shape &shape : shapes_of_graphs (strategy, kind))
            graph (strategy, shape);
      }
    }
    return report () && notices ? compared : -1;
  }

private:
  void fail (Check check, const Strategy &strategy, const Tuning &tuning, const std::string &where,
             const std::string &wrong)
  {
    tallies_[&strategy][check].failed++;
    int &shown = shown_[&strategy];
    if (++shown <= kShown)
      std::printf ("FAIL: %s: %s: %s: %s (--seed %u)\n", label_of (strategy, tuning).c_str (),
                   kCheckNames[check], where.c_str (), wrong.c_str (), options_.seed);
    else if (shown == kShown + 1)
      std::printf ("FAIL: %s: more, which are not shown\n", strategy.name);
    std::fflush (stdout);
  }

  /// Counts the attempt. After a failed CUDA call nothing works, so the program ends after this
  /// line.
  template <class Attempt>
  void count (Check check, const Strategy &strategy, const Tuning &tuning, const Case &c,
              Attempt &&attempt)
  {
    Tally &tally = tallies_[&strategy][check];
    if (!accepts (strategy, c.shape, tuning)) {
      tally.refused++;
      return;
    }
    tally.runs++;
    try {
      const std::string wrong = attempt ();
      if (!wrong.empty ())
        fail (check, strategy, tuning, c.name (), wrong);
    } catch (const std::exception &error) {
      fail (check, strategy, tuning, c.name (), error.what ());
      throw;
    }
  }

  void one_run (Check check, const Strategy &strategy, const Tuning &tuning, Frame &frame)
  {
    count (check, strategy, tuning, frame.input->c, [&] {
      return attempt (strategy, tuning, frame, queue (strategy.device), guards (), check == kImage);
    });
  }

  bool guards () const { return !options_.small; }

  Queue &queue (Device device)
  {
    const auto found = queues_.find (device);
    return found != queues_.end () ? found->second
                                   : queues_.try_emplace (device, device).first->second;
  }

  /// Some strategies have a launch for every line of every plane: they run the larger cases in
  /// turn, as compute-sanitizer slows each launch.
  bool leaves_out (const Strategy &strategy, const Case &c, std::size_t number) const
  {
    const std::size_t lines = c.shape.bins * (std::size_t (c.shape.width) + c.shape.height),
                      place = &strategy - strategies ().data ();
    if (!options_.shapes.empty ())
      return false;
    if (!options_.small)
      return strategy.slow && lines > 4000 && number / 2 % 8 != 0;
    if (&strategy == preferred_strategy (strategy.device, c.shape))
      return false;
    return lines > (strategy.slow ? 300 : 3000) || (number / 2 + place) % 6 != 0;
  }

  std::size_t kind_of (const Shape &shape) const
  {
    return std::ranges::find_if (kinds_,
                                 [&] (const Shape &kind) {
                                   return shape_of (kind, shape.width, shape.height, shape.bins)
                                          == shape;
                                 })
           - kinds_.begin ();
  }

  /// Returns the devices that the case fits on. The host holds the truth and a copy of the tensor,
  /// and on the CPU the tensor.
  std::vector<Device> with_room (const Case &c)
  {
    const std::size_t tensor = tensor_bytes (c.shape, c.layout ()),
                      pixels = c.stride () * c.shape.height;
    if (tensor + pixels < kSmall)
      return options_.devices;
    std::vector<Device> devices;
    for (const Device device : options_.devices)
      if (const std::string why = no_room (
              device, (device == Device::cpu ? 3 : 2) * tensor + 4 * pixels, tensor + pixels);
          why.empty ())
        devices.push_back (device);
      else
        skip (check::name_of (c.shape) + " on " + check::name_of (device), why);
    return devices;
  }

  /// Tells whether the workspace fits as well.
  bool has_room (const Strategy &strategy, const Tuning &tuning, const Shape &shape)
  {
    const std::size_t bytes =
        accepts (strategy, shape, tuning) ? strategy.workspace_bytes (shape, tuning) : 0;
    const std::string why =
        bytes < kSmall
            ? ""
            : no_room (strategy.device, strategy.device == Device::cpu ? bytes : 0, bytes);
    if (!why.empty ())
      skip (label_of (strategy, tuning) + ", " + check::name_of (shape) + " on "
                + check::name_of (strategy.device),
            "its workspace " + why);
    return why.empty ();
  }

  /// Prints it once for all pictures.
  void skip (const std::string &what, const std::string &why)
  {
    if (skipped_.insert (what).second)
      std::printf ("SKIP: %s: %s\n", what.c_str (), why.c_str ());
  }

  void run_shapes ()
  {
    constexpr std::size_t kMaxElements =
        1 << 19;  // of what runs a second time, with other parameters
    const bool chosen = !options_.tile.is_default () || !options_.threads.is_default ();
    const auto list = options_.shapes.empty () ? case_list (options_.seed, options_.small)
                                               : cases_of (options_.shapes, options_.seed);
    std::map<std::pair<const Strategy *, std::size_t>, std::size_t> turns;
    Progress progress (text ("%zu cases", list.size ()));
    for (std::size_t number = 0; number < list.size (); number++) {
      progress.show (double (number) / double (list.size ()));
      const auto devices = with_room (list[number]);
      if (devices.empty ())
        continue;
      const Input input (list[number]);
      const Shape &shape = input.c.shape;
      for (const Device device : devices) {
        Frame frame (device, input, guards ());
        for (const Strategy *const strategy : strategies_) {
          if (strategy->device != device || leaves_out (*strategy, input.c, number))
            continue;
          for (const Tuning &tuning : tunings_of (*strategy, options_.tile, options_.threads))
            if (has_room (*strategy, tuning, shape)) {
              one_run (kShapes, *strategy, tuning, frame);
              if (strategy->bins_itself && shape.content == Content::bins)
                one_run (kImage, *strategy, tuning, frame);
            }
          const auto others = tunings_of (*strategy, { .all = true }, { .all = true });
          if (!chosen && !options_.small && others.size () > 1
              && std::size_t (shape.width) * shape.height * shape.bins <= kMaxElements)
            one_run (kParameters, *strategy,
                     others[turns[{ strategy, kind_of (shape) }]++ % others.size ()], frame);
        }
        if (!frame.pixels_are_untouched ()) {
          std::printf ("FAIL: a strategy with %s: %s: wrote to the pixels (--seed %u)\n",
                       name_of (device), input.c.name ().c_str (), options_.seed);
          others_failed_++;
        }
      }
    }
  }

  void support (const Strategy &strategy)
  {
    Tally &tally = tallies_[&strategy][kSupport];
    const auto expect = [&] (bool right, const Shape &shape, const char *wrong) {
      tally.runs++;
      if (!right)
        fail (kSupport, strategy, {}, check::name_of (shape), wrong);
    };
    bool refuses = false, any = false;
    for (const Shape &kind : kinds_)
      for (const Shape &shape : { shape_of (kind, 640, 480, 32), shape_of (kind, 641, 479, 255),
                                  shape_of (kind, 16384, 3, 17), shape_of (kind, 70000, 3, 17),
                                  shape_of (kind, 8192, 8192, 128) }) {
        if (!is_valid (shape))
          continue;
        if (kind.content == Content::weights && !strategy.takes_weights)
          continue;  // which is no limit, but a property
        const bool takes = accepts (strategy, shape);
        if (!takes && strategy.makes_tiles != (shape.counter == Type::u8_tiled)) {
          refuses = refuses || strategy.makes_tiles;  // no other strategy states that limit
          continue;
        }
        refuses = refuses || !takes;
        any = any || takes;
        expect (takes || strategy.limit[0] != 0, shape,
                "is refused, and the strategy states no limit");
        if (!takes)
          continue;
        const auto offered = tunings_of (strategy, { .all = true }, { .all = true });
        const auto first = std::ranges::find_if (
            offered, [&] (const Tuning &tuning) { return accepts (strategy, shape, tuning); });
        expect (first != offered.end (), shape, "is refused with every parameter on offer");
        if (first == offered.end ())
          continue;
        const bool all = std::ranges::all_of (
            offered, [&] (const Tuning &tuning) { return accepts (strategy, shape, tuning); });
        refuses = refuses || !all;
        expect (all || strategy.limit[0] != 0, shape,
                "is refused with a parameter on offer, and the strategy states no limit");
        expect (!accepts (strategy, shape, { 12345, 0 })
                    && !accepts (strategy, shape, { 0, 12345 }),
                shape, "is taken with a parameter that is not on offer");
        expect (strategy.workspace_bytes (shape, {}) == strategy.workspace_bytes (shape, *first),
                shape,
                "needs another workspace by default than with the first parameters on offer that "
                "it takes");
      }
    expect (any, {}, "every kind of tensor is refused");
    expect (refuses || strategy.limit[0] == 0, {},
            "the limit that the strategy states is not kept");
    const Shape ordinary = shape_of (kinds_[0], 640, 480, 32), tiny = shape_of (kinds_[0], 1, 1, 1);
    expect (accepts (strategy, ordinary) == accepts (strategy, tiny), ordinary, "is refused");
    expect (find_strategy (strategy.name) == &strategy, {}, "the name is in the table twice");
  }

  /// A frame for the checks of all kinds.
  Shape probe (const Strategy &strategy, const Shape &kind) const
  {
    if (!options_.small)
      return shape_of (kind, 201, 133, 19);
    return strategy.slow ? shape_of (kind, 19, 11, 2) : shape_of (kind, 70, 37, 3);
  }

  void parameters (const Strategy &strategy)
  {
    auto list = tunings_of (strategy, { .all = true }, { .all = true });
    if (options_.small) {  // every value, but not with every other
      const std::size_t tiles = strategy.tiles.size (), threads = strategy.threads.size ();
      list.clear ();
      for (std::size_t i = 0; i < std::max<std::size_t> ({ tiles, threads, 1 }); i++)
        list.push_back (
            { tiles ? strategy.tiles[i % tiles] : 0, threads ? strategy.threads[i % threads] : 0 });
    }
    for (const Shape &kind : kinds_) {
      const Input input (case_of (probe (strategy, kind), Pattern::noise, options_.seed));
      Frame frame (strategy.device, input, guards ());
      for (const Tuning &tuning : list)
        one_run (kParameters, strategy, tuning, frame);
    }
  }

  /// Frames that use all that a workspace keeps: more than 16 tiles side by side and one above the
  /// other, of both sizes.
  std::vector<Shape> shapes_of_kept (const Strategy &strategy, const Shape &kind) const
  {
    if (!strategy.keeps_workspace || !accepts (strategy, probe (strategy, kind)))
      return {};
    if (options_.small)
      return { shape_of (kind, kind.pixel == Type::u8 ? 2100 : 560, 140, 3) };
    std::vector<Shape> shapes = { shape_of (kind, 2200, 2200, 3) };
    if (kind.pixel == Type::u8)
      shapes.push_back (shape_of (kind, 4400, 4400, 3));
    return shapes;
  }

  /// A frame, and one that is not computed as a small table (kernels/cuda/cluster_table.cuh).
  std::vector<Shape> shapes_of_graphs (const Strategy &strategy, const Shape &kind) const
  {
    std::vector<Shape> shapes = { probe (strategy, kind) };
    if (strategy.keeps_workspace)
      shapes.push_back (shape_of (kind, 1301, 140, 3));
    return shapes;
  }

  void again (const Strategy &strategy, const Shape &shape)
  {
    const Input first (case_of (shape, Pattern::noise, options_.seed)),
        second (case_of (shape, Pattern::down, options_.seed));
    Queue &on = queue (strategy.device);
    Frame frame (strategy.device, first, guards ());
    const Block workspace (strategy.device,
                           accepts (strategy, shape) ? strategy.workspace_bytes (shape, {}) : 0);
    bool kept = false;
    for (const Input *input : { &first, &second, &first, &first })
      count (kAgain, strategy, {}, input->c, [&] {
        frame.use (*input);
        Job job = frame.job (workspace, on);
        job.workspace_kept = std::exchange (kept, true);
        const int status = inthist::run (strategy, job);
        on.wait ();
        return status ? text ("error %d", status) : frame.wrong ();
      });
  }

  void at_once (const Strategy &strategy, const Shape &one)
  {
    const int rounds = options_.small ? 2 : 10;
    const Shape other = shape_of (one, one.width * 3 / 2, one.height - 2, one.bins - 1);
    const Input input_a (case_of (one, Pattern::noise, options_.seed)),
        input_b (case_of (other, Pattern::across, options_.seed));
    Frame a (strategy.device, input_a, guards ()), b (strategy.device, input_b, guards ());
    Queue queue_a (strategy.device), queue_b (strategy.device);
    count (kAtOnce, strategy, {}, input_a.c, [&] {
      const Block workspace_a (strategy.device, strategy.workspace_bytes (one, {})),
          workspace_b (strategy.device, strategy.workspace_bytes (other, {}));
      Job job_a = a.job (workspace_a, queue_a), job_b = b.job (workspace_b, queue_b);
      int status[2] = {};
      if (strategy.device == Device::cpu) {
        const auto repeat = [&] (const Job &job, int &status) {
          for (int i = 0; i < rounds; i++)
            status |= inthist::run (strategy, job);
        };
        std::thread beside (repeat, job_a, std::ref (status[0]));
        repeat (job_b, status[1]);
        beside.join ();
      } else {
        for (int i = 0; i < rounds; i++) {
          status[0] |= inthist::run (strategy, job_a);
          status[1] |= inthist::run (strategy, job_b);
          job_a.workspace_kept = job_b.workspace_kept = true;
        }
        queue_a.wait ();
        queue_b.wait ();
      }
      if (status[0] || status[1])
        return text ("errors %d and %d", status[0], status[1]);
      const std::string wrong = a.wrong ();
      return wrong.empty () ? b.wrong () : wrong;
    });
  }

  void graph ([[maybe_unused]] const Strategy &strategy, [[maybe_unused]] const Shape &shape)
  {
#if INTHIST_CUDA
    const Input first (case_of (shape, Pattern::noise, options_.seed)),
        second (case_of (shape, Pattern::down, options_.seed));
    Frame frame (strategy.device, first, guards ());
    const auto check = [&] (bool kept) {
      Queue &on = queue (strategy.device);
      Block workspace (strategy.device, strategy.workspace_bytes (shape, {}));
      workspace.poison (kept ? 0 : kPoison);
      cudaGraph_t graph;
      cudaGraphExec_t ready;
      CHECK_CUDA (cudaStreamBeginCapture (on.stream, cudaStreamCaptureModeThreadLocal));
      Job job = frame.job (workspace, on);
      job.workspace_kept = kept;
      const int status = inthist::run (strategy, job);
      CHECK_CUDA (cudaStreamEndCapture (on.stream, &graph));
      CHECK_CUDA (cudaGraphInstantiateWithFlags (&ready, graph, 0));
      CHECK_CUDA (cudaGraphDestroy (graph));
      std::string wrong = status ? text ("error %d", status) : "";
      for (const Input *input : { &first, &second, &first })
        if (wrong.empty ()) {
          frame.use (*input);
          CHECK_CUDA (cudaGraphLaunch (ready, on.stream));
          on.wait ();
          wrong = frame.wrong ();
        }
      CHECK_CUDA (cudaGraphExecDestroy (ready));
      return wrong;
    };
    count (kGraph, strategy, {}, first.c, [&] { return check (false); });
    if (strategy.keeps_workspace)
      count (kGraph, strategy, {}, first.c, [&] { return check (true); });
#endif
  }

  /// Prints a line for each check of each strategy, and the sum. "Refused" counts cases outside of
  /// a strategy's limit.
  bool report ()
  {
    Tally sum;
    sum.failed = others_failed_;
    for (const Strategy *const strategy : strategies_)
      for (int check = 0; check < kChecks; check++) {
        const Tally &tally = tallies_[strategy][check];
        sum.runs += tally.runs;
        sum.failed += tally.failed;
        sum.refused += tally.refused;
        if (check == kImage && strategy->bins_itself && tallies_[strategy][kShapes].runs > 0
            && tally.runs == 0)
          sum.failed++;  // left out by mistake
        else if (tally.runs == 0)
          continue;
        std::printf ("[%s] %s: %s, %d runs", tally.failed ? "FAIL" : "OK", strategy->name,
                     kCheckNames[check], tally.runs);
        std::printf (tally.failed ? ", %d failed" : "", tally.failed);
        std::printf (tally.refused ? ", %d refused\n" : "\n", tally.refused);
      }
    std::printf ("inthist-check: %d runs, %d failed, %d refused (seed %u)\n", sum.runs, sum.failed,
                 sum.refused, options_.seed);
    return sum.failed == 0;
  }

  const Options &options_;
  const std::vector<Shape> kinds_ = kinds ();
  const std::vector<const Strategy *> strategies_;
  std::map<Device, Queue> queues_;
  std::map<const Strategy *, std::array<Tally, kChecks>> tallies_;
  std::map<const Strategy *, int> shown_;
  std::set<std::string> skipped_;
  int others_failed_ = 0;
};

}  // namespace

std::string label_of (const Strategy &strategy, const Tuning &tuning)
{
  return strategy.name + (tuning.tile ? text (", tile %d", tuning.tile) : "")
         + (tuning.threads ? text (", threads %d", tuning.threads) : "");
}

std::string attempt (const Strategy &strategy, const Tuning &tuning, Frame &frame, Queue &queue,
                     bool guards, bool from_image)
{
  const Shape &shape = frame.input->c.shape;
  Block workspace (strategy.device, strategy.workspace_bytes (shape, tuning), 0, guards);
  if (guards)
    workspace.poison (poison_of (shape.counter));
  frame.poison ();
  Job job = frame.job (workspace, queue, tuning);
  const Binning binning = frame.binning ();
  Block plane (strategy.device, from_image ? frame.input->pixels.size () : 0,
               frame.input->c.input_shift (), guards);
  if (guards)
    plane.poison ();
  if (from_image) {
    job.pixels.data = plane.data;
    job.binning = &binning;
  }
  const int status = inthist::run (strategy, job);
  queue.wait ();
  if (status != 0)
    return text ("error %d", status);
  const std::string wrong = frame.wrong ();
  return wrong.empty () && guards && !(workspace.guards_hold () && plane.guards_hold ())
             ? "wrote outside its workspace or its bins"
             : wrong;
}

int verify (const Options &options)
{
  return Verifier (options).all ();
}

}  // namespace inthist::check
