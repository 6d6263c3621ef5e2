// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A steady clock in seconds, for measurements of time.
#pragma once

#include <chrono>
#include <limits>

namespace inthist {

using Clock = std::chrono::steady_clock;

constexpr double kForEver = std::numeric_limits<double>::infinity ();

inline double seconds_since (Clock::time_point start)
{
  return std::chrono::duration<double> (Clock::now () - start).count ();
}

}  // namespace inthist
