// SPDX-License-Identifier: LGPL-2.1-or-later
#include "camera_motion.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include <gst/track/base/median.hpp>

namespace integralhist {

static constexpr std::size_t kMinTargets = 4;
// The median displacement of targets is a shift of the camera if at least a share of kAgreeingShare
// of the targets lies within kAgreeingDistance of the median. A median below kMinShift may be the
// targets' own motion. Both lengths are in heights of a target's box.
static constexpr double kAgreeingShare = 0.7, kAgreeingDistance = 0.08, kMinShift = 0.06;

std::optional<Shift> camera_shift (std::span<const BoxPair> targets)
{
  if (targets.size () < kMinTargets)
    return {};
  std::vector<double> x, y, heights;
  for (const auto &[expected, found] : targets) {
    x.push_back (found.x + found.width / 2 - expected.x - expected.width / 2);
    y.push_back (found.y + found.height / 2 - expected.y - expected.height / 2);
    heights.push_back (found.height);
  }
  const Shift shift = { median (x), median (y) };
  const double height = median (heights);
  std::size_t n_agree = 0;
  for (std::size_t i = 0; i < targets.size (); i++)
    n_agree += std::hypot (x[i] - shift.x, y[i] - shift.y) <= kAgreeingDistance * height;
  if (double (n_agree) < kAgreeingShare * double (targets.size ())
      || std::hypot (shift.x, shift.y) < kMinShift * height)
    return {};
  return shift;
}

}  // namespace integralhist
