// SPDX-License-Identifier: LGPL-2.1-or-later
#include "overlapping_targets.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace integralhist {

static constexpr guint kMaxOverlappingFrames = 5;  // before a target becomes a duplicate

namespace {

/// A target that may be a duplicate of rivals: other targets that have come to about the same box.
struct Contender {
  TrackedTarget *target;
  TargetBox box;
  std::vector<std::size_t> rivals = {};  // indices of other contenders
};

/// Finds each target's rivals, whose boxes overlap its box. Sorts targets by their left edges.
void find_rivals (std::vector<Contender> &all)
{
  std::ranges::sort (all, {},
                     [] (const Contender &of) { return std::pair (of.box.x, of.target->serial); });
  for (std::size_t i = 0; i < all.size (); i++) {
    const Contender &a = all[i];
    for (std::size_t j = i + 1; j < all.size () && all[j].box.x < a.box.x + a.box.width; j++)
      if (const Contender &b = all[j]; iou (a.box, b.box) > kMatchIou
                                       && !a.target->overlapped_at_start (*b.target)
                                       && !b.target->overlapped_at_start (*a.target)) {
        all[i].rivals.push_back (j);
        all[j].rivals.push_back (i);
      }
  }
}

}  // namespace

void mark_duplicates (std::span<const std::unique_ptr<TrackedTarget>> targets)
{
  std::vector<Contender> all;
  for (const auto &tracked : targets)
    if (!tracked->was_detected () && !tracked->is_untracked ())
      all.push_back ({ tracked.get (), tracked->box () });
    else
      tracked->is_duplicate = false;
  find_rivals (all);
  for (const auto &[target, box, rivals] : all)
    if (!rivals.empty ()) {
      target->overlapping_frames =
          std::min (target->overlapping_frames + 1, 2 * kMaxOverlappingFrames);
      target->overlapping_visibility += target->target ? target->target->visibility () : 1;
    } else if (target->overlapping_frames > 0 && --target->overlapping_frames == 0) {
      target->overlapping_visibility = 0;
    }
  // targets stay in this order: better visible and older ones first, duplicates last
  std::vector<std::size_t> order (all.size ());
  std::iota (order.begin (), order.end (), 0);
  std::ranges::sort (order, {}, [&] (std::size_t i) {
    const TrackedTarget &target = *all[i].target;
    return std::tuple (target.is_duplicate, -target.overlapping_visibility, target.serial);
  });
  std::vector<bool> stays (all.size ());
  for (const std::size_t i : order) {
    TrackedTarget &target = *all[i].target;
    target.is_duplicate =
        target.overlapping_frames >= kMaxOverlappingFrames
        && (target.is_duplicate
            || std::ranges::any_of (all[i].rivals, [&] (std::size_t j) { return stays[j]; }));
    stays[i] = !target.is_duplicate;
  }
}

}  // namespace integralhist
