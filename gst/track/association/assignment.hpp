// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The assignment problem: rows and columns are paired so that the pairs' gains add up to the most.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace integralhist {

/// Returns the column of each row, or -1 for one that has none. `gains` has a gain for each row and
/// column, row by row; pairs without a gain above 0 are not made. Equal inputs give equal pairs.
std::vector<int> assign (std::span<const double> gains, std::size_t rows, std::size_t columns);

}  // namespace integralhist
