// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The options of the command line.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <kernels/inthist.hpp>

namespace inthist::check {

struct Peer;

/// Values of a parameter: its default, one, or all that a strategy offers.
struct Choice {
  bool all = false;
  int value = 0;

  bool is_default () const { return !all && value == 0; }
  std::vector<int> of (std::span<const int> offered) const
  {
    if (all && !offered.empty ())
      return { offered.begin (), offered.end () };
    return { value };
  }
};

enum class Format { table, csv, json };

struct Options {
  unsigned seed = 20250;
  bool small = false;
  std::vector<std::string> names;            // of strategies and peers, as given
  std::vector<Device> devices;               // that exist and have something to run
  std::vector<const Strategy *> strategies;  // of these devices
  std::vector<Shape> shapes;                 // instead of the case list
  Choice tile, threads;

  std::vector<const Peer *> peers;
  std::vector<std::string> pictures = { "landscape" };  // that a histogram is timed with
  int regions = 0;                                      // to time on finished histograms
  bool transfers = false;  // also with the pixels uploaded and the tensor downloaded
  int buffers = 0;         // that take turns; 0: exceed the caches
  double seconds = 2;
  Format format = Format::table;
  std::string output;

  bool is_named (std::string_view name) const
  {
    return std::ranges::find (names, name) != names.end ();
  }
};

/// The strategy's parameters that the choices name; not all of them need be offered.
inline std::vector<Tuning> tunings_of (const Strategy &strategy, const Choice &tile,
                                       const Choice &threads)
{
  std::vector<Tuning> list;
  for (const int rows : tile.of (strategy.tiles))
    for (const int block : threads.of (strategy.threads))
      list.push_back ({ rows, block });
  return list;
}

/// Returns what a strategy takes, in words, for a shape that it refuses.
inline const char *limit_of (const Strategy &strategy, const Shape &shape)
{
  return shape.counter == Type::u8_tiled && !strategy.makes_tiles ? "no tiles" : strategy.limit;
}

/// Names a strategy and its parameters: "cw-tis, tile 32, threads 256".
std::string label_of (const Strategy &strategy, const Tuning &tuning);

}  // namespace inthist::check
