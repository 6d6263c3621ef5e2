// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Steps of the correlation tracker on pictures of a target.
#pragma once

#include <algorithm>

#include <gst/track/correlation/single_target_tracker.hpp>

#include "correlation_frames.hpp"
#include "test.hpp"

namespace integralhist {

constexpr int kWidth = 320, kHeight = 240;
constexpr unsigned kLostAfter = 5;

inline double overlap (const SingleTargetTracker &target, double x, double y, double width,
                       double height)
{
  const auto shared = [] (double a, double a_side, double b, double b_side) {
    return std::max (0.0, std::min (a + a_side / 2, b + b_side / 2)
                              - std::max (a - a_side / 2, b - b_side / 2));
  };
  const double both = shared (target.x (), target.width (), x, width)
                      * shared (target.y (), target.height (), y, height);
  return both / (target.width () * target.height () + width * height - both);
}

/// A street with a target in it.
struct Scene {
  RgbPicture background = squares (kWidth, kHeight, 1, 20, 120);
  RgbPicture target = squares (36, 48, 2, 80, 255);

  RgbPicture at (double x, double y, double scale = 1) const
  {
    RgbPicture picture = background;
    draw (picture, target, x, y, scale);
    return picture;
  }
};

/// Runs a step of the tracker to its end.
inline void finish (SingleTargetTracker &tracker, const FrameTensors &frame)
{
  SingleTargetTracker *const its = &tracker;
  fail_unless (integralhist::run_stages (frame, { &its, 1 }).has_value ());
}

inline SingleTargetTracker start (Frames &frames, const RgbPicture &picture, double x, double y,
                                  double width = 36, double height = 48)
{
  SingleTargetTracker tracker ({ x, y, width, height });
  const FrameTensors frame = frames.of (picture);
  fail_unless (tracker.start (frame, { x, y, width, height }).has_value ());
  finish (tracker, frame);
  return tracker;
}

inline void follow (SingleTargetTracker &tracker, Frames &frames, const RgbPicture &picture,
                    const ExpectedMotion &motion = {})
{
  const FrameTensors frame = frames.of (picture);
  fail_unless (tracker.begin_search (frame, kLostAfter, motion).has_value ());
  finish (tracker, frame);
}

inline void correct (SingleTargetTracker &tracker, Frames &frames, const RgbPicture &picture,
                     double x, double y, double width, double height)
{
  const FrameTensors frame = frames.of (picture);
  fail_unless (tracker.start (frame, { x, y, width, height }).has_value ());
  finish (tracker, frame);
}

}  // namespace integralhist
