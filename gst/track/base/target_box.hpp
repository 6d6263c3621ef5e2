// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <algorithm>

namespace integralhist {

/// A target's box, in pixels of the tensor of a frame.
struct TargetBox {
  double x = 0, y = 0, width = 0, height = 0;
};

inline double squared (double x)
{
  return x * x;
}

inline double shared_area (const TargetBox &a, const TargetBox &b)
{
  const double w = std::min (a.x + a.width, b.x + b.width) - std::max (a.x, b.x),
               h = std::min (a.y + a.height, b.y + b.height) - std::max (a.y, b.y);
  return w > 0 && h > 0 ? w * h : 0;
}

/// Returns the intersection of two boxes divided by their union: 0 to 1.
inline double iou (const TargetBox &a, const TargetBox &b)
{
  const double shared = shared_area (a, b);
  return shared > 0 ? shared / (a.width * a.height + b.width * b.height - shared) : 0;
}

inline double covered_share (const TargetBox &box, const TargetBox &by)
{
  const double shared = shared_area (box, by);
  return shared > 0 ? shared / (box.width * box.height) : 0;
}

inline TargetBox resized (const TargetBox &box, double x_factor, double y_factor)
{
  return { box.x * x_factor, box.y * y_factor, box.width * x_factor, box.height * y_factor };
}

}  // namespace integralhist
