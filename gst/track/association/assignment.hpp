// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The assignment problem: pairs rows with columns so that the sum of the pairs' gains is largest.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace integralhist {

/// Returns the column of each row, or -1 if the row has none. `gains` has a gain for each row and
/// column, row by row; only pairs with a gain above 0 are made. Equal inputs give equal pairs.
std::vector<int> assign (std::span<const double> gains, std::size_t rows, std::size_t columns);

}  // namespace integralhist
