// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A target of a TargetList, with the object by which a tracking method follows the target.
// target_presence.cpp has the states of a target.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gst/track/association/appearance.hpp>
#include <gst/track/association/detection_matching.hpp>
#include <gst/track/association/existence.hpp>
#include <gst/track/association/motion.hpp>
#include <gst/track/base/detection.hpp>
#include <gst/track/base/target.hpp>
#include <gst/track/correlation/correlation_target.hpp>
#include <gst/track/fragments/fragments_tracker.hpp>

namespace integralhist {

struct TrackedTarget {
  /// A target that was not detected is seen in its box, coasts behind another object, or is absent.
  enum class Presence { seen, coasting, absent };
  /// A target that is not searched for waits until it is detected, or only while the detector runs.
  enum class Wait { none, until_detection, while_detector_runs };

  guint64 serial = 0;       // from the start on
  guint age = 0;            // frames
  guint id = 0;             // 0 until it is confirmed
  guint former_id = 0;      // until it was re-identified; 0 if it never was
  gint parent = -1;         // id of the detection that started the target, or -1
  bool configured = false;  // by the property targets
  GstClockTime first_seen = GST_CLOCK_TIME_NONE, last_seen = GST_CLOCK_TIME_NONE,
               last_detected = GST_CLOCK_TIME_NONE;
  std::variant<std::monostate, FragmentsTarget, CorrelationTarget> method_target = {};
  Target *target = nullptr;  // the object in `method_target`
  TargetBox kept_box = {};   // where the target was last seen or starts

  Presence presence = Presence::seen;
  Wait wait = Wait::none;
  bool is_duplicate = false;                 // of a better visible target at the same box
  bool is_outside_frame = false;             // no pixel of the frame shows its box
  bool is_replaced = false;                  // a new target was re-identified as this one
  guint lost_frames = 0, unseen_frames = 0;  // in a row
  TargetBox coasting_box = {};               // where it coasts

  guint n_detections = 0;
  bool is_detected_now = false;  // with a detection of this frame
  Existence existence = {};
  guint misses = 0;             // runs of the detector in a row that missed the target
  std::string class_name = {};  // of the last detection
  std::optional<double> detection_confidence = {};  // of the last detection
  std::optional<std::size_t> detection = {};        // index of this frame's detection
  MeanAppearance appearance{ 16 };                  // of clear views
  Motion motion = {};

  std::vector<guint> overlapping_ids_at_start = {};  // of targets at the same box at the start
  guint overlapping_frames = 0;                      // frames at the same box as another target
  double overlapping_visibility = 0;                 // sum over these frames

  bool waits () const { return wait != Wait::none; }
  bool coasts () const { return presence == Presence::coasting; }
  bool is_absent () const { return presence == Presence::absent; }
  bool is_confirmed () const { return id > 0; }
  bool was_detected () const { return n_detections > 0; }
  TargetBox box () const { return coasts () ? coasting_box : last_seen_box (); }
  TargetBox last_seen_box () const
  {
    return waits () || presence != Presence::seen || !target ? kept_box : target->box ();
  }
  bool is_untracked () const { return waits () || (target && target->is_lost ()); }
  bool is_lost () const
  {
    return is_duplicate || is_outside_frame || is_absent () || (is_untracked () && !coasts ());
  }
  bool is_empty () const { return !waits () && target && target->is_empty (); }
  double confidence () const { return is_lost () ? 0 : target ? target->confidence () : 1; }
  bool overlapped_at_start (const TrackedTarget &other) const
  {
    return std::ranges::count (overlapping_ids_at_start, other.id) > 0;
  }

  /// Returns whether the target has had no detection since another one started.
  bool was_undetected_before (const TrackedTarget &other) const
  {
    return motion.undetected () + 1 > other.age;
  }
  /// Makes the target the lost one `same`, which has come back: it has the id and the past of it.
  void continue_as (const TrackedTarget &same)
  {
    former_id = std::exchange (id, same.id);
    serial = same.serial;
    age = same.age;
    parent = same.parent;
    configured = same.configured;
    first_seen = same.first_seen;
    n_detections += same.n_detections;
    appearance = same.appearance;
  }
  /// Notes that a detection of this frame belongs to the target; `box` is in pixels of the tensor.
  void note_detection (const Detection &detection, const TargetBox &box, GstClockTime time);
  void note_seen (const TargetBox &at)
  {
    presence = Presence::seen;
    unseen_frames = 0;
    kept_box = at;
  }
  /// Notes that the target is probably hidden, and moves its box on at its detections' velocity.
  void begin_coasting ()
  {
    presence = Presence::coasting;
    unseen_frames++;
    coasting_box = motion.expected_by_detections (kept_box);
  }
  void note_unseen ()
  {
    presence = Presence::absent;
    unseen_frames++;
  }
  void begin_wait (Wait until)
  {
    if (!was_detected ())
      kept_box = box ();
    wait = until;
    if (coasts ())
      presence = Presence::seen;
  }
  void restart (const TargetBox &at)
  {
    wait = Wait::none;
    is_outside_frame = is_duplicate = false;
    note_seen (at);
    if (target)
      target->restart (at);
  }
  void resize (double x_factor, double y_factor)
  {
    kept_box = resized (kept_box, x_factor, y_factor);
    if (target)
      target->resize (x_factor, y_factor);
    coasting_box = resized (coasting_box, x_factor, y_factor);
    motion.resize (x_factor, y_factor);
  }
  /// Returns the object with which the method of class T follows the target; null while the target
  /// waits. If another method followed it before, the target starts again, or waits if it was lost.
  template <typename T>
  T *ensure_target ()
  {
    if (!waits () && !std::holds_alternative<T> (method_target)) {
      if (is_untracked ())
        begin_wait (Wait::until_detection);
      else
        target = &method_target.emplace<T> (box ());
    }
    return waits () ? nullptr : &std::get<T> (method_target);
  }
  /// Returns the boxes expected in the next frame: from the last seen box, and from detections.
  /// `relative_speed` is that of all targets (MeanSpeed).
  std::vector<ExpectedBox> expected_boxes (double relative_speed) const;
  /// Returns a box between the expected box `at` and `found`, the box of a detection.
  TargetBox corrected (const TargetBox &found, const ExpectedBox &at) const;
  /// Returns the motion to the next frame that the target's detections let expect.
  ExpectedMotion expected_motion () const;
};

}  // namespace integralhist
