// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The presence of a TargetList's targets: which are seen, which are lost, and which lost ones have
// come back as a new target. TrackedTarget::is_lost () decides from this which are reported as
// lost.
//
//   seen        its box looks like the target
//   coasting    something probably hides it, and it moves on at its velocity
//   absent      it is neither seen nor coasting
//   untracked   the tracking method has lost it, or it is not searched for (TrackedTarget::Wait)
//   duplicate   a better visible target has about the same box (overlapping_targets.hpp)
//   outside     its box has no pixel in the frame
#include "target_list.hpp"

#include <gst/track/association/assignment.hpp>
#include <gst/track/base/log.hpp>

#define GST_CAT_DEFAULT track_log ()

namespace integralhist {

// A target without a detection is seen if its box has this likeness to it, and if other targets
// cover at most kMaxCoveredShare of the box. Frames that the detector leaves out need less
// likeness.
static constexpr double kPresenceLikeness = 0.35, kPresenceLikenessBetweenRuns = 0.2;
static constexpr double kMaxCoveredShare = 0.4;
static constexpr guint kMaxUnseenFrames = 10;  // in a row

/// Returns whether a target that its box does not show is probably hidden, not gone: the detector
/// leaves this frame out, its last run found the target, and so did nearly all runs before.
bool TargetList::may_coast (const TrackedTarget &tracked) const
{
  return !detector_ran_ && tracked.misses == 0 && tracked.unseen_frames < kMaxUnseenFrames
         && tracked.existence.is_certain () && tracked.motion.has_velocity ();
}

/// Decides which targets without a detection are seen: their boxes look like them. If a frame that
/// the detector leaves out shows a target that was detected once, the target is confirmed.
Expected<> TargetList::note_presence (GstIntegralHistogram *colours, const TargetFrame &frame)
{
  std::vector<TrackedTarget *> unmatched;
  std::vector<TargetBox> boxes;
  for (const auto &tracked : targets_)
    if (tracked->was_detected () && !tracked->is_detected_now && !tracked->waits ()) {
      tracked->presence = TrackedTarget::Presence::seen;
      unmatched.push_back (tracked.get ());
      boxes.push_back (tracked->box ());
    }
  const auto appearances = TRY (appearances_of (colours, boxes));
  for (std::size_t i = 0; i < unmatched.size (); i++) {
    TrackedTarget &tracked = *unmatched[i];
    const double alike = likeness (distinct_appearance (tracked.appearance.mean ()),
                                   distinct_appearance (appearances[i]));
    const bool looks_right =
        alike >= (detector_ran_ ? kPresenceLikeness : kPresenceLikenessBetweenRuns)
        && covered_share_of (tracked) <= kMaxCoveredShare;
    if (looks_right && !detector_ran_ && !tracked.is_confirmed () && !tracked.is_untracked ()) {
      tracked.existence.make_reportable ();
      confirm (tracked, frame);
    }
    if (!pace_.is_known ()
        || (looks_right && !tracked.is_untracked () && tracked.existence.is_likely ())) {
      tracked.note_seen (boxes[i]);
    } else if (may_coast (tracked)) {
      tracked.begin_coasting ();
    } else {
      tracked.note_unseen ();
      if (tracked.unseen_frames > kMaxUnseenFrames)
        tracked.begin_wait (TrackedTarget::Wait::while_detector_runs);
    }
  }
  return {};
}

Expected<> TargetList::note_tracked (GstIntegralHistogram *colours, const TargetFrame &frame)
{
  TRY (note_presence (colours, frame));
  for (const auto &tracked : targets_) {
    tracked->age++;
    tracked->is_outside_frame = frame.clip (frame.in_frame (tracked->box ())).w == 0;
    if (tracked->is_lost ()) {
      if (tracked->is_empty ())
        warnings_.warn_of_empty (*tracked, frame);
      tracked->lost_frames++;
      tracked->motion.note_unseen ();
      // the detector finds a lost target better than a search of the frame does
      if (tracked->was_detected () && pace_.is_known () && !tracked->waits ())
        tracked->begin_wait (TrackedTarget::Wait::while_detector_runs);
    } else {
      tracked->lost_frames = 0;
      tracked->last_seen = frame.time;
      if (tracked->coasts ()
          || (detector_ran_ && tracked->was_detected () && !tracked->is_detected_now))
        tracked->motion.note_unseen ();  // the box does not show where the target is
      else if (!tracked->is_detected_now)
        tracked->motion.note_tracked (tracked->box ());
    }
  }
  return {};
}

/// Finds out which new targets are lost ones that have come back. A single detection did not tell,
/// but the mean of several views does: its likeness to that of the same person is 0.61 in the mean,
/// and 0.08 to that of another (docs/measurements/2026-11-30-reidentification.md).
void TargetList::reidentify ()
{
  constexpr double kSameLikeness = 0.5;
  constexpr unsigned kMinViews = 5;        // of each of the two
  constexpr guint kMaxNewDetections = 40;  // of a new target
  std::vector<TrackedTarget *> started, lost;
  for (const auto &tracked : targets_) {
    if (!tracked->is_confirmed () || tracked->appearance.n () < kMinViews)
      continue;
    if (tracked->is_lost ())
      lost.push_back (tracked.get ());
    else if (tracked->is_detected_now && !tracked->configured
             && tracked->n_detections <= kMaxNewDetections)
      started.push_back (tracked.get ());
  }
  if (started.empty () || lost.empty ())
    return;
  const auto appearances_of = [this] (const std::vector<TrackedTarget *> &targets) {
    std::vector<Appearance> appearances;
    for (const TrackedTarget *const tracked : targets)
      appearances.push_back (distinct_appearance (tracked->appearance.mean ()));
    return appearances;
  };
  const auto looks = appearances_of (started), past = appearances_of (lost);
  std::vector<double> gains;
  for (std::size_t s = 0; s < started.size (); s++)
    for (std::size_t l = 0; l < lost.size (); l++)
      gains.push_back (lost[l]->was_undetected_before (*started[s])
                               && (options_.merge_classes
                                   || classes_match (lost[l]->class_name, started[s]->class_name))
                           ? likeness (looks[s], past[l]) - kSameLikeness
                           : 0);
  const auto pairs = assign (gains, started.size (), lost.size ());
  for (std::size_t s = 0; s < started.size (); s++)
    if (pairs[s] >= 0) {
      TrackedTarget &same = *lost[std::size_t (pairs[s])];
      GST_INFO_OBJECT (logged_as_, "target %u is target %u", started[s]->id, same.id);
      started[s]->continue_as (same);
      same.is_replaced = true;
    }
  std::erase_if (targets_, [] (const auto &tracked) { return tracked->is_replaced; });
}

}  // namespace integralhist
