// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The sector of every gradient of 8 bits equals the one by atan2 of a long double. A gradient that
// is nearer to a border than such an angle is wrong lies on it: then it is a multiple of 45
// degrees, as the tangents of other borders are irrational, and integers say the sector.
#include <cmath>
#include <numbers>
#include <vector>

#include "test.hpp"  // last: it has macros with names of the standard library

#include <kernels/features/sectors.hpp>

using inthist::Sectors;

namespace {

struct HalfTurn {
  int dx, dy;
  int eighths;             // of a turn; -1 of no multiple of 45 degrees
  long double half_turns;  // the angle, 0 to 1
};

/// All gradients that point down, or to the right.
std::vector<HalfTurn> gradients ()
{
  std::vector<HalfTurn> all;
  for (int dy = 0; dy <= 255; dy++)
    for (int dx = dy == 0 ? 1 : -255; dx <= 255; dx++) {
      const int eighths = dy == 0 ? 0 : dx == 0 ? 2 : dx == dy ? 1 : dx == -dy ? 3 : -1;
      all.push_back ({ dx, dy, eighths,
                       std::atan2 ((long double) (dy), (long double) (dx))
                           / std::numbers::pi_v<long double> });
    }
  return all;
}

}  // namespace

TEST_TIMEOUT (300);

TEST (every_gradient)
{
  const std::vector<HalfTurn> all = gradients ();
  fail_unless_equals_int (int (all.size ()), 255 + 255 * 511);
  for (int n = 1; n <= Sectors::kMax; n++) {
    const Sectors sectors = Sectors::of (n);
    for (const HalfTurn &g : all) {
      const long double position = g.half_turns * n;
      int wanted = int (std::floor (position));
      if (g.eighths >= 0)
        wanted = g.eighths * n / 4;
      else if (std::fabs (position - std::round (position)) < 1e-12L)
        fail ("gradient %d,%d is on a border of %d sectors", g.dx, g.dy, n);
      const int got = sectors.of_half_turn (g.dx, g.dy);
      if (got != wanted)
        fail ("gradient %d,%d is in sector %d of %d, not %d", g.dx, g.dy, got, n, wanted);
    }
  }
}
