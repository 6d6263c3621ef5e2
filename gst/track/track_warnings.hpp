// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The warnings of a tracker for users, such as of detections that start no target. Each is given
// once; that of an empty target again after the configured boxes have changed, and that of the area
// also after the area has changed.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <gst/track/association/detection_matching.hpp>
#include <gst/track/base/detection.hpp>
#include <gst/track/base/target_frame.hpp>

#include "track_options.hpp"
#include "tracked_target.hpp"

namespace integralhist {

struct TrackWarning {
  enum class Cause { detections, settings } cause;
  std::string message, detail;
};

class TrackWarnings {
public:
  using Warn = std::function<void (const TrackWarning &)>;
  explicit TrackWarnings (Warn warn) : warn_ (std::move (warn)) {}

  /// Warns of a confidence that is not a number, and of one above 1; once of each.
  void warn_of_confidence (const std::vector<Detection> &detections);
  /// Warns if none of the first detections could start a target. `selected` has those of this frame
  /// that are used.
  void warn_of_unused (const std::vector<Detection> &detections,
                       std::span<const PreparedDetection> selected, const TargetFrame &frame);
  void warn_of_empty (const TrackedTarget &tracked, const TargetFrame &frame);
  void warn_of_many ();
  /// Warns if a configured target cannot stay in the area.
  void warn_of_area (const ListOptions &options, const TargetFrame &frame);

  void forget_targets () { given_.empty = false; }
  void forget_area () { given_.area = false; }
  void reset () { given_ = {}, seen_ = {}; }

private:
  const Warn warn_;
  struct Given {
    bool confidence = false, per_cent = false, unused = false, excess = false, empty = false,
         area = false;
  } given_;
  struct SeenDetections {
    std::size_t n = 0;
    bool some_are_sure = false, some_sure_are_used = false;
  } seen_;
};

/// Returns boxes as text, in the form of the property targets: "x,y,width,height;...".
std::string text_of (const std::vector<GstVideoRectangle> &boxes);

}  // namespace integralhist
