// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The base class of targets that a tracking method (correlation or fragments) follows. Each method
// is a folder with a subclass, and with a function that looks for the method's targets in the next
// frame. The function is not virtual, because each method needs other tensors.
#pragma once

#include <span>

#include "target_box.hpp"

namespace integralhist {

/// The expected motion of a target to the next frame, in pixels. `spread` is how far the target may
/// be from the expected place, in sides of its box; 0 if no motion is known.
struct ExpectedMotion {
  double x = 0, y = 0;
  double spread = 0;
};

class Target {
public:
  Target () = default;
  virtual ~Target () = default;
  Target (const Target &) = delete;
  Target &operator= (const Target &) = delete;

  /// Lets the target continue from this box, such as that of a detection, in the next frame.
  virtual void restart (const TargetBox &box) = 0;
  /// Scales the target's boxes, for frames whose sides are longer by these factors.
  virtual void resize (double x_factor, double y_factor) = 0;

  virtual const TargetBox &box () const = 0;
  virtual bool is_lost () const = 0;
  /// Returns whether the target cannot be found, because no pixel of its first box is in a bin.
  virtual bool is_empty () const { return false; }
  /// Returns how sure the target's place is, 0 to 1; 0 while the target is lost.
  virtual double confidence () const = 0;
  /// Returns how well the last frame alone shows the target in its box, 0 to 1; 0 while it is lost.
  virtual double visibility () const { return confidence (); }
};

/// A target that a method must look for in the next frame, and the target's expected motion.
template <typename T>
struct SoughtTarget {
  T *target;
  ExpectedMotion motion;
};
template <typename T>
using SoughtTargets = std::span<const SoughtTarget<T>>;

}  // namespace integralhist
