// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tells libFuzzer which code runs. The compiler calls __sanitizer_cov_trace_pc in every basic block
// (-fsanitize-coverage=trace-pc, which GCC has too), and libFuzzer looks at all counters of the
// section below. This file itself is compiled without that. The linker puts __wrap_ before the
// name, because libFuzzer defines it as well.
#include <cstddef>
#include <cstdint>

constexpr int kLogCounters = 14;
__attribute__ ((
    section ("__libfuzzer_extra_counters"))) static std::uint8_t counters[1 << kLogCounters];

extern "C" void __wrap___sanitizer_cov_trace_pc ()
{
  // Fibonacci hashing: blocks that lie side by side get counters far from each other
  const auto at = reinterpret_cast<std::uintptr_t> (__builtin_return_address (0));
  counters[std::uint64_t (at) * 0x9e3779b97f4a7c15u >> (64 - kLogCounters)]++;
}

// GCC reports these comparisons too, and libFuzzer does not take them.
extern "C" void __sanitizer_cov_trace_cmpf (float, float) {}

extern "C" void __sanitizer_cov_trace_cmpd (double, double) {}
