// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A method of following targets: a folder of its own, with a class of each of these two. Each
// method has its own follow (), because each needs other tensors of the frame.
#pragma once

#include <memory>

#include "target_box.hpp"

namespace integralhist {

/// How a target is known to move, once two detections have told its velocity. If `reach` is 0,
/// nothing is known.
struct ExpectedMotion {
  double x = 0, y = 0;  // pixels, to the next frame
  double reach = 0;     // how far from there it may be, in sides of its box
};

class TrackingMethod;

/// A target that a method follows.
class Target {
public:
  explicit Target (const TrackingMethod &of) : method (&of) {}
  virtual ~Target () = default;
  Target (const Target &) = delete;
  Target &operator= (const Target &) = delete;

  /// Goes on from this box in the next frame.
  virtual void restart (const TargetBox &box) = 0;
  /// Goes on in frames of another size.
  virtual void resize (double x_factor, double y_factor) = 0;

  virtual const TargetBox &box () const = 0;
  virtual bool is_lost () const = 0;
  /// Returns whether it started at a place without a pixel that counts: it cannot be found again.
  virtual bool is_empty () const { return false; }
  /// Returns 0 to 1; 0 when lost.
  virtual double confidence () const = 0;

  const TrackingMethod *const method;
};

/// Makes its targets, and follows them.
class TrackingMethod {
public:
  virtual ~TrackingMethod () = default;
  virtual std::unique_ptr<Target> make_target (const TargetBox &box) const = 0;

  struct Step {
    Target *target;  // of this method
    ExpectedMotion motion;
  };
};

}  // namespace integralhist
