// SPDX-License-Identifier: LGPL-2.1-or-later
#include "arguments.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <getopt.h>

#include <kernels/registry.hpp>

#include "cases.hpp"
#include "memory.hpp"
#include "peers/peers.hpp"
#include "text.hpp"

namespace inthist::check {
namespace {

constexpr char kHelp[] =
    R"(Usage: inthist-check [OPTION]... [NAME]...

Runs every strategy on every device and compares all that it writes. With --bench it times them
instead, and compares that. NAMEs of strategies (and, with --bench, of peers) leave the others out.
A NAME that can never run with the other options is wrong usage.

What to run:
  --list                 the strategies with their parameters, and the peers (with NAMEs, only
                         those); nothing is run
  --device DEVICE        cpu, cuda or all (all)
  --seed N               of all pictures and of the case list (20250); it is printed, with failures
                         too
  --cases LIST           all, or small, for sanitizers: small frames, few launches, no guard behind
                         a buffer ($INTHIST_CASES, or all)
  --size WxH             a frame of this size instead of the case list; may be repeated.
                         With --bench without a size: 640x480, 1280x720 and 1920x1080
  --bins N               bins of a histogram, planes of a table; may be repeated (32; 1)
  --counter TYPE         of a histogram: u32, u16 or u8-tiled (u32)
  --table PIXEL:COUNTER  a summed-area table instead of a histogram: u8:u32, u8:s32, u8:f32,
                         u32:u32, f32:f32, f64:f64 or f32x4:f32x4; u8:u32 has one plane or two
  --tile N|all           every strategy with this tile size, or with all that it has, instead of its
                         own
  --threads N|all        the same for the threads of a block

Timing:
  --bench                microseconds a frame (median, 5th and 95th percentile), frames and useful
                         bytes a second, and the share of the ceiling, which is a memset of the same
                         bytes in the same run; and what each stage takes
  --picture NAME         of a histogram: landscape, noise, constant, checkerboard, or frame, the
                         first of $INTHIST_TEST_FRAMES, for --size 768x576; may be
                         repeated (landscape)
  --regions N            also N regions of a finished histogram: of 64x64 pixels, and of any size
  --buffers N            output buffers that take turns, instead of as many as exceed the caches:
                         with 1 the tensor is where the frame before has left it; on a GPU no
                         frames are in flight then
  --transfers            on a GPU each strategy also with its pixels uploaded from pinned memory
                         and its tensor downloaded: one frame at a time, and two (dual buffering)
  --seconds S            for each shape and device (2)
  --peers, --no-peers    time the peers too, or only the ceilings (without NAMEs they are, with
                         NAMEs they are not)
  --format FORMAT        table, csv or json (table). CSV has the same columns always; the last,
                         stages, lists microseconds, such as "bins 9.3;scan 45.5"
  --output FILE          results go there instead of to stdout

