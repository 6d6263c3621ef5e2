// SPDX-License-Identifier: LGPL-2.1-or-later
//
// inthist-check, in the manner of dav1d's checkasm: one program that runs every strategy on every device against the truth, over one case list, and times them.
//
//   cases       the case list           frame, truth   pixels, and what must come out     memory     guarded blocks and queues
//   verify      the checks              faults         a check of the checks
//   bench, rig  the timing              peers/         what strategies are timed against  report     table, CSV, JSON
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <getopt.h>

#include "bench.hpp"
#include "cases.hpp"
#include "peers/peers.hpp"
#include "text.hpp"
#include "verify.hpp"

namespace inthist::check {
namespace {

constexpr char kHelp[] =
    R"(Usage: inthist-check [OPTION]... [NAME]...

Runs every strategy on every device and compares all that it writes. With --bench it times them instead, and compares that.
NAMEs of strategies (and, with --bench, of peers) leave the others out.

What to run:
  --list                 the strategies with their parameters, and the peers; nothing is run
  --device DEVICE        cpu, cuda or all (all)
  --seed N               of all pictures and of the case list (20250); it is printed, with failures too
  --cases LIST           all, or small, for sanitizers: small frames, few launches, no guard behind a buffer (all)
  --size WxH             a frame of this size instead of the case list; may be repeated.
                         With --bench without a size: 640x480, 1280x720 and 1920x1080
  --bins N               bins of a histogram, planes of a table; may be repeated (32; 1)
  --counter TYPE         of a histogram: u32 or u16 (u32)
  --table PIXEL:COUNTER  a summed-area table instead of a histogram, such as u8:u32 or f32x4:f32x4
  --tile N|all           every strategy with this tile size, or with all that it has, instead of its own
  --threads N|all        the same for the threads of a block

Timing:
  --bench                microseconds a frame (median, 5th and 95th percentile), frames and useful bytes a second, and the share of
                         the ceiling, which is a memset of the same bytes in the same run; and what each stage takes
  --seconds S            for each shape and device (2)
  --peers, --no-peers    time the peers too, or only the ceilings (without NAMEs they are, with NAMEs they are not)
  --format FORMAT        table, csv or json (table)
  --output FILE          results go there instead of to stdout

