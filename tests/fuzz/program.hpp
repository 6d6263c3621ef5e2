// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Helpers of the fuzzers that do not take bytes: --seed and --seconds, and random numbers.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <csignal>

#include "../support/command_line.hpp"
#include "require.hpp"

class Random {
public:
  explicit Random (std::uint64_t seed) : engine_ (seed) {}

  std::uint64_t word () { return engine_ (); }
  int between (int low, int high) { return std::uniform_int_distribution (low, high) (engine_); }
  double share () { return std::uniform_real_distribution () (engine_); }
  bool with (double probability) { return share () < probability; }

  template <class T>
  const T &one_of (const std::vector<T> &list)
  {
    return list[word () % list.size ()];
  }
  template <class T, std::size_t n>
  const T &one_of (const T (&list)[n])
  {
    return list[word () % n];
  }

private:
  std::mt19937_64 engine_;
};

struct ProgramOptions {
  std::uint64_t seed;
  int seconds = 10;
  std::string backend = "cpu";
};

/// Reads the options, and prints the seed.
inline ProgramOptions read_options (int argc, char **argv)
{
  ProgramOptions options = { .seed = std::random_device{}() };
  command_line::read (argc, argv, "options: [--seed N] [--seconds N] [--backend cpu|cuda|auto]\n",
                      { { "--seed", command_line::number (options.seed, std::uint64_t (0)) },
                        { "--seconds", command_line::number (options.seconds, 0) },
                        { "--backend", command_line::text (options.backend) } });
  std::printf ("seed %llu\n", static_cast<unsigned long long> (options.seed));
  std::fflush (stdout);
  return options;
}

/// A function of the sanitizers' runtime, if that is linked.
extern "C" __attribute__ ((weak)) void __sanitizer_set_death_callback (void (*callback) ());

/// Calls `tell` when REQUIRE, a sanitizer or a signal ends the process. The signal then ends it.
inline void tell_at_the_end (void (*tell) ())
{
  static struct sigaction before[NSIG];
  tell_what_was_done = tell;
  if (__sanitizer_set_death_callback)
    __sanitizer_set_death_callback (tell);
  struct sigaction action = {};
  action.sa_handler = [] (int number) {
    tell_what_was_done ();
    sigaction (number, &before[number], nullptr);  // what happened happens again
  };
  for (const int number : { SIGSEGV, SIGBUS, SIGFPE, SIGILL })
    sigaction (number, &action, &before[number]);
}

/// Says when to stop.
inline std::chrono::steady_clock::time_point end_of (const ProgramOptions &options)
{
  return std::chrono::steady_clock::now () + std::chrono::seconds (options.seconds);
}
