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

constexpr double kNoPair = -std::numeric_limits<double>::infinity ();

// The likeness (appearance.hpp) of two views of one target has a mean of kSameLikeness after a
// second. The mean falls by kSameLikenessPerTime with each e-fold of the time. Views of two targets
// have a mean likeness of kOtherLikeness. The spreads are standard deviations.
constexpr double kSameLikeness = 0.58, kSameLikenessPerTime = 0.06, kSameSpread = 0.15;
constexpr double kOtherLikeness = -0.05, kOtherSpread = 0.2;
// With n views of a target, at most 16, the likeness has the weight kAppearanceWeight n / (n +
// kFewViews). Few views are less reliable, and views of two frames depend on each other.
constexpr double kAppearanceWeight = 1.1, kFewViews = 10;
// The probability that a target's detection shows another object, such as one in front.
constexpr double kOccludedProbability = 0.2;
constexpr double kMinSeconds = 0.02, kMaxSeconds = 60;  // since the last detection
constexpr double kSizeSpread = 0.25;                    // of the height's logarithm
// A target that was not detected for more than kRunsBeforeAway runs of the detector may have left.
// The logarithm of its prior probability falls from 0 to kAwayScore within kAwaySeconds.
constexpr unsigned kRunsBeforeAway = 3;
constexpr double kAwayScore = -3, kAwaySeconds = 5;
// A detection with little confidence is paired with a target only if it overlaps the target's box
// by kWeakIou, and the target was detected within the last kWeakRuns runs of the detector.
constexpr double kWeakIou = 0.35;
constexpr unsigned kWeakRuns = 5;

/// The score's term for the place of a detection: the logarithm of a normal distribution around a
/// target's expected place, divided by detections that are spread evenly over the frame.
class PositionScore {
public:
  PositionScore (const ExpectedBox &expected, double density)
      : x_ (expected.box.x + expected.box.width / 2), y_ (expected.box.y + expected.box.height / 2)
  {
    const double variance = squared (expected.spread * expected.box.height);
    slope_ = 1 / (2 * variance);
    largest_ = -std::log (2 * std::numbers::pi * variance * density);
  }
  double of (double x, double y) const
  {
    return largest_ - (squared (x - x_) + squared (y - y_)) * slope_;
  }

private:
  double x_, y_, slope_, largest_;
};

struct Position {
  explicit Position (const TargetBox &box)
      : x (box.x + box.width / 2), y (box.y + box.height / 2), log_height (std::log (box.height))
  {
  }
  double x, y, log_height;
};

/// Computes the score (detection_matching.hpp) of one target and any detection.
class TargetScore {
public:
  TargetScore (const Prediction &target, double density)
      : target_ (target), log_height_ (std::log (target.boxes[0].box.height))
  {
    for (const ExpectedBox &expected : target.boxes)
      position_scores_.emplace_back (expected, density);
    const double views = target.views;
    weight_ = kAppearanceWeight * views / (views + kFewViews);
    same_ =
        kSameLikeness
        - kSameLikenessPerTime * std::log (std::clamp (target.seconds, kMinSeconds, kMaxSeconds));
    prior_ = target.runs <= kRunsBeforeAway
                 ? 0
                 : kAwayScore * std::min (target.seconds / kAwaySeconds, 1.0);
    max_appearance_score_ = weight_ * likeness_score (1);
  }

  double of (const PreparedDetection &detection, const Position &at) const
  {
    double position_score = kNoPair;
    for (const PositionScore &score : position_scores_)
      position_score = std::max (position_score, score.of (at.x, at.y));
    const double without_appearance =
        position_score + prior_ - 0.5 * squared ((at.log_height - log_height_) / kSizeSpread);
    if (without_appearance + max_appearance_score_ <= 0
        || !classes_match (target_.class_name, detection.class_name))
      return kNoPair;  // even a likeness of 1 would give no positive score
    return without_appearance + appearance_score (detection);
  }

private:
  /// Returns the logarithm of the ratio of two normal distributions of a likeness: that of one
  /// target's views and that of two targets' views. It does not rise again for a likeness below
  /// both means.
  double likeness_score (double alike) const
  {
    return -0.5 * squared (std::min (alike - same_, 0.0) / kSameSpread)
           + 0.5 * squared (std::max (alike - kOtherLikeness, 0.0) / kOtherSpread)
           - std::log (kSameSpread / kOtherSpread);
  }

  /// Returns the score's term for the appearance of a detection. A low likeness lowers the score
  /// only to a limit, because a detection of the target may show an object in front of the target.
  double appearance_score (const PreparedDetection &detection) const
  {
    if (target_.appearance.empty () || detection.appearance.empty ())
      return 0;
    const double ratio =
        weight_ * likeness_score (likeness (target_.appearance, detection.appearance));
    return std::log ((1 - kOccludedProbability) * std::exp (ratio) + kOccludedProbability);
  }

  const Prediction &target_;
  std::vector<PositionScore> position_scores_;
  double log_height_, weight_, same_, prior_, max_appearance_score_;
};

}  // namespace

bool classes_match (const std::string &a, const std::string &b)
{
  return a.empty () || b.empty () || a == b;
}

std::vector<int> match_detections (std::span<const Prediction> targets,
                                   std::span<const PreparedDetection> detections, double pixels)
{
  std::vector<int> detection_of (targets.size (), -1);
  const double density = double (detections.size ()) / pixels;
  std::vector<TargetScore> scores;
  for (const Prediction &target : targets)
    scores.emplace_back (target, density);
  std::vector<Position> positions;
  for (const PreparedDetection &detection : detections)
    positions.emplace_back (detection.box);
  for (const bool sure : { true, false }) {
    std::vector<std::size_t> rows, columns;
    for (std::size_t t = 0; t < targets.size (); t++)
      if (detection_of[t] < 0
          && (sure || (targets[t].is_confirmed && targets[t].runs <= kWeakRuns)))
        rows.push_back (t);
    for (std::size_t d = 0; d < detections.size (); d++)
      if (detections[d].is_sure == sure)
        columns.push_back (d);
    std::vector<double> gains;
    for (const std::size_t t : rows)
      for (const std::size_t d : columns)
        gains.push_back (sure || iou (targets[t].boxes[0].box, detections[d].box) >= kWeakIou
                             ? scores[t].of (detections[d], positions[d])
                             : kNoPair);
    const auto pairs = assign (gains, rows.size (), columns.size ());
    for (std::size_t i = 0; i < rows.size (); i++)
      if (pairs[i] >= 0)
        detection_of[rows[i]] = int (columns[std::size_t (pairs[i])]);
  }
  return detection_of;
}

}  // namespace integralhist