  --help

PyTorch is timed by a script of its own: tests/inthist-check/peers/pytorch.py.

Exit status: 0 all is right, 1 something failed, 2 wrong usage. What is not to be had here has a line that starts with SKIP.
With --format csv or json on stdout, all else goes to stderr. $INTHIST_TEST_FRAMES names a file with frames of 768x576 GRAY8,
which join the case list.
)";

[[noreturn]] void
usage_error (const std::string &what)
{
  std::fprintf (stderr, "inthist-check: %s\nTry 'inthist-check --help'.\n", what.c_str ());
  std::exit (2);
}

template <class T>
T
number (const char *option, std::string_view value, T least, T most)
{
  T result = {};
  const auto [end, error] = std::from_chars (value.data (), value.data () + value.size (), result);
  if (error != std::errc () || end != value.data () + value.size () || !(result >= least && result <= most))
    usage_error (text ("%s: \"%.*s\" is not a number from %s to %s", option, int (value.size ()), value.data (),
                       std::to_string (least).c_str (), std::to_string (most).c_str ()));
  return result;
}

Type
type_of (const char *option, std::string_view name)
{
  for (const Type type : { Type::u8, Type::u16, Type::u32, Type::s32, Type::f32, Type::f64, Type::f32x4 })
    if (name == inthist::name_of (type))
      return type;
  usage_error (text ("%s: no type is called \"%.*s\"", option, int (name.size ()), name.data ()));
}

Choice
choice (const char *option, std::string_view value)
{
  if (value == "all")
    return { .all = true };
  return { .value = number (option, value, 1, 65536) };
}

/// The command line, before it is known what is there.
struct Arguments {
  bool bench = false, list = false;
  std::string device = "all";
  std::vector<std::pair<int, int>> sizes;
  std::vector<int> bins;
  std::optional<Type> counter;
  std::optional<std::pair<Type, Type>> table;
  std::optional<bool> peers;
  std::vector<std::string> names;
  const char *only_with_bench = nullptr;  // an option that was given
  Options options;
};

Arguments
parse (int argc, char **argv)
{
  enum {
    kList = 1,
    kDevice,
    kSeed,
    kCases,
    kSize,
    kBins,
    kCounter,
    kTable,
    kTile,
    kThreads,
    kBench,
    kSeconds,
    kPeers,
    kNoPeers,
    kFormat,
    kOutput,
    kHelpOption
  };
  static const option kOptions[] = {
    { "list", no_argument, nullptr, kList },
    { "device", required_argument, nullptr, kDevice },
    { "seed", required_argument, nullptr, kSeed },
    { "cases", required_argument, nullptr, kCases },
    { "size", required_argument, nullptr, kSize },
    { "bins", required_argument, nullptr, kBins },
    { "counter", required_argument, nullptr, kCounter },
    { "table", required_argument, nullptr, kTable },
    { "tile", required_argument, nullptr, kTile },
    { "threads", required_argument, nullptr, kThreads },
    { "bench", no_argument, nullptr, kBench },
    { "seconds", required_argument, nullptr, kSeconds },
    { "peers", no_argument, nullptr, kPeers },
    { "no-peers", no_argument, nullptr, kNoPeers },
    { "format", required_argument, nullptr, kFormat },
    { "output", required_argument, nullptr, kOutput },
    { "help", no_argument, nullptr, kHelpOption },
    {},
  };
  Arguments a;
  Options &o = a.options;
  const auto one_of = [] (const char *option, std::string_view value, std::initializer_list<std::string_view> allowed) {
    std::string names;
    for (const std::string_view name : allowed) {
      if (value == name)
        return;
      names += (names.empty () ? "" : ", ") + std::string (name);
    }
    usage_error (text ("%s: \"%.*s\" is none of %s", option, int (value.size ()), value.data (), names.c_str ()));
  };
  while (true) {
    const int got = getopt_long (argc, argv, "", kOptions, nullptr);
    const std::string_view value = optarg ? optarg : "";
    switch (got) {
      case -1: a.names.assign (argv + optind, argv + argc); return a;
      case kList: a.list = true; break;
      case kBench: a.bench = true; break;
      case kDevice:
        one_of ("--device", value, { "cpu", "cuda", "all" });
        a.device = value;
        break;
      case kSeed: o.seed = number ("--seed", value, 0u, UINT32_MAX); break;
      case kCases:
        one_of ("--cases", value, { "all", "small" });
        o.small = value == "small";
        break;
      case kSize: {
        const auto x = value.find ('x');
        if (x == value.npos)
          usage_error (text ("--size: \"%s\" is not of the form WIDTHxHEIGHT", optarg));
        a.sizes.push_back ({ number ("--size", value.substr (0, x), 1, 1 << 20), number ("--size", value.substr (x + 1), 1, 1 << 20) });
        break;
      }
      case kBins: a.bins.push_back (number ("--bins", value, 1, 256)); break;
      case kCounter: a.counter = type_of ("--counter", value); break;
      case kTable: {
        const auto colon = value.find (':');
        if (colon == value.npos)
          usage_error (text ("--table: \"%s\" is not of the form PIXEL:COUNTER", optarg));
        a.table = { type_of ("--table", value.substr (0, colon)), type_of ("--table", value.substr (colon + 1)) };
        break;
      }
      case kTile: o.tile = choice ("--tile", value); break;
      case kThreads: o.threads = choice ("--threads", value); break;
      case kSeconds:
        o.seconds = number ("--seconds", value, 0.0, 3600.0);
        a.only_with_bench = "--seconds";
        break;
      case kPeers:
        a.peers = true;
        a.only_with_bench = "--peers";
        break;
      case kNoPeers:
        a.peers = false;
        a.only_with_bench = "--no-peers";
        break;
      case kFormat:
        one_of ("--format", value, { "table", "csv", "json" });
        o.format = value == "csv" ? Format::csv : value == "json" ? Format::json : Format::table;
        a.only_with_bench = "--format";
        break;
      case kOutput:
        o.output = value;
        a.only_with_bench = "--output";
        break;
      case kHelpOption: std::fputs (kHelp, stdout); std::exit (0);
      default: std::fprintf (stderr, "Try 'inthist-check --help'.\n"); std::exit (2);
    }
  }
}

/// Strategies and peers by the names given, or all of them.
void
choose_names (Arguments &a)
{
  Options &o = a.options;
  const auto named = [&] (const char *name) { return a.names.empty () || std::ranges::find (a.names, name) != a.names.end (); };
  std::string known;
  for (const Strategy &strategy : strategies ()) {
    known += std::string (" ") + strategy.name;
    if (named (strategy.name))
      o.strategies.push_back (&strategy);
  }
  std::string known_peers;
  for (const Peer &peer : peers ()) {
    known_peers += std::string (" ") + peer.name;
    if (peer.ceiling || a.peers.value_or (named (peer.name)))
      o.peers.push_back (&peer);
  }
  for (const std::string &name : a.names) {
    const bool peer = std::ranges::any_of (peers (), [&] (const Peer &p) { return p.name == name; });
    if (!peer && !find_strategy (name))
      usage_error (text ("\"%s\" is neither a strategy (%s) nor a peer (%s)", name.c_str (), known.c_str () + 1, known_peers.c_str () + 1));
    if (peer && !a.bench)
      usage_error (text ("\"%s\" is a peer: it is there to be timed, with --bench", name.c_str ()));
  }
}

void
choose_shapes (Arguments &a)
{
  Options &o = a.options;
  const bool given = !a.sizes.empty () || !a.bins.empty () || a.counter || a.table;
  if (!given && !a.bench)
    return;  // the case list
  if (o.small && given)
    usage_error ("--cases small does not go with --size, --bins, --counter and --table");
  if (a.counter && a.table)
    usage_error ("--table names its counter: --counter does not go with it");
  if (a.sizes.empty ())
    a.sizes = { { 640, 480 }, { 1280, 720 }, { 1920, 1080 } };
  if (a.bins.empty ())
    a.bins = { a.table ? 1 : 32 };
  for (const auto &[width, height] : a.sizes)
    for (const int bins : a.bins) {
      Shape shape{ width, height, bins, a.counter.value_or (Type::u32) };
      if (a.table)
        shape = { width, height, bins, a.table->second, Content::powers, a.table->first };
      if (!is_valid (shape))
        usage_error (text ("there is no such tensor: %s from %s, %d planes", inthist::name_of (shape.counter),
                           inthist::name_of (shape.pixel), shape.bins));
      o.shapes.push_back (shape);
    }
}

/// A parameter that no strategy in question offers is a mistake.
void
check_parameters (const Options &o)
{
  const auto expect = [&] (const char *option, const Choice &choice, std::span<const int> Strategy::*offered) {
    const auto offers = [&] (const Strategy *strategy) {
      return std::ranges::find (strategy->*offered, choice.value) != (strategy->*offered).end ();
    };
    if (!choice.all && choice.value != 0 && std::ranges::none_of (o.strategies, offers))
      usage_error (text ("%s: no strategy in question offers %d; see --list", option, choice.value));
  };
  expect ("--tile", o.tile, &Strategy::tiles);
  expect ("--threads", o.threads, &Strategy::threads);
}

void
list_all ()
{
  const auto values = [] (std::span<const int> list) {
    std::string all;
    for (const int value : list)
      all += text ("%s%d", all.empty () ? "" : ",", value);
    return all.empty () ? "-" : all;
  };
  std::printf ("%-22s %-6s %-12s %-20s %s\n", "strategy", "device", "tiles", "threads", "what");
  for (const Strategy &s : strategies ())
    std::printf ("%-22s %-6s %-12s %-20s %s%s%s%s\n", s.name, name_of (s.device), values (s.tiles).c_str (), values (s.threads).c_str (),
                 s.description, s.limit[0] ? "; takes " : "", s.limit, s.slow ? "; slow" : "");
  std::printf ("\n%-22s %-6s %s\n", "peer", "device", "what");
  for (const Peer &p : peers ())
    std::printf ("%-22s %-6s %s%s%s%s\n", p.name, name_of (p.device), p.description, p.limit[0] ? "; takes " : "", p.limit,
                 p.add ? "" : "; not in this build");
}

int
main (int argc, char **argv)
{
  Arguments a = parse (argc, argv);
  if (a.only_with_bench && !a.bench)
    usage_error (text ("%s goes with --bench", a.only_with_bench));
  if (a.bench && a.options.small)
    usage_error ("--cases does not go with --bench");
  choose_names (a);
  choose_shapes (a);
  check_parameters (a.options);
  if (a.list) {
    list_all ();
    return 0;
  }

  std::FILE *results = stdout;
  if (!a.options.output.empty () && !(results = std::fopen (a.options.output.c_str (), "w")))
    usage_error (text ("--output: %s: %m", a.options.output.c_str ()));
  std::FILE *const words = results == stdout && a.options.format != Format::table ? stderr : stdout;
  for (const Device device : kDevices) {
    if (a.device != "all" && a.device != (device == Device::cpu ? "cpu" : "cuda"))
      continue;
    const std::string why = why_not (device);
    if (why.empty ())
      a.options.devices.push_back (device);
    else
      std::fprintf (words, "SKIP: strategies on %s: %s\n", name_of (device), why.c_str ());
  }

  if (!a.bench)
    return verify (a.options) ? 0 : 1;
  const int timed = bench (a.options, results, words);
  if (results != stdout && std::fclose (results) != 0)
    throw std::runtime_error (text ("%s: %m", a.options.output.c_str ()));
  if (timed < 0)
    std::fprintf (words, "inthist-check: FAIL: %d candidate%s gave a wrong tensor\n", -timed, timed == -1 ? "" : "s");
  else
    std::fprintf (words, "inthist-check: all %d candidates gave the right tensor\n", timed);
  return timed < 0 ? 1 : 0;
}

}  // namespace
}  // namespace inthist::check

int
main (int argc, char **argv)
{
  setvbuf (stdout, nullptr, _IOLBF, 0);
  try {
    return inthist::check::main (argc, argv);
  } catch (const std::exception &error) {
    std::printf ("inthist-check: FAIL: cannot go on: %s\n", error.what ());
    return 1;
  }
}
