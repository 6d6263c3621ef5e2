// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A target that is followed. Each method is a folder with a class for its targets, and a function
// that looks for them in the next frame, because each method needs other tensors.
#pragma once

#include "target_box.hpp"

namespace integralhist {

/// The known motion of a target, once two detections have told its velocity. If `reach` is 0,
/// nothing is known.
struct ExpectedMotion {
  double x = 0, y = 0;  // pixels, to the next frame
  double reach = 0;     // how far from that place the target may be, in sides of its box
};

class Target {
public:
  Target () = default;
  virtual ~Target () = default;
  Target (const Target &) = delete;
  Target &operator= (const Target &) = delete;

  /// Goes on from this box in the next frame.
  virtual void restart (const TargetBox &box) = 0;
  /// Goes on in frames of another size.
  virtual void resize (double x_factor, double y_factor) = 0;

  virtual const TargetBox &box () const = 0;
  virtual bool is_lost () const = 0;
  /// Returns whether no pixel counts at the target's first place: it cannot be found again.
  virtual bool is_empty () const { return false; }
  /// Returns 0 to 1; 0 when lost.
  virtual double confidence () const = 0;
};

/// A target of a method, and its expected motion to the next frame.
template <typename T>
struct Step {
  T *target;
  ExpectedMotion motion;
};

}  // namespace integralhist
