// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The options of the tracker that integralhisttrack and the nvtracker library offer as properties.
#pragma once

#include <algorithm>
#include <vector>

#include <gst/video/video.h>

#include <gst/properties/properties.hpp>

namespace integralhist {

inline constexpr guint kMaxTargets = 1000;  // the most targets that a TargetList follows

/// The boxes that start targets, and the limits that end them. An empty area is the whole frame.
struct ListOptions {
  std::vector<GstVideoRectangle> targets;  // boxes to start
  std::vector<GstVideoRectangle> area;
  bool merge_classes = false;  // a target may change its class
  bool reidentify = false;     // a new target may turn out to be a lost one
  guint max_misses = 0;        // missed runs of the detector; 0 for any number
  double remember = 30;        // seconds for which a lost target that was detected is kept
  guint forget_after = 100;    // frames for which another lost target is kept; 0 forever

  /// Returns whether the middle of a box lies in the area.
  bool has_in_area (const GstVideoRectangle &box) const
  {
    const double x = box.x + box.w / 2.0, y = box.y + box.h / 2.0;
    return area.empty () || std::ranges::any_of (area, [&] (const GstVideoRectangle &part) {
             return x >= part.x && x < double (part.x) + part.w && y >= part.y
                    && y < double (part.y) + part.h;
           });
  }
};

struct TrackOptions {
  ListOptions list = {};
  unsigned lost_after = 5;  // bad frames; 0 for never
};

/// Returns properties for the options of the tracker, except for the boxes of targets and the area.
PropertyTable<TrackOptions> track_properties ();

}  // namespace integralhist
