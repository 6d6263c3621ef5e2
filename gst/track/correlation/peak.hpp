// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <algorithm>

namespace integralhist {

/// Returns where between three equally spaced values their parabola is highest, from the middle
/// one: -0.5 to 0.5.
inline double peak_between (double before, double middle, double after)
{
  const double bend = before - 2 * middle + after;
  return bend < 0 ? std::clamp (0.5 * (before - after) / bend, -0.5, 0.5) : 0;
}

}  // namespace integralhist
