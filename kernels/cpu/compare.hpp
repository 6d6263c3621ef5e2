// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <algorithm>

#include "../rounding.hpp"
#include "../window.hpp"

namespace inthist::cpu {

/// The windows that a CPU task compares with models: neighbouring columns in some rows of a grid,
/// or consecutive windows of a list, which counts as one row. Maps of 640x480x32 took as long or
/// longer with 8 or 16 rows, and with 320 or 1024 columns; most differences were within the noise
/// (queries --device cpu).
struct WindowBatch {
  static constexpr int kRows = 4, kColumns = 512, kWindows = kRows * kColumns;

  int n_rows, rows[kRows];
  int columns, first_column;

  /// Returns the distance between a batch's rows of results: the columns, padded to whole vectors.
  int stride () const { return round_up (columns, 16); }
  /// Returns the number, among the query's windows, of the first window in a row of the batch.
  std::size_t index (const Windows &windows, int row) const
  {
    return std::size_t (rows[row]) * (windows.list ? windows.n : windows.grid.columns)
           + first_column;
  }
};

/// Returns the rectangle, relative to a window, that is compared with a model: a patch for votes,
/// or the whole window of a grid for likelihoods. A patch of negative size becomes empty.
inline Region patch_of (const Query &query, int model)
{
  const Grid &grid = query.windows.grid;
  if (query.kind != QueryKind::votes)
    return { 0, 0, grid.window_width, grid.window_height };
  const Region &patch = query.patches[model];
  return { patch.x, patch.y, std::max (0, patch.width), std::max (0, patch.height) };
}

/// The index of the number in a correlation's MeasureSum that depends only on the model, not on the
/// window. This number is added up once: with four numbers a window, a batch of windows would
/// outgrow an L1 cache of 32 KiB.
constexpr int kOfModel = 3;

/// Loads a MeasureSum from an array in which its numbers are kWindows apart. This is a function,
/// because for_state () would not inline a lambda that is compiled for one instruction set.
template <Measure kMeasure>
void load (MeasureSum<kMeasure> &sum, const float *numbers)
{
  sum.for_state ([numbers] (int k, float &number) { number = numbers[k * WindowBatch::kWindows]; });
}

/// Stores a MeasureSum in an array in which its numbers are kWindows apart, except number kOfModel.
template <Measure kMeasure>
void store (MeasureSum<kMeasure> &sum, float *numbers)
{
  sum.for_state ([numbers] (int k, float number) {
    if (k != kOfModel)
      numbers[k * WindowBatch::kWindows] = number;
  });
}

}  // namespace inthist::cpu
