// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The base class of targets that a method follows. Each method is a folder with a subclass, and a
// function that looks for its targets in the next frame. It is not virtual, because each method
// needs other tensors.
#pragma once

#include "target_box.hpp"

namespace integralhist {

/// The expected motion of a target, known once two detections have given its velocity. If `reach`
/// is 0, nothing is known.
struct ExpectedMotion {
  double x = 0, y = 0;  // pixels, to the next frame
  double reach = 0;     // how far the target may be from the expected place, in sides of its box
};

class Target {
public:
  Target () = default;
  virtual ~Target () = default;
  Target (const Target &) = delete;
  Target &operator= (const Target &) = delete;

  /// Continues from this box in the next frame.
  virtual void restart (const TargetBox &box) = 0;
  /// Converts the target to frames that are larger by these factors.
  virtual void resize (double x_factor, double y_factor) = 0;

  virtual const TargetBox &box () const = 0;
  virtual bool is_lost () const = 0;
  /// Returns whether the target cannot be found, because its first box had no pixel that counts.
  virtual bool is_empty () const { return false; }
  /// Returns how sure the place is, 0 to 1; 0 while the target is lost.
  virtual double confidence () const = 0;
};

/// A target of a method, and its expected motion to the next frame.
template <typename T>
struct Step {
  T *target;
  ExpectedMotion motion;
};

}  // namespace integralhist
