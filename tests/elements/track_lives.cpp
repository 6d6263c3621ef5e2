// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long targets live: the odds that one exists, and which of two at the same box stays.
#include <memory>
#include <vector>

#include <gst/track/association/existence.hpp>
#include <gst/track/overlapping_targets.hpp>

#include "test.hpp"

using namespace integralhist;

namespace {

/// A target that stays where it is, with given values.
class FixedTarget final : public Target {
public:
  FixedTarget (double confidence, double visibility)
      : confidence_ (confidence), visibility_ (visibility)
  {
  }
  void restart (const TargetBox &) override {}
  void resize (double, double) override {}
  const TargetBox &box () const override { return box_; }
  bool is_lost () const override { return false; }
  double confidence () const override { return confidence_; }
  double visibility () const override { return visibility_; }

private:
  const TargetBox box_ = { 10, 10, 30, 40 };
  const double confidence_, visibility_;
};

}  // namespace

// A new target is reported from the second sure detection on. Two misses end one that was detected
// once; a target that was detected often survives eight.
TEST (existence)
{
  Existence target;
  target.hit (true);
  fail_unless (target.is_likely () && !target.is_reportable ());
  Existence once = target;
  once.miss (2);
  fail_unless (!once.is_likely () && !once.is_hopeless ());
  once.miss (1);
  fail_unless (once.is_hopeless ());

  target.hit (true);
  fail_unless (target.is_reportable () && !target.is_certain ());
  for (int i = 0; i < 10; i++)
    target.hit (true);
  fail_unless (target.is_certain ());
  unsigned misses = 0;
  for (Existence missed = target; !missed.is_hopeless (); misses++)
    missed.miss (1);
  fail_unless_equals_int (misses, 9);
  Existence weak = target;
  weak.miss (9);
  weak.hit (false);
  fail_unless (!weak.is_hopeless () && !weak.is_likely ());
}

// If two targets are at the same box, the better visible one stays, even if it is followed for
// longer and therefore has the lower confidence. If both are as visible, the older one stays.
TEST (visible_duplicate)
{
  const struct {
    double old_visibility, new_visibility;
    bool old_stays;
  } cases[] = { { 0.9, 0.7, true }, { 0.7, 0.9, false }, { 0.8, 0.8, true } };
  for (const auto &[old_visibility, new_visibility, old_stays] : cases) {
    FixedTarget old_one (0.3, old_visibility), new_one (0.9, new_visibility);
    std::vector<std::unique_ptr<TrackedTarget>> targets;
    for (Target *target : { static_cast<Target *> (&old_one), static_cast<Target *> (&new_one) }) {
      targets.push_back (std::make_unique<TrackedTarget> ());
      targets.back ()->serial = targets.size ();
      targets.back ()->id = guint (targets.size ());
      targets.back ()->target = target;
    }
    for (int i = 0; i < 10; i++)
      mark_duplicates (targets);
    fail_unless (targets[0]->is_duplicate == !old_stays && targets[1]->is_duplicate == old_stays,
                 "%g against %g", old_visibility, new_visibility);
  }
}
