// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shared_spots.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace integralhist {

static constexpr guint kMaxFramesOnSharedSpot = 5;  // before a target yields

namespace {

/// A target that may have to yield to rivals: other targets that have come to about the same box.
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
                                       && !a.target->began_with (*b.target)
                                       && !b.target->began_with (*a.target)) {
        all[i].rivals.push_back (j);
        all[j].rivals.push_back (i);
      }
  }
}

}  // namespace

void yield_on_one_spot (std::span<const std::unique_ptr<TrackedTarget>> targets)
{
  std::vector<Contender> all;
  for (const auto &tracked : targets)
    if (!tracked->is_detected () && !tracked->is_gone ())
      all.push_back ({ tracked.get (), tracked->box () });
    else
      tracked->yields = false;
  find_rivals (all);
  for (const auto &[target, box, rivals] : all)
    if (!rivals.empty ()) {
      target->frames_on_shared_spot =
          std::min (target->frames_on_shared_spot + 1, 2 * kMaxFramesOnSharedSpot);
      target->confidence_on_shared_spot += target->own_confidence ();
    } else if (target->frames_on_shared_spot > 0 && --target->frames_on_shared_spot == 0) {
      target->confidence_on_shared_spot = 0;
    }
  // targets keep their spot in this order: surer and older ones first, those that yield last
  std::vector<std::size_t> order (all.size ());
  std::iota (order.begin (), order.end (), 0);
  std::ranges::sort (order, {}, [&] (std::size_t i) {
    const TrackedTarget &target = *all[i].target;
    return std::tuple (target.yields, -target.confidence_on_shared_spot, target.serial);
  });
  std::vector<bool> stays (all.size ());
  for (const std::size_t i : order) {
    TrackedTarget &target = *all[i].target;
    target.yields = target.frames_on_shared_spot >= kMaxFramesOnSharedSpot
                    && (target.yields || std::ranges::any_of (all[i].rivals, [&] (std::size_t j) {
                          return stays[j];
                        }));
    stays[i] = !target.yields;
  }
}

}  // namespace integralhist
