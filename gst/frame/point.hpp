// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

namespace integralhist {

/// A point in pixels of a frame; it may lie outside the frame.
struct Point {
  double x, y;
};

}  // namespace integralhist
