// SPDX-License-Identifier: LGPL-2.1-or-later
//
// inthist-check, in the manner of dav1d's checkasm: one program that runs every strategy on every
// device against the truth, over one case list, and times them.
//
//   arguments     the command line
//   cases         the case list
//   frame, truth  pixels, and what must come out
//   memory        guarded blocks and queues
//   verify        the checks
//   faults        a check of the checks
//   bench, rig    the timing
//   peers/        what strategies are timed against
//   report        table, CSV, JSON
#include <cstdio>
#include <memory>

#include <kernels/registry.hpp>

#include "arguments.hpp"
#include "bench.hpp"
#include "peers/peers.hpp"
#include "text.hpp"
#include "verify.hpp"

namespace inthist::check {
namespace {

constexpr int kNothingRan = 77;  // an exit status that Meson takes for a skip

void list_all (const Arguments &a)
{
  const auto listed = [&] (const char *name, Device device) {
    return a.wants (device) && (a.options.names.empty () || a.options.is_named (name));
  };
  const auto values = [] (std::span<const int> list) {
    std::string all;
    for (const int value : list)
      all += text ("%s%d", all.empty () ? "" : ",", value);
    return all.empty () ? "-" : all;
  };
  std::printf ("%-22s %-6s %-12s %-20s %s\n", "strategy", "device", "tiles", "threads", "what");
  for (const Strategy &s : strategies ())
    if (listed (s.name, s.device))
      std::printf ("%-22s %-6s %-12s %-20s %s%s%s%s\n", s.name, name_of (s.device),
                   values (s.tiles).c_str (), values (s.threads).c_str (), s.description,
                   s.limit[0] ? "; takes " : "", s.limit, s.slow ? "; slow" : "");
  std::printf ("\n%-22s %-6s %s\n", "peer", "device", "what");
  for (const Peer &p : peers ())
    if (listed (p.name, p.device))
      std::printf ("%-22s %-6s %s%s%s%s\n", p.name, name_of (p.device), p.description,
                   p.limit[0] ? "; takes " : "", p.limit, p.add ? "" : "; not in this build");
}

/// Keeps the available devices that have something to run, and the strategies on them. Prints a
/// line for every other device that says why.
void choose_devices (Arguments &a, std::FILE *words)
{
  Options &o = a.options;
  for (const Device device : kDevices) {
    const auto is_here = [&] (const auto *one) { return one->device == device; };
    const auto is_asked_for = [&] (const Peer *peer) {
      return is_here (peer) && (!peer->ceiling || o.is_named (peer->name));
    };
    const bool peers = a.bench && std::ranges::any_of (o.peers, is_asked_for);
    if (!a.wants (device)
        || (!peers && !o.names.empty () && std::ranges::none_of (o.strategies, is_here)))
      continue;
    if (const std::string why = why_not (device); !why.empty ())
      std::fprintf (words, "SKIP: strategies on %s: %s\n", name_of (device), why.c_str ());
    else if (peers || std::ranges::any_of (o.strategies, [&] (const Strategy *one) {
               return is_here (one) && can_run (o, *one);
             }))
      o.devices.push_back (device);
    else
      std::fprintf (words, "refused: all strategies on %s: these shapes with these parameters\n",
                    name_of (device));
  }
  const auto is_gone = [&] (const auto *one) {
    return std::ranges::find (o.devices, one->device) == o.devices.end ();
  };
  std::erase_if (o.strategies, is_gone);
  std::erase_if (o.peers, is_gone);
}

bool is_written (std::FILE *file, const Arguments &a)
{
  std::fflush (file);
  if (!std::ferror (file))
    return true;
  std::fprintf (stderr, "inthist-check: FAIL: %s could not be written\n",
                a.options.output.empty () ? "stdout" : a.options.output.c_str ());
  return false;
}

/// Does what the command line says, and returns the exit status.
int run (Arguments &a, std::FILE *results, std::FILE *words)
{
  try {
    choose_devices (a, words);
    const int ran = a.options.devices.empty () ? 0
                    : a.bench                  ? bench (a.options, results, words)
                                               : verify (a.options);
    if (!is_written (results, a))
      return 1;
    if (ran == 0) {
      std::fprintf (
          words,
          "inthist-check: nothing ran (the lines that start with SKIP or refused say why)\n");
      return kNothingRan;
    }
    if (a.bench && ran < 0)
      std::fprintf (words, "inthist-check: FAIL: %d candidate%s gave a wrong tensor\n", -ran,
                    ran == -1 ? "" : "s");
    else if (a.bench)
      std::fprintf (words,
                    ran == 1 ? "inthist-check: the one candidate gave the right tensor\n"
                             : "inthist-check: all %d candidates gave the right tensor\n",
                    ran);
    return ran < 0 ? 1 : 0;
  } catch (const std::bad_alloc &) {
    std::fprintf (words,
                  "inthist-check: FAIL: cannot go on: out of memory, %.1f GiB are free: a smaller "
                  "--size or fewer --bins\n",
                  double (free_bytes (Device::cpu)) / (1 << 30));
  } catch (const std::exception &error) {
    std::fprintf (words, "inthist-check: FAIL: cannot go on: %s\n", error.what ());
  }
  return 1;
}

int main (int argc, char **argv)
{
  Arguments a = read_arguments (argc, argv);
  if (a.list) {
    list_all (a);
    return is_written (stdout, a) ? 0 : 1;
  }
  check_limits (a.options);

  using File = std::unique_ptr<std::FILE, int (*) (std::FILE *)>;
  const File file (a.options.output.empty () ? nullptr
                                             : std::fopen (a.options.output.c_str (), "w"),
                   std::fclose);
  if (!a.options.output.empty () && !file)
    usage_error (text ("--output: %s: %m", a.options.output.c_str ()));
  return run (a, file ? file.get () : stdout,
              !file && a.options.format != Format::table ? stderr : stdout);
}

}  // namespace
}  // namespace inthist::check

int main (int argc, char **argv)
{
  setvbuf (stdout, nullptr, _IOLBF, 0);
  return inthist::check::main (argc, argv);
}
