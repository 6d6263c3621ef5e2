// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The windows of a likelihood map, for a frame of `width` x `height` pixels and for the tensor.
#pragma once

#include <gst/elements/base/tensor_metas.hpp>
#include <gst/integralhist/gstintegralhist.h>

#include "likelihood_picture.hpp"

namespace integralhist {

struct MapGrid {
  int width, height;
  guint window_width, window_height;  // in pixels of the frame
  MapSide x, y;                       // in pixels of the tensor

  gsize size () const { return gsize (x.windows) * gsize (y.windows); }
  GstIntegralHistogramGrid in_tensor () const
  {
    return { x.window,  y.window, x.first - x.window / 2, y.first - y.window / 2, x.step, y.step,
             x.windows, y.windows };
  }
  MapWindows in_frame () const
  {
    const GstIntegralHistogramGrid grid = in_tensor ();
    const double x_scale = double (width) / x.pixels, y_scale = double (height) / y.pixels;
    return { gsize (y.windows), gsize (x.windows), grid.x * x_scale,   grid.y * y_scale,
             x.step * x_scale,  y.step * y_scale,  x.window * x_scale, y.window * y_scale };
  }
  /// Returns the best window of a likelihood map, in pixels of the frame.
  GstVideoRectangle place_of (const GstIntegralHistogramBest &best) const
  {
    return { x.centre (best.index % x.windows, width) - int (window_width / 2),
             y.centre (best.index / x.windows, height) - int (window_height / 2),
             int (window_width), int (window_height) };
  }
};

}  // namespace integralhist
