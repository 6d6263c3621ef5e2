// SPDX-License-Identifier: LGPL-2.1-or-later
#include "detection_matching.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "assignment.hpp"

namespace integralhist {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity ();

// The likeness of a target with itself after a second, and how much less it is with each e-fold of
// the time; with others; and the standard deviations of both. Looks of two frames depend on each
// other, so that they say less than their distributions do.
constexpr double kSame = 0.58, kSamePerTime = 0.06, kSameSpread = 0.15;
constexpr double kOther = -0.05, kOtherSpread = 0.2;
constexpr double kAppearanceWeight = 0.85, kMostOfAppearance = 12;
// The mean of few views says less: that of this many half as much as that of very many.
constexpr double kFewViews = 10;
constexpr double kShortest = 0.02, kLongest = 60;  // seconds
constexpr double kSizeSpread = 0.25;               // of the logarithm of the height
// The prior of a target that was not detected in more looks than these. It falls to its least
// value over so many seconds.
constexpr unsigned kNear = 3;
constexpr double kAway = -3, kAwayAfter = 5;
// A detection with little confidence is paired only with a target that it overlaps so much, and
// that was detected within so many looks.
constexpr double kWeakOverlap = 0.35;
constexpr unsigned kWeakLooks = 5;

double squared (double x)
{
  return x * x;
}

/// Returns the ratio of appearance: two normal distributions of the likeness, one of the same
/// target, with a mean that falls with time, and one of others. Nothing is gained from being still
/// less alike than the usual other.
double appearance_ratio (const SoughtTarget &target, const SoughtDetection &detection)
{
  if (target.appearance.empty () || detection.appearance.empty ())
    return 0;
  const double alike = likeness (target.appearance, detection.appearance);
  const double same =
      kSame - kSamePerTime * std::log (std::clamp (target.seconds, kShortest, kLongest));
  const double ratio = -0.5 * squared (std::min (alike - same, 0.0) / kSameSpread)
                       + 0.5 * squared (std::max (alike - kOther, 0.0) / kOtherSpread)
                       - std::log (kSameSpread / kOtherSpread);
  const double views = target.views;
  return std::min (kAppearanceWeight * views / (views + kFewViews) * ratio, kMostOfAppearance);
}

/// Returns the ratio of place: a normal distribution around the expected place, to detections that
/// are spread evenly over the frame.
double place_ratio (const ExpectedPlace &place, const TargetBox &box, double density)
{
  const double x = box.x + box.width / 2 - place.box.x - place.box.width / 2,
               y = box.y + box.height / 2 - place.box.y - place.box.height / 2;
  const double variance = squared (place.spread * place.box.height);
  return -(x * x + y * y) / (2 * variance) - std::log (2 * std::numbers::pi * variance * density);
}

double size_ratio (const SoughtTarget &target, const TargetBox &box)
{
  return -0.5 * squared (std::log (box.height / target.places[0].box.height) / kSizeSpread);
}

/// Returns the ratio of priors: a target that has been away for long may have left.
double prior_ratio (const SoughtTarget &target)
{
  return target.looks <= kNear ? 0 : kAway * std::min (target.seconds / kAwayAfter, 1.0);
}

double ratio_of (const SoughtTarget &target, const SoughtDetection &detection, double density)
{
  if (!are_of_one_kind (target.kind, detection.kind))
    return kNever;
  double place = kNever;
  for (const ExpectedPlace &its : target.places)
    place = std::max (place, place_ratio (its, detection.box, density));
  const double without = place + size_ratio (target, detection.box) + prior_ratio (target);
  if (without + kMostOfAppearance <= 0)
    return kNever;  // most pairs, which are too far apart for any likeness
  return without + appearance_ratio (target, detection);
}

}  // namespace

bool are_of_one_kind (const std::string &a, const std::string &b)
{
  return a.empty () || b.empty () || a == b;
}

std::vector<int> match_detections (std::span<const SoughtTarget> targets,
                                   std::span<const SoughtDetection> detections, double pixels)
{
  std::vector<int> detection_of (targets.size (), -1);
  const double density = double (detections.size ()) / pixels;
  for (const bool sure : { true, false }) {
    std::vector<std::size_t> rows, columns;
    for (std::size_t t = 0; t < targets.size (); t++)
      if (detection_of[t] < 0
          && (sure || (targets[t].is_confirmed && targets[t].looks <= kWeakLooks)))
        rows.push_back (t);
    for (std::size_t d = 0; d < detections.size (); d++)
      if (detections[d].is_sure == sure)
        columns.push_back (d);
    std::vector<double> gains;
    for (const std::size_t t : rows)
      for (const std::size_t d : columns)
        gains.push_back (
            sure || overlap (targets[t].places[0].box, detections[d].box) >= kWeakOverlap
                ? ratio_of (targets[t], detections[d], density)
                : kNever);
    const auto pairs = assign (gains, rows.size (), columns.size ());
    for (std::size_t i = 0; i < rows.size (); i++)
      if (pairs[i] >= 0)
        detection_of[rows[i]] = int (columns[std::size_t (pairs[i])]);
  }
  return detection_of;
}

}  // namespace integralhist
