// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Cells are rectangles in a target's surroundings, whose sums of gradients and luma become the
// channels of a correlation filter. They lie anywhere and have any size (kernels/cells.hpp), so no
// picture is resampled. Edges of large cells are rounded to whole pixels, which is faster.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <kernels/cells.hpp>
#include <kernels/correlation/cell_grid.hpp>
#include <kernels/correlation/cpu/channels.hpp>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/gstintegralhist.h>

namespace integralhist {

using inthist::correlation::CellFactors;
using inthist::correlation::CellGrid;
using inthist::correlation::kCellUnit;
using inthist::correlation::kGrid;

class DeviceModelPool;
class DeviceFeatureImage;

/// The tensors of a frame that the tracker uses, all of the same size. On a GPU there are also
/// their images, and the models of targets, if the same GPU has all three tensors.
struct FrameTensors {
  GstIntegralHistogram *gradients;  // 18 directions, weighted and soft
  GstIntegralHistogram *colours;    // hsv, at most 256 bins
  GstIntegralHistogram *luma;       // a summed-area table
  std::shared_ptr<DeviceModelPool> models = nullptr;
  DeviceFeatureImage *gradient_image = nullptr, *colour_image = nullptr, *luma_image = nullptr;

  int width () const { return int (gst_integral_histogram_get_width (gradients)); }
  int height () const { return int (gst_integral_histogram_get_height (gradients)); }
};

/// The edges of a grid's cells along both axes, clipped to the frame, in 1/kCellParts pixel.
struct CellEdges {
  std::vector<int> x, y;

  static CellEdges of (const CellGrid &grid, int width, int height);
};

inline CellGrid square_around (double x, double y, double side)
{
  return CellGrid::around (x, y, side, side, kGrid, kGrid);
}

/// Returns the factors that turn the sums of a grid's cells into mean gray levels per pixel.
inline CellFactors cell_factors_of (const FrameTensors &frame, const CellGrid &grid)
{
  const double unit = gst_integral_histogram_get_weight_unit (frame.gradients),
               pixels = grid.width * grid.height * kCellUnit;
  return { float (1 / (pixels * unit)), float (1 / (pixels * 256)) };
}

/// Computes the channels of a square of cells, [y][x][channel], from the cells' sums of gradients
/// and luma. Fades the channels out towards the square's border.
void compute_channels (const FrameTensors &frame, const CellGrid &square,
                       std::span<const std::int64_t> gradients, std::span<const std::int64_t> luma,
                       std::vector<float> &channels);

}  // namespace integralhist
