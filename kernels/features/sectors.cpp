// SPDX-License-Identifier: LGPL-2.1-or-later
#include "sectors.hpp"

#include <cmath>
#include <numbers>

namespace inthist {

Sectors Sectors::of (int n)
{
  // the last table of sectors is kept, because computing one takes microseconds
  thread_local int known = 0;
  thread_local Sectors sectors;
  if (n == known)
    return sectors;
  known = n;
  sectors.n = n;
  for (int i = 0; i <= n; i++) {
    const double angle = std::numbers::pi * i / n;
    sectors.begin[i] = { std::int32_t (std::lround (std::cos (angle) * (1 << kBits))),
                         std::int32_t (std::lround (std::sin (angle) * (1 << kBits))) };
  }
  return sectors;
}

}  // namespace inthist
