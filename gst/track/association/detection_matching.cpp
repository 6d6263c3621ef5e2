// SPDX-License-Identifier: LGPL-2.1-or-later
#include "detection_matching.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "assignment.hpp"

namespace integralhist {
namespace {

constexpr double kNear = 1, kLikeness = 0.5;  // their weights beside that of the overlap
/// How much of both must overlap, or else how alike both must look.
struct Least {
  double overlap, likeness;
};
constexpr Least kOfPresent = { 0.1, 0.4 }, kOfAbsent = { 0.3, 0.75 };
constexpr double kMostGrowth = 1.6;  // of a side of it
constexpr double kOneSpot = 0.55;  // overlap from which on boxes are one object, whatever its kind

bool differ (const std::string &a, const std::string &b)
{
  return !a.empty () && !b.empty () && a != b;
}

/// Returns how far a box is from another, in sides of it.
double distance_of (const TargetBox &a, const TargetBox &b)
{
  return std::hypot (a.x + a.width / 2 - b.x - b.width / 2, a.y + a.height / 2 - b.y - b.height / 2)
         / std::sqrt (a.width * a.height);
}

/// Returns whether a side is much longer or shorter than it was.
bool is_resized (double from, double to)
{
  return std::max (from, to) > kMostGrowth * std::min (from, to);
}

/// Returns how well a detection fits a target; 0 where it cannot be its.
double gain_of (const SoughtTarget &target, const SoughtDetection &detection)
{
  const TargetBox &box = detection.box;
  double both = 0, near = 0;
  for (const TargetBox &place : target.places) {
    both = std::max (both, overlap (place, box));
    near = std::max (near, 1 - distance_of (place, box) / target.reach);
  }
  const Least least = target.is_present ? kOfPresent : kOfAbsent;
  const bool is_other = differ (target.kind, detection.kind);
  if (near <= 0 && both < (is_other ? kOneSpot : least.overlap))
    return 0;  // most pairs, whose histograms need no look
  const double alike = likeness (target.appearance, detection.appearance);
  const bool is_its = near > 0 && alike >= least.likeness && !is_other
                      && !is_resized (target.places[0].width, box.width)
                      && !is_resized (target.places[0].height, box.height);
  if (!is_its && both < (is_other ? kOneSpot : least.overlap))
    return 0;
  return both + kNear * near + kLikeness * alike;
}

}  // namespace

bool are_on_one_spot (const TargetBox &a, const TargetBox &b)
{
  return overlap (a, b) > kOneSpot;
}

std::vector<int> match_detections (std::span<const SoughtTarget> targets,
                                   std::span<const SoughtDetection> detections)
{
  std::vector<double> gains;
  for (const SoughtTarget &target : targets)
    for (const SoughtDetection &detection : detections)
      gains.push_back (gain_of (target, detection));
  return assign (gains, targets.size (), detections.size ());
}

}  // namespace integralhist
