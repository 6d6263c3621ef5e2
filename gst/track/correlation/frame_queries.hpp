// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The queries of a target for one frame, and their results. Those of many targets run together: a
// GPU answers a thousand queries about as fast as one.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <kernels/correlation/filter.hpp>

#include <gst/integralhist/engine/tensor.hpp>

#include "cells.hpp"

namespace integralhist {

class DeviceFilter;

/// Asks for the sums of the cells of some grids: [grid][cell][bin] in 1/kCellUnit, or with scores
/// of the bins [grid][cell].
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

/// Asks a filter on a GPU for its response to a square, or has it make an example of one.
struct FilterQuery {
  std::optional<CellEdges> square;
  bool makes_example = false;
  CellScale scale = {};
  DeviceFilter *filter = nullptr;
  double rate = 0;  // by which to learn from the last example afterwards; 0 for not
  std::optional<inthist::correlation::FilterBox> start = {};  // where it starts with the example,
  float kept = 0;                                             // and keeps this share of before
  std::vector<float> response = {};
};

/// Has what such a filter has searched made an example, by the phase factors of its frequencies.
struct MoveQuery {
  DeviceFilter *filter = nullptr;
  std::vector<std::complex<double>> phase_factors = {};
};

/// Asks for a box's sample on a GPU (scale.hpp).
struct SampleQuery {
  std::vector<CellEdges> grids;
  std::vector<float> scales = {};
  std::vector<float> sample = {};
};

struct FrameQueries {
  CellGridQuery gradients = {}, luma = {},  // of the target's surroundings
      sizes = {},                           // gradients, too
      scores = {};                          // of colours
  std::vector<GstVideoRectangle> boxes = {};
  std::vector<guint32> counts = {};  // of colours in the boxes, [box][bin]

  FilterQuery filter = {};
  MoveQuery move = {};
  SampleQuery sample = {};

  void clear ()
  {
    filter.square.reset ();
    filter.rate = 0;
    filter.start.reset ();
    move.phase_factors.clear ();
    sample.grids.clear ();
    sample.scales.clear ();
    for (CellGridQuery *const query : { &gradients, &luma, &sizes, &scores })
      query->clear ();
    boxes.clear ();
  }
};

/// Runs all queries.
Expected<> run_queries (const FrameTensors &frame, std::span<FrameQueries *const> queries);

}  // namespace integralhist
