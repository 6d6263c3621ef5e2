// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A scene with targets, seen by integralhisttrack behind a detector, by both methods.
#pragma once

#include "tracking.hpp"

inline const std::string kMethods[][2] = {
  { "", "cudaintegralhist bins=16 backend=cpu" },
  { "method=correlation",
    "cudaintegralhist backend=cpu feature=signed-gradient bins=18 weight=gradient soft=true ! "
    "cudaintegralhist backend=cpu feature=hsv ! cudaintegralimage backend=cpu" },
};

struct Found {
  Place box;
  const char *class_name = "thing";
  double confidence = 0.9;
};
constexpr double kNone = -1;

/// Adds detections as an element upstream does.
inline auto detected (std::vector<Found> all)
{
  return [all] (GstBuffer *buffer) {
    for (const auto &[box, class_name, confidence] : all)
      add_detection (buffer, class_name, box, confidence);
  };
}

inline std::vector<Seen> visible (std::vector<Seen> tracks)
{
  std::erase_if (tracks, [] (const Seen &track) { return track.lost; });
  return tracks;
}

/// A scene with one target.
class Walk {
public:
  Walk (int method, const std::string &properties)
      : scene (240, 160),
        tracking (scene, kMethods[method][0] + " " + properties, kMethods[method][1])
  {
  }

  /// The detector finds `found` if it looks at the frame.
  std::vector<Seen> with (const std::vector<Place> &targets, const std::vector<Found> &found = {},
                          bool looks = true)
  {
    auto picture = scene.background ();
    for (std::size_t i = 0; i < targets.size (); i++)
      scene.draw (picture, targets[i], 7 + unsigned (i));
    return tracking.follow (picture, detected (looks ? found : std::vector<Found> ()));
  }

  const Scene scene;
  Tracking tracking;
};

constexpr Place kOther = { 150, 60, 30, 40 };
