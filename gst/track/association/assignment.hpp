// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The assignment problem: pairs the rows of a matrix of gains with its columns, each at most once,
// so that the sum of the pairs' gains is largest. Rows are targets, and columns are detections.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace integralhist {

/// Returns for each row of the matrix `gains` the column that it is paired with, or -1. The matrix
/// is stored row by row. Only pairs with a gain above 0 are made. Equal gains give equal pairs.
std::vector<int> assign (std::span<const double> gains, std::size_t rows, std::size_t columns);

}  // namespace integralhist
