// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a target asks of a frame, and the answers. Those of many targets are asked together: a GPU
// answers a thousand questions about as fast as one.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <gst/integralhist/engine/tensor.hpp>

#include "cells.hpp"

namespace integralhist {

class DeviceFilter;

/// Asks for the cells of some grids. The answer is [grid][cell][bin] in 1/kCellUnit, or with scores
/// of the bins [grid][cell].
struct CellQuestion {
  std::vector<CellEdges> grids;
  inthist::Scores scores = {};
  std::vector<std::int64_t> cells = {};

  /// Asks for nothing. The memory of answers stays.
  void clear ()
  {
    grids.clear ();
    scores = {};
  }
};

/// Asks a filter on a GPU for its response to a square, or has it make an example of one.
struct FilterQuestion {
  std::optional<CellEdges> square;
  bool makes_example = false;
  CellScale scale = {};
  DeviceFilter *filter = nullptr;
  float mu = 0, rho = 0;  // by which to learn from the example afterwards; 0 for not
  std::vector<float> response = {};
};

/// Has what such a filter has searched made an example, by turns of its frequencies.
struct MoveQuestion {
  DeviceFilter *filter = nullptr;
  std::vector<std::complex<double>> turns = {};
};

/// Asks for a box's sample on a GPU (scale.hpp).
struct SampleQuestion {
  std::vector<CellEdges> grids;
  std::vector<float> scales = {};
  std::vector<float> sample = {};
};

struct Questions {
  CellQuestion gradients = {}, luma = {},  // of the target's surroundings
      sizes = {},                          // gradients, too
      scores = {};                         // of colours
  std::vector<GstVideoRectangle> boxes = {};
  std::vector<guint32> counts = {};  // of colours in the boxes, [box][bin]

  FilterQuestion filter = {};
  MoveQuestion move = {};
  SampleQuestion sample = {};

  void clear ()
  {
    filter.square.reset ();
    filter.rho = 0;
    move.turns.clear ();
    sample.grids.clear ();
    sample.scales.clear ();
    for (CellQuestion *const question : { &gradients, &luma, &sizes, &scores })
      question->clear ();
    boxes.clear ();
  }
};

/// Has all questions answered.
Expected<> ask (const FrameTensors &frame, std::span<Questions *const> questions);

}  // namespace integralhist
