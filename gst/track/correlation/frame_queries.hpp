// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The queries of a target for one frame, and their results. Queries of many targets run together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <gst/integralhist/engine/tensor.hpp>

#include "cells.hpp"

namespace integralhist {

/// Asks for the sums of the cells of some grids, and keeps the answer: [grid][cell][bin] in
/// 1/kCellUnit; if the bins have scores, [grid][cell].
struct CellGridQuery {
  std::vector<CellEdges> grids;
  inthist::Scores scores = {};
  std::vector<std::int64_t> sums = {};

  /// Removes the query. The memory of the results stays.
  void clear ()
  {
    grids.clear ();
    scores = {};
  }
};

struct FrameQueries {
  CellGridQuery gradients = {}, luma = {},  // of the target's surroundings
      sizes = {},                           // gradients in the box, in all sizes
      scores = {};                          // of colours
  std::vector<GstVideoRectangle> boxes = {};
  std::vector<guint32> counts = {};  // of colours in the boxes, [box][bin]

  void clear ()
  {
    for (CellGridQuery *const query : { &gradients, &luma, &sizes, &scores })
      query->clear ();
    boxes.clear ();
  }
};

/// Runs all queries.
Expected<> run_queries (const FrameTensors &frame, std::span<FrameQueries *const> queries);

}  // namespace integralhist