  -h, --help

PyTorch is timed by a script of its own: tests/inthist-check/peers/pytorch.py.

Exit status: 0 all is right, 1 something failed, 2 wrong usage, 77 nothing ran. What is not to be
had here, a device, memory or a peer, has a line that starts with SKIP. "Refused" are shapes and
parameters that the limit of a strategy or peer (see --list) leaves out. With --format csv or json
on stdout, all else goes to stderr. $INTHIST_TEST_FRAMES names a file with frames of 768x576 GRAY8,
which join the case list.
)";

template <class T>
T number (const char *option, std::string_view value, T least, T most)
{
  T result = {};
  const auto [end, error] = std::from_chars (value.data (), value.data () + value.size (), result);
  if (error != std::errc () || end != value.data () + value.size ()
      || !(result >= least && result <= most))
    usage_error (text ("%s: \"%.*s\" is not a number from %.15g to %.15g", option,
                       int (value.size ()), value.data (), double (least), double (most)));
  return result;
}

/// Finds the value among the names.
std::size_t one_of (const char *option, std::string_view value,
                    const std::vector<std::string> &names)
{
  std::string all;
  for (std::size_t i = 0; i < names.size (); i++) {
    if (value == names[i])
      return i;
    all += (i ? ", " : "") + names[i];
  }
  usage_error (text ("%s: \"%.*s\" is not one of %s", option, int (value.size ()), value.data (),
                     all.c_str ()));
}

Type counter_of (std::string_view value)
{
  std::vector<Type> types;
  std::vector<std::string> names;
  for (const Shape &kind : kinds ())
    if (kind.content == Content::bins) {
      types.push_back (kind.counter);
      names.push_back (inthist::name_of (kind.counter));
    }
  return types[one_of ("--counter", value, names)];
}

/// One plane of every existing kind of table.
std::pair<Type, Type> table_of (std::string_view value)
{
  std::vector<std::pair<Type, Type>> types;
  std::vector<std::string> names;
  for (const Shape &kind : kinds ())
    if (kind.content == Content::sums && kind.bins == 1) {
      types.push_back ({ kind.pixel, kind.counter });
      names.push_back (
          text ("%s:%s", inthist::name_of (kind.pixel), inthist::name_of (kind.counter)));
    }
  return types[one_of ("--table", value, names)];
}

Choice choice (const char *option, std::string_view value)
{
  if (value == "all")
    return { .all = true };
  return { .value = number (option, value, 1, 65536) };
}

std::pair<int, int> size_of (std::string_view value)
{
  const auto x = value.find ('x');
  if (x == value.npos)
    usage_error (text ("--size: \"%.*s\" is not of the form WIDTHxHEIGHT", int (value.size ()),
                       value.data ()));
  return { number ("--size", value.substr (0, x), 1, 1 << 20),
           number ("--size", value.substr (x + 1), 1, 1 << 20) };
}

struct Option {
  const char *name;
  int has_argument;
  bool with_bench;  // goes with --bench only
  void (*take) (Arguments &a, const char *option, std::string_view value);
};

#define OPTION(name, has_argument, with_bench, ...) \
  { \
    name, has_argument, with_bench, \
        [] ([[maybe_unused]] Arguments &a, [[maybe_unused]] const char *option, \
            [[maybe_unused]] std::string_view value) { __VA_ARGS__; } \
  }
#define FLAG(name, with_bench, ...) OPTION (name, no_argument, with_bench, __VA_ARGS__)
#define VALUE(name, with_bench, ...) OPTION (name, required_argument, with_bench, __VA_ARGS__)

constexpr Option kOptions[] = {
  FLAG ("list", false, a.list = true),
  VALUE ("device", false, one_of (option, value, { "cpu", "cuda", "all" }); a.device = value),
  VALUE ("seed", false, a.options.seed = number (option, value, 0u, UINT32_MAX)),
  VALUE ("cases", false, a.options.small = one_of (option, value, { "all", "small" }) == 1;
         a.cases_given = true),
  VALUE ("size", false, a.sizes.push_back (size_of (value))),
  VALUE ("bins", false, a.bins.push_back (number (option, value, 1, 256))),
  VALUE ("counter", false,
         if (a.counter) usage_error ("--counter is given twice: one kind of tensor at a time");
         a.counter = counter_of (value)),
  VALUE ("table", false, a.table = table_of (value)),
  VALUE ("tile", false, a.options.tile = choice (option, value)),
  VALUE ("threads", false, a.options.threads = choice (option, value)),
  FLAG ("bench", false, a.bench = true),
  VALUE ("picture", true,
         one_of (option, value, { "landscape", "noise", "constant", "checkerboard", "frame" });
         a.pictures.emplace_back (value)),
  VALUE ("regions", true, a.options.regions = number (option, value, 1, 1 << 20)),
  VALUE ("buffers", true, a.options.buffers = number (option, value, 1, 1 << 20)),
  FLAG ("transfers", true, a.options.transfers = true),
  VALUE ("seconds", true, a.options.seconds = number (option, value, 0.0, 3600.0)),
  FLAG ("peers", true, a.peers = true),
  FLAG ("no-peers", true, a.peers = false),
  VALUE ("format", true,
         a.options.format = Format (one_of (option, value, { "table", "csv", "json" }))),
  VALUE ("output", true, a.options.output = value),
};

Arguments parse (int argc, char **argv)
{
  Arguments a;
  constexpr int kFirst = 256;  // above all characters; equal values would hide ambiguous names
  std::vector<option> known;
  for (const Option &one : kOptions)
    known.push_back ({ one.name, one.has_argument, nullptr, kFirst + int (known.size ()) });
  known.insert (known.end (), { { "help", no_argument, nullptr, 'h' }, {} });
  for (int got; (got = getopt_long (argc, argv, "h", known.data (), nullptr)) != -1;) {
    if (got == 'h') {
      std::fputs (kHelp, stdout);
      std::exit (0);
    }
    if (got < kFirst) {
      std::fprintf (stderr, "Try 'inthist-check --help'.\n");
      std::exit (2);
    }
    const Option &one = kOptions[got - kFirst];
    one.take (a, (std::string ("--") + one.name).c_str (), optarg ? optarg : "");
    if (one.with_bench)
      a.only_with_bench = one.name;
  }
  a.options.names.assign (argv + optind, argv + argc);
  return a;
}

/// Chooses strategies and peers by the given names, or all of them, on the chosen devices.
void choose_names (Arguments &a)
{
  Options &o = a.options;
  std::string known;
  for (const Strategy &strategy : strategies ()) {
    known += std::string (" ") + strategy.name;
    if (a.wants (strategy.device) && (o.names.empty () || o.is_named (strategy.name)))
      o.strategies.push_back (&strategy);
  }
  std::string known_peers;
  for (const Peer &peer : peers ()) {
    known_peers += std::string (" ") + peer.name;
    if (a.wants (peer.device)
        && (peer.ceiling || o.is_named (peer.name) || a.peers.value_or (o.names.empty ())))
      o.peers.push_back (&peer);
  }
  for (const std::string &name : o.names) {
    const auto peer = std::ranges::find (peers (), name, &Peer::name);
    const Strategy *const strategy = find_strategy (name);
    const bool is_peer = peer != peers ().end ();
    if (!is_peer && !strategy)
      usage_error (text ("\"%s\" is neither a strategy (%s) nor a peer (%s)", name.c_str (),
                         known.c_str () + 1, known_peers.c_str () + 1));
    if (a.list)
      continue;
    if (is_peer && !a.bench)
      usage_error (text ("\"%s\" is a peer: it is there to be timed, with --bench", name.c_str ()));
    const Device device = is_peer ? peer->device : strategy->device;
    if (!a.wants (device))
      usage_error (text ("\"%s\" runs on %s only: --device %s leaves it out", name.c_str (),
                         name_of (device), a.device.c_str ()));
    if (is_peer && !peer->add)
      usage_error (text ("\"%s\" is not in this build", name.c_str ()));
  }
}

void choose_shapes (Arguments &a)
{
  Options &o = a.options;
  const bool given = !a.sizes.empty () || !a.bins.empty () || a.counter || a.table;
  if (!given && !a.bench) {  // the case list
    if (const char *const cases = std::getenv ("INTHIST_CASES"); cases && !a.cases_given)
      o.small = !std::strcmp (cases, "small");
    return;
  }
  if (o.small && given)
    usage_error ("--cases small does not go with --size, --bins, --counter and --table");
  if (a.counter && a.table)
    usage_error ("--table names its counter: --counter does not go with it");
  if (a.table && !a.pictures.empty ())
    usage_error ("--picture is of a histogram: --table does not go with it");
  if (a.table && o.regions)
    usage_error ("--regions are of a histogram: --table does not go with it");
  if (!a.pictures.empty ())
    o.pictures = a.pictures;
  if (std::ranges::find (o.pictures, "frame") != o.pictures.end ()
      && (a.sizes != std::vector<std::pair<int, int>>{ { 768, 576 } }
          || !std::getenv ("INTHIST_TEST_FRAMES")))
    usage_error ("--picture frame takes --size 768x576, and $INTHIST_TEST_FRAMES");
  if (a.sizes.empty ())
    a.sizes = { { 640, 480 }, { 1280, 720 }, { 1920, 1080 } };
  if (a.bins.empty ())
    a.bins = { a.table ? 1 : 32 };
  constexpr std::size_t kMax = std::size_t (1)
                               << 40;  // bytes of a tensor that a machine may have memory for
  for (const auto &[width, height] : a.sizes)
    for (const int bins : a.bins) {
      Shape shape{ width, height, bins, a.counter.value_or (Type::u32) };
      if (a.table)
        shape = { width, height, bins, a.table->second, Content::sums, a.table->first };
      if (!is_valid (shape))
        usage_error (text ("--bins %d: a table has one plane, and of u8:u32 one or two", bins));
      const std::size_t bytes = tensor_bytes (shape);
      if (const std::string why = bytes > kMax ? no_room (Device::cpu, 3 * bytes, 0) : "";
          !why.empty ())
        usage_error (text ("--size: %s %s", name_of (shape).c_str (), why.c_str ()));
      o.shapes.push_back (shape);
    }
}

/// One shape of each kind stands for the case list.
std::vector<Shape> shapes_of (const Options &o)
{
  return o.shapes.empty () ? kinds () : o.shapes;
}

/// A named strategy or peer is a mistake if it takes none of the shapes, or none with these
/// parameters.
void check_names (const Options &o)
{
  const std::vector<Shape> shapes = shapes_of (o);
  const auto refuse = [&] (const char *name, const char *limit) {
    usage_error (text ("\"%s\" takes %s: not %s%s", name, limit, name_of (shapes.front ()).c_str (),
                       shapes.size () > 1 ? ", ..." : ""));
  };
  for (const Strategy *const strategy : o.strategies) {
    if (!o.is_named (strategy->name))
      continue;
    const auto offers = [] (std::span<const int> offered, int value) {
      return value == 0 || std::ranges::find (offered, value) != offered.end ();
    };
    if (!offers (strategy->tiles, o.tile.value) || !offers (strategy->threads, o.threads.value))
      usage_error (
          text ("\"%s\" does not offer this --tile or --threads; see --list", strategy->name));
    if (!can_run (o, *strategy))
      refuse (strategy->name, limit_of (*strategy, shapes.front ()));
  }
  for (const Peer *const peer : o.peers)
    if (o.is_named (peer->name) && std::ranges::none_of (shapes, peer->takes))
      refuse (peer->name, peer->limit);
}

/// A parameter is a mistake if none of the chosen strategies offers it.
void check_parameters (const Options &o)
{
  const auto expect = [&] (const char *option, const Choice &choice,
                           std::span<const int> Strategy::*offered) {
    const auto offers = [&] (const Strategy *strategy) {
      return std::ranges::find (strategy->*offered, choice.value) != (strategy->*offered).end ();
    };
    if (!choice.all && choice.value != 0 && std::ranges::none_of (o.strategies, offers))
      usage_error (
          text ("%s: no strategy in question offers %d; see --list", option, choice.value));
  };
  expect ("--tile", o.tile, &Strategy::tiles);
  expect ("--threads", o.threads, &Strategy::threads);
}

}  // namespace

[[noreturn]] void usage_error (const std::string &what)
{
  std::fprintf (stderr, "inthist-check: %s\nTry 'inthist-check --help'.\n", what.c_str ());
  std::exit (2);
}

bool can_run (const Options &o, const Strategy &strategy)
{
  for (const Shape &shape : shapes_of (o))
    for (const Tuning &tuning : tunings_of (strategy, o.tile, o.threads))
      if (accepts (strategy, shape, tuning))
        return true;
  return false;
}

Arguments read_arguments (int argc, char **argv)
{
  Arguments a = parse (argc, argv);
  if (a.only_with_bench && !a.bench)
    usage_error (text ("--%s goes with --bench", a.only_with_bench));
  if (a.bench && a.options.small)
    usage_error ("--cases does not go with --bench");
  if (a.device == "cuda" && !INTHIST_CUDA)
    usage_error ("--device cuda: this build has no CUDA");
  choose_names (a);
  choose_shapes (a);
  return a;
}

void check_limits (const Options &o)
{
  check_parameters (o);
  check_names (o);
}

}  // namespace inthist::check
