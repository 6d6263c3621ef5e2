// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A steady clock, for measurements of time.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace inthist {

using Clock = std::chrono::steady_clock;

constexpr double kForEver = std::numeric_limits<double>::infinity ();

inline double seconds_since (Clock::time_point start)
{
  return std::chrono::duration<double> (Clock::now () - start).count ();
}

inline std::uint64_t nanoseconds_since (Clock::time_point start)
{
  return std::uint64_t (std::chrono::nanoseconds (Clock::now () - start).count ());
}

}  // namespace inthist
