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

/// A query for the sums in the cells of some grids. The answer is [grid][cell][bin], in units of
/// 1/kCellUnit; if the bins have scores, it is [grid][cell].
struct TargetCellsQuery {
  std::vector<CellEdges> grids;
  inthist::Scores scores = {};
  std::vector<std::int64_t> sums = {};

  /// Removes the query, but keeps the memory of its answer for the next one.
  void clear ()
  {
    grids.clear ();
    scores = {};
  }
};

/// All queries for one target in a frame: cells around the target, cells of its box at all sizes,
/// scores of colours in cells, and counts of colours in boxes.
struct TargetQueries {
  TargetCellsQuery gradients = {}, luma = {}, sizes = {}, scores = {};
  std::vector<GstVideoRectangle> boxes = {};
  std::vector<guint32> counts = {};  // [box][bin]

  void clear ()
  {
    for (TargetCellsQuery *const query : { &gradients, &luma, &sizes, &scores })
      query->clear ();
    boxes.clear ();
  }
};

Expected<> run_queries (const FrameTensors &frame, std::span<TargetQueries *const> queries);

}  // namespace integralhist
