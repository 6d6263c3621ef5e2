// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A TargetList and the detections of a frame: pairs detections with targets, which continue from
// them, starts targets from the other detections, and notes what the detector has missed. A new
// target is unconfirmed: it has no id until a sure detection, a second detection, or its look
// between detections (target_presence.cpp) confirms it. It is dropped if it becomes hopeless.
#include "target_list.hpp"

#include <algorithm>

#include "overlapping_targets.hpp"

namespace integralhist {

// A single detection with this confidence confirms a target.
static constexpr double kStartAloneConfidence = 0.85;
static constexpr double kMaxCoverToMiss = 0.4;    // a target that is covered more is not missed
static constexpr double kMaxCoverToLearn = 0.35;  // a target that is covered more is not learned
static constexpr guint kMaxRecentMisses = 3;      // of a target that was recently detected

/// Forgets the last frame's detections. If the detector is gone, no target waits for it any longer.
void TargetList::forget_detections ()
{
  for (const auto &tracked : targets_) {
    tracked->is_detected_now = false;
    tracked->detection.reset ();
    if (!pace_.is_known () && tracked->wait == TrackedTarget::Wait::while_detector_runs)
      tracked->wait = TrackedTarget::Wait::none;
  }
}

/// Returns the number of visible targets whose boxes overlap a box by more than kMatchIou.
std::ptrdiff_t TargetList::n_seen_at (const TargetBox &box) const
{
  return std::ranges::count_if (targets_, [&] (const auto &tracked) {
    return tracked->is_confirmed () && !tracked->is_lost ()
           && iou (tracked->box (), box) > kMatchIou;
  });
}

/// Updates a target with its detection, which may confirm the target: give it an id.
void TargetList::apply_detection (TrackedTarget &tracked, const PreparedDetection &prepared,
                                  const TargetFrame &frame)
{
  const Detection &detection = *prepared.detection;
  tracked.note_detection (detection, prepared.box, frame.time);
  if (tracked.motion.has_velocity ())
    mean_speed_.add (tracked.motion.speed ());
  tracked.existence.hit (prepared.is_sure);
  if (tracked.is_confirmed () || detector_confidence (detection) >= kStartAloneConfidence)
    tracked.existence.make_reportable ();
  if (!tracked.is_confirmed () && tracked.existence.is_reportable ())
    confirm (tracked, frame);
}

/// Returns the expected and the detected box of each confirmed target that has a detection in this
/// frame and had one in the last frame.
std::vector<BoxPair> TargetList::box_pairs (std::span<const Prediction> targets,
                                            std::span<const PreparedDetection> detections,
                                            std::span<const int> detection_of) const
{
  std::vector<BoxPair> all;
  for (std::size_t t = 0; t < targets.size (); t++)
    if (detection_of[t] >= 0 && targets[t].is_confirmed && targets_[t]->motion.undetected () == 0)
      all.push_back ({ targets[t].boxes[0].box, detections[std::size_t (detection_of[t])].box });
  return all;
}

void TargetList::note_misses (unsigned detector_runs)
{
  for (const auto &tracked : targets_)
    if (detector_runs > 0 && tracked->was_detected () && !tracked->is_detected_now) {
      tracked->misses += detector_runs;
      if (covered_share_of (*tracked) < kMaxCoverToMiss)
        tracked->existence.miss (detector_runs);
    }
}

/// Returns the target of each detection, or null. Targets with a detection continue from it. For
/// the other ones, the detector's `detector_runs` runs are noted as misses.
std::vector<TrackedTarget *> TargetList::associate (std::span<const PreparedDetection> detections,
                                                    unsigned detector_runs,
                                                    const TargetFrame &frame)
{
  if (detections.empty ()) {
    note_misses (detector_runs);
    return {};
  }
  std::vector<Prediction> targets;
  for (const auto &tracked : targets_)
    targets.push_back ({ tracked->expected_boxes (mean_speed_.relative ()),
                         distinct_appearance (tracked->appearance.mean ()),
                         tracked->appearance.n (), tracked->misses + detector_runs,
                         seconds_between (tracked->last_detected, frame.time),
                         tracked->is_confirmed (), tracked->class_name });
  const double pixels = double (width_) * height_;
  std::vector<int> detection_of = match_detections (targets, detections, pixels);
  if (const auto shift = camera_shift (box_pairs (targets, detections, detection_of))) {
    for (Prediction &target : targets)
      for (ExpectedBox &expected : target.boxes)
        expected.box = shifted (expected.box, *shift);
    detection_of = match_detections (targets, detections, pixels);
  }
  std::vector<TrackedTarget *> target_of (detections.size (), nullptr);
  for (std::size_t t = 0; t < detection_of.size (); t++)
    if (TrackedTarget &tracked = *targets_[t]; detection_of[t] >= 0) {
      const std::size_t d = std::size_t (detection_of[t]);
      target_of[d] = &tracked;
      tracked.restart (tracked.corrected (detections[d].box, targets[t].boxes[0]));
      tracked.is_detected_now = true;
    }
  note_misses (detector_runs);
  return target_of;
}

/// Returns whether a detection without a target starts one: it is sure, and shows no known target.
bool TargetList::starts_target (const PreparedDetection &detection, const TargetFrame &frame) const
{
  return detection.is_sure && options_.has_in_area (frame.in_frame (detection.box))
         && std::ranges::none_of (targets_, [&] (const auto &tracked) {
              return !tracked->is_lost ()
                     && classes_match (tracked->class_name, detection.class_name)
                     && iou (tracked->box (), detection.box) > kMatchIou;
            });
}

/// Returns whether no recently detected target covers much of a target's box.
bool TargetList::is_clear_view (const TrackedTarget &tracked) const
{
  return std::ranges::none_of (targets_, [&] (const auto &other) {
    return other.get () != &tracked && other->misses <= kMaxRecentMisses
           && covered_share (tracked.box (), other->box ()) >= kMaxCoverToLearn;
  });
}

Expected<> TargetList::detect (const std::vector<Detection> &detections,
                               GstIntegralHistogram *colours, const TargetFrame &frame)
{
  const unsigned detector_runs = pace_.note (!detections.empty ());
  detector_ran_ = detector_runs > 0;
  forget_detections ();
  warnings_.warn_of_confidence (detections);
  std::vector<PreparedDetection> prepared =
      select_detections (detections, options_.merge_classes, kMaxTargets, frame,
                         [this] (const TargetBox &box) { return n_seen_at (box); });
  if (!detections.empty ())
    warnings_.warn_of_unused (detections, prepared, frame);
  std::vector<TargetBox> boxes;
  for (const PreparedDetection &detection : prepared)
    boxes.push_back (detection.box);
  const auto appearances = TRY (appearances_of (colours, boxes));
  for (const Appearance &appearance : appearances)
    mean_appearance_.add (appearance);
  for (std::size_t d = 0; d < prepared.size (); d++)
    prepared[d].appearance = distinct_appearance (appearances[d]);

  std::vector<TrackedTarget *> target_of = associate (prepared, detector_runs, frame);
  for (std::size_t d = 0; d < prepared.size (); d++)
    if (!target_of[d] && starts_target (prepared[d], frame))
      if ((target_of[d] = add (frame.clip (prepared[d].detection->box), frame)))
        target_of[d]->parent = prepared[d].detection->id;
  for (std::size_t d = 0; d < prepared.size (); d++)
    if (target_of[d]) {
      apply_detection (*target_of[d], prepared[d], frame);
      target_of[d]->detection = std::size_t (prepared[d].detection - detections.data ());
    }
  for (std::size_t d = 0; d < prepared.size (); d++)
    if (TrackedTarget *const tracked = target_of[d];
        tracked && (tracked->appearance.mean ().empty () || is_clear_view (*tracked)))
      tracked->appearance.add (appearances[d]);
  std::erase_if (targets_, [] (const auto &tracked) {
    return !tracked->is_confirmed () && tracked->existence.is_hopeless ();
  });
  if (options_.reidentify)
    reidentify ();
  return {};
}

}  // namespace integralhist
