// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The order in which look-back (look_back.cu) computes the tiles of a table: diagonal by diagonal.
#pragma once

#include <cuda_runtime.h>

namespace inthist::cuda {

/// Returns the row and column of the n-th of rows x columns tiles, counted diagonal by diagonal
/// from the upper left corner on.
__device__ inline int2 on_diagonals (int n, int rows, int columns)
{
  const int shorter = min (rows, columns), corner = shorter * (shorter - 1) / 2,
            full = (max (rows, columns) - shorter + 1) * shorter;
  const auto in_corner = [] (int n) {  // returns row and diagonal of tile n
    int diagonal = int ((sqrtf (8.0f * float (n) + 1.0f) - 1.0f) / 2.0f);
    diagonal += (diagonal + 1) * (diagonal + 2) / 2 <= n;  // if the root was rounded
    diagonal -= diagonal * (diagonal + 1) / 2 > n;
    return int2{ n - diagonal * (diagonal + 1) / 2, diagonal };
  };
  if (n < corner) {
    const auto [row, diagonal] = in_corner (n);
    return { row, diagonal - row };
  }
  if (n < corner + full) {
    const int diagonal = shorter - 1 + (n - corner) / shorter,
              row = (n - corner) % shorter + max (0, diagonal - (columns - 1));
    return { row, diagonal - row };
  }
  const auto [row, diagonal] = in_corner (rows * columns - 1 - n);
  return { rows - 1 - row, columns - 1 - (diagonal - row) };
}

}  // namespace inthist::cuda
