// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A point in pixels of a frame; it may lie outside the frame.
#pragma once

namespace integralhist {

struct Point {
  double x, y;
};

}  // namespace integralhist
