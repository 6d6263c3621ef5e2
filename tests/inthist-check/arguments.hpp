// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The command line of inthist-check. An impossible request is wrong usage: a message, and the exit
// status 2.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "options.hpp"

namespace inthist::check {

/// The command line, before the available devices are known.
struct Arguments {
  bool bench = false, list = false, cases_given = false;
  std::string device = "all";
  std::vector<std::pair<int, int>> sizes;
  std::vector<int> bins;
  std::vector<std::string> pictures;
  std::optional<Type> counter;
  std::optional<std::pair<Type, Type>> table;
  std::optional<bool> peers;
  const char *only_with_bench = nullptr;  // the name of an option that was given
  Options options;

  bool wants (Device which) const
  {
    return device == "all" || (device == "cpu") == (which == Device::cpu);
  }
};

/// Reads the command line, with the strategies, peers and shapes that it means.
Arguments read_arguments (int argc, char **argv);

/// Ends the program if a strategy, a peer or a parameter that is named can never run.
void check_limits (const Options &o);

/// Tells whether the strategy takes one of the shapes with one of the parameters that were chosen.
bool can_run (const Options &o, const Strategy &strategy);

[[noreturn]] void usage_error (const std::string &what);

}  // namespace inthist::check
