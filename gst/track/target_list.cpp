// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The targets of a tracker. For each frame, StreamTracker calls fit (), configure (), drop_at ()
// and start (), detect (), prepare_steps (), note_tracked (), end () and tracks (), in this order.
// A target's states are:
//
//   unconfirmed   it has no id. A sure detection confirms it, or a second detection, or its look
//                 between detections; detect () drops it if it becomes hopeless
//   seen          its box looks like the target
//   coasting      something probably hides it, and it moves on at its velocity
//   absent        it is neither seen nor coasting (note_presence ())
//   waiting       it is not searched for until a detection matches it (note_presence (),
//                 note_tracked (), end ())
//   duplicate     a surer target has about the same box (overlapping_targets.hpp)
//   outside       its box has no pixel in the frame (note_tracked ())
#include "target_list.hpp"

#include <algorithm>
#include <utility>

#include <gst/integralhist/meta/frame_geometry.hpp>
#include <gst/track/association/assignment.hpp>
#include <gst/track/base/log.hpp>

#include "overlapping_targets.hpp"

#define GST_CAT_DEFAULT track_log ()

namespace integralhist {

// A single detection with this confidence confirms a target. Otherwise it takes two detections, or
// a look in a frame that the detector leaves out.
static constexpr double kStartAloneConfidence = 0.85;
static constexpr double kCommonShare = 0.7;  // of the mean appearance, subtracted
// A target without a detection is seen if its box has this likeness to it, and if other targets
// cover at most kMaxCoveredShare of the box. Frames that the detector leaves out need less
// likeness.
static constexpr double kPresenceSimilarity = 0.35, kPresenceSimilarityBetweenRuns = 0.2;
static constexpr double kMaxCoveredShare = 0.4;
static constexpr double kMaxCoverToLearn = 0.35;  // a target that is covered more is not learned
static constexpr guint kMaxUnseenFrames = 10;     // in a row
static constexpr guint kMaxRecentMisses = 3;      // of a target that was recently detected

TargetList::TargetList (gpointer logged_as, TrackWarnings::Warn warn)
    : logged_as_ (logged_as), warnings_ (std::move (warn))
{
}

TrackedTarget *TargetList::add (const GstVideoRectangle &box, const TargetFrame &frame)
{
  if (targets_.size () >= kMaxTargets) {
    warnings_.warn_of_many ();
    return nullptr;
  }
  auto tracked = std::make_unique<TrackedTarget> ();
  tracked->serial = next_serial_++;
  tracked->first_seen = tracked->last_seen = frame.time;
  tracked->kept_box = frame.in_tensor (box);
  const auto seen =
      [&] (const TrackedTarget &target) {  // a configured box may be far larger than the frame
        return frame.in_tensor (frame.clip (frame.in_frame (target.box ())));
      };
  for (const auto &other : targets_)
    if (!other->is_untracked () && iou (seen (*other), seen (*tracked)) > kMatchIou)
      tracked->overlapping_ids_at_start.push_back (other->id);
  return targets_.emplace_back (std::move (tracked)).get ();
}

void TargetList::confirm (TrackedTarget &tracked, const TargetFrame &frame)
{
  const GstVideoRectangle box = frame.in_frame (tracked.box ());
  tracked.id = next_id_++;
  GST_INFO_OBJECT (logged_as_, "target %u starts at %d,%d %dx%d", tracked.id, box.x, box.y, box.w,
                   box.h);
}

Expected<> TargetList::configure (const ListOptions &options, const TargetFrame &frame)
{
  if (!std::ranges::equal (options_.area, options.area, are_equal)
      || !std::ranges::equal (options_.targets, options.targets, are_equal))
    warnings_.forget_area ();
  options_ = options;
  warnings_.warn_of_area (options_, frame);
  if (configured_ && std::ranges::equal (*configured_, options.targets, are_equal))
    return {};
  std::erase_if (targets_, [] (const auto &tracked) { return tracked->configured; });
  for (const GstVideoRectangle &box : options.targets) {
    if (frame.clip (box).w == 0)
      return error (Error::Kind::bad_setting, "targets=\"", text_of (options.targets),
                    "\": ", text_of ({ box }), " lies outside of the ", frame.width, "x",
                    frame.height, " frame: set targets that overlap it, as x,y,width,height");
    if (TrackedTarget *const tracked = add (box, frame)) {
      tracked->configured = true;
      confirm (*tracked, frame);
    }
  }
  configured_ = options.targets;
  warnings_.forget_targets ();
  return {};
}

bool ListOptions::has_in_area (const GstVideoRectangle &box) const
{
  const double x = box.x + box.w / 2.0, y = box.y + box.h / 2.0;
  return area.empty () || std::ranges::any_of (area, [&] (const GstVideoRectangle &part) {
           return x >= part.x && x < double (part.x) + part.w && y >= part.y
                  && y < double (part.y) + part.h;
         });
}

void TargetList::fit (GstIntegralHistogram *colours, const TargetFrame &frame)
{
  const int width = int (gst_integral_histogram_get_width (frame.histogram)),
            height = int (gst_integral_histogram_get_height (frame.histogram));
  if (width_ > 0 && (width != width_ || height != height_)) {
    const double x = double (width) / width_, y = double (height) / height_;
    for (const auto &tracked : targets_)
      tracked->resize (x, y);
  }
  width_ = width;
  height_ = height;
  if (spec_ && *spec_ != spec_of (colours)) {
    for (const auto &tracked : targets_)
      tracked->appearance.clear ();
    mean_appearance_.clear ();
  }
  spec_ = spec_of (colours);
}

static double seconds_between (GstClockTime from, GstClockTime to)
{
  return GST_CLOCK_TIME_IS_VALID (from) && GST_CLOCK_TIME_IS_VALID (to) && to > from
             ? double (to - from) / GST_SECOND
             : 0;
}

/// Forgets the last frame's detections. If the detector is gone, no target waits for it any longer.
void TargetList::begin_frame ()
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

Expected<> TargetList::detect (const std::vector<Detection> &detections,
                               GstIntegralHistogram *colours, const TargetFrame &frame)
{
  const unsigned detector_runs = pace_.note (!detections.empty ());
  detector_ran_ = detector_runs > 0;
  begin_frame ();
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

/// Returns an appearance without a share of the mean of all appearances. The fewer targets there
/// are, the smaller is the share, because the mean is mostly their own look.
Appearance TargetList::distinct_appearance (const Appearance &appearance) const
{
  const auto n = std::ranges::count_if (targets_, [] (const auto &tracked) {
    return tracked->is_confirmed () && tracked->was_detected ();
  });
  return subtract_common (appearance, mean_appearance_.mean (),
                          n > 1 ? kCommonShare * (1 - 1.0 / double (n)) : 0);
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

void TargetList::note_misses (unsigned detector_runs)
{
  for (const auto &tracked : targets_)
    if (detector_runs > 0 && tracked->was_detected () && !tracked->is_detected_now) {
      tracked->misses += detector_runs;
      if (covered_share_of (*tracked) < kMaxCoveredShare)
        tracked->existence.miss (detector_runs);
    }
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

/// Returns the largest share of a target's box that a target detected in this frame covers.
double TargetList::covered_share_of (const TrackedTarget &tracked) const
{
  double most = 0;
  for (const auto &other : targets_)
    if (other.get () != &tracked && other->is_detected_now)
      most = std::max (most, covered_share (tracked.box (), other->box ()));
  return most;
}

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
        alike >= (detector_ran_ ? kPresenceSimilarity : kPresenceSimilarityBetweenRuns)
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

void TargetList::start (const GstVideoRectangle &box, const TargetFrame &frame)
{
  if (frame.clip (box).w > 0)
    if (TrackedTarget *const tracked = add (box, frame))
      confirm (*tracked, frame);
}

void TargetList::drop_at (double x, double y, const TargetFrame &frame)
{
  std::erase_if (targets_, [&] (const auto &tracked) {
    const GstVideoRectangle box = frame.in_frame (tracked->box ());
    return x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h;
  });
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

void TargetList::end (const TargetFrame &frame)
{
  for (const auto &tracked : targets_)
    if (options_.max_misses > 0 && tracked->misses >= options_.max_misses)
      tracked->begin_wait (TrackedTarget::Wait::until_detection);
  mark_duplicates (targets_);
  std::erase_if (targets_, [&] (const auto &tracked) {
    return !options_.has_in_area (frame.in_frame (tracked->box ()))
           || (tracked->was_detected () && pace_.is_known () && GST_CLOCK_TIME_IS_VALID (frame.time)
                   ? seconds_between (tracked->last_seen, frame.time) > options_.remember
                   : options_.forget_after > 0 && !tracked->configured
                         && tracked->lost_frames > options_.forget_after);
  });
}

std::vector<TrackedBox> TargetList::tracks (const TargetFrame &frame, bool confirmed) const
{
  std::vector<TrackedBox> tracks;
  for (const auto &tracked : targets_)
    if (tracked->is_confirmed () == confirmed)
      tracks.push_back (
          { { tracked->id, tracked->parent, frame.nearest (frame.in_frame (tracked->box ())),
              tracked->confidence (), tracked->is_lost (), tracked->class_name,
              tracked->detection_confidence, tracked->former_id },
            tracked->serial,
            tracked->age,
            tracked->first_seen,
            tracked->last_seen,
            tracked->detection });
  return tracks;
}

void TargetList::clear ()
{
  targets_.clear ();
  configured_.reset ();
  pace_ = {};
  mean_speed_ = {};
}

void TargetList::reset ()
{
  clear ();
  next_id_ = 1;
  mean_appearance_.clear ();
  spec_.reset ();
  width_ = height_ = 0;
  detector_ran_ = false;
  warnings_.reset ();
}

}  // namespace integralhist
