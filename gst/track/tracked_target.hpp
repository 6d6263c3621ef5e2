// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A target of a TargetList: what the list knows about it, and the object with which a method
// follows it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
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
  /// The contents of the box in a frame in which the target was not detected.
  enum class Presence {
    seen,      // the target; or the method decides whether it is lost
    coasting,  // another object for a while: the box moves on at its velocity
    absent     // nothing that looks like it
  };
  /// The event until which the target is not searched for.
  enum class Wait {
    none,           // it is searched for
    for_detection,  // a detection
    for_detector    // a detection, or the end of all detections
  };

  guint64 serial = 0;       // from the start on
  guint age = 0;            // frames
  guint id = 0;             // 0 until it is confirmed
  gint parent = -1;         // the detection that started it, or -1
  bool configured = false;  // by the property targets
  GstClockTime first_seen = GST_CLOCK_TIME_NONE, last_seen = GST_CLOCK_TIME_NONE,
               last_detected = GST_CLOCK_TIME_NONE;
  std::variant<std::monostate, FragmentsTarget, CorrelationTarget> followed = {};
  Target *target = nullptr;  // the object in `followed`; null before a method follows it
  TargetBox place = {};      // the box where it was last seen, or where it starts

  Presence presence = Presence::seen;
  Wait wait = Wait::none;
  bool yields = false;                       // to another target on its spot, while both stay there
  bool is_hidden = false;                    // no pixel of the frame shows it
  guint lost_frames = 0, unseen_frames = 0;  // in a row; unseen: coasting or absent
  TargetBox extrapolated = {};               // where it coasts

  // From detections.
  guint n_detections = 0;
  bool is_matched = false;  // with a detection of this frame
  Existence existence = {};
  guint misses = 0;                                 // runs without a detection, in a row
  std::string kind = {};                            // of the last detection
  std::optional<double> detection_confidence = {};  // of the last detection
  std::optional<std::size_t> detection = {};        // the index of the one of this frame
  MeanAppearance appearance{ 16 };                  // of clear views
  Motion motion = {};

  // Other targets on its spot.
  std::vector<guint> ids_at_start = {};  // of targets on its spot at its start, which may stay
  guint frames_on_shared_spot = 0;       // counts up in frames with another target, else down
  double confidence_on_shared_spot = 0;  // the sum over these frames

  bool waits () const { return wait != Wait::none; }
  bool coasts () const { return presence == Presence::coasting; }
  bool is_absent () const { return presence == Presence::absent; }
  bool is_confirmed () const { return id > 0; }
  bool is_detected () const { return n_detections > 0; }
  TargetBox box () const { return coasts () ? extrapolated : last_seen_box (); }
  /// Returns the method's box; if that does not show the target, the box where it was last seen.
  TargetBox last_seen_box () const
  {
    return waits () || presence != Presence::seen || !target ? place : target->box ();
  }
  /// Returns whether no method follows it at present: it waits, or the method has lost it.
  bool is_gone () const { return waits () || (target && target->is_lost ()); }
  bool is_lost () const
  {
    return yields || is_hidden || is_absent () || (is_gone () && !coasts ());
  }
  bool is_empty () const { return !waits () && target && target->is_empty (); }
  double own_confidence () const { return target ? target->confidence () : 1; }
  double confidence () const { return is_lost () ? 0 : own_confidence (); }
  bool began_with (const TrackedTarget &other) const
  {
    return std::ranges::count (ids_at_start, other.id) > 0;
  }

  /// Notes that a detection of this frame belongs to the target; `box` is in pixels of the tensor.
  void note_detection (const Detection &detection, const TargetBox &box, GstClockTime time);
  /// Notes that the box at this place shows the target.
  void note_seen (const TargetBox &at)
  {
    presence = Presence::seen;
    unseen_frames = 0;
    place = at;
  }
  /// Notes that it is probably hidden, and moves its box on at the velocity of its detections.
  void begin_coasting ()
  {
    presence = Presence::coasting;
    unseen_frames++;
    extrapolated = motion.expected_by_detections (place);
  }
  /// Notes that the box does not show the target in this frame.
  void note_unseen ()
  {
    presence = Presence::absent;
    unseen_frames++;
  }
  /// Stops the search for the target until this event.
  void begin_wait (Wait until)
  {
    if (!is_detected ())
      place = box ();
    wait = until;
    if (coasts ())
      presence = Presence::seen;
  }
  void restart (const TargetBox &at)
  {
    wait = Wait::none;
    is_hidden = yields = false;
    note_seen (at);
    if (target)
      target->restart (at);
  }
  void resize (double x_factor, double y_factor)
  {
    place = resized (place, x_factor, y_factor);
    if (target)
      target->resize (x_factor, y_factor);
    extrapolated = resized (extrapolated, x_factor, y_factor);
    motion.resize (x_factor, y_factor);
  }
  /// Returns the object of type T, with which a method follows the target; null while the target
  /// waits. If another method followed it before, it starts again; if it was lost, it waits,
  /// because the new method has nothing to look for.
  template <typename T>
  T *ensure_target ()
  {
    if (!waits () && !std::holds_alternative<T> (followed)) {
      if (is_gone ())
        begin_wait (Wait::for_detection);
      else
        target = &followed.emplace<T> (box ());
    }
    return waits () ? nullptr : &std::get<T> (followed);
  }
  /// Returns the places where the target is expected in the next frame: from its last seen box, and
  /// from its detections.
  std::vector<ExpectedPlace> expected_places () const;
  /// Returns a box between the box expected in this frame and `found`, the detected one.
  TargetBox corrected (const TargetBox &found, const ExpectedPlace &at) const;
  /// Returns the motion that its detections let expect, for its method.
  ExpectedMotion expected_motion () const;
};

}  // namespace integralhist
