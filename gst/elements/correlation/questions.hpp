// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a target asks of a frame, and the answers. Those of many targets are asked together: a GPU
// answers a thousand questions about as fast as one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <gst/integralhist/tensor.hpp>

#include "cells.hpp"

namespace integralhist {

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

struct Questions {
  CellQuestion gradients = {}, luma = {},  // of the target's surroundings
      sizes = {},                          // gradients, too
      scores = {};                         // of colours
  std::vector<GstVideoRectangle> boxes = {};
  std::vector<guint32> counts = {};  // of colours in the boxes, [box][bin]

  void clear ()
  {
    for (CellQuestion *const question : { &gradients, &luma, &sizes, &scores })
      question->clear ();
    boxes.clear ();
  }
};

/// Has all questions answered.
Expected<> ask (const FrameTensors &frame, std::span<Questions *const> questions);

}  // namespace integralhist
