// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gst/integralhist/error.hpp>

#include "correlation_target.hpp"
#include "fragments_tracker.hpp"
#include "frame_boxes.hpp"
#include "target_frame.hpp"

namespace integralhist {

/// The targets of integralhisttrack. Decides which start, restart and end; has them followed.
class TargetList {
public:
  /// Makes an empty list; `element` is whom its log lines name.
  explicit TargetList (gpointer element);
  ~TargetList ();

  /// Starts the targets of a text (parse_regions) and drops those of the last one; does nothing
  /// while the text stays the same. A box outside of the frame is an error.
  Expected<> configure (const std::string &text, const TargetFrame &frame);
  /// Starts a target from a detection, or restarts a lost one there, unless one is there already.
  void detect (const Detection &detection, const TargetFrame &frame);
  /// Starts a target from a box, unless it lies outside of the frame.
  void start (const GstVideoRectangle &box, const TargetFrame &frame);
  /// Drops the targets under a point of the frame.
  void drop_at (double x, double y, const TargetFrame &frame);

  /// Looks for all targets in the next frame, whose tensors are computed; by their fragments, or by
  /// a correlation filter. Those that were followed otherwise before start again.
  Expected<> follow (const TrackOptions &options, const TargetFrame &frame);
  Expected<> follow (const FrameTensors &tensors, unsigned lost_after, const TargetFrame &frame);
  /// Drops targets that have been lost for more than so many frames, but for the configured ones;
  /// 0 drops none.
  void forget (guint frames);

  /// Returns all targets, lost ones too, in pixels of the frame.
  std::vector<Track> tracks (const TargetFrame &frame) const;

  /// Drops all targets; the next configure starts those of its text.
  void clear ();
  /// Clears, and counts ids from 1 again.
  void reset ();

private:
  struct Followed;

  void warn_of_empty (const Followed &followed, const TargetFrame &frame);
  void note_followed (const TargetFrame &frame);
  void add (const GstVideoRectangle &box, gint parent, bool configured, const TargetFrame &frame);

  const gpointer element_;
  std::vector<std::unique_ptr<Followed>> followed_;
  std::optional<std::string> configured_;  // the text of the last configure
  guint next_id_ = 1;
  bool excess_warned_ = false;  // of more targets than are followed
  bool empty_warned_ = false;   // of one that cannot be followed, since the last configure
};

}  // namespace integralhist
