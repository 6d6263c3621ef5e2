// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace integralhist {

/// Returns the median of at least one value; of an even number of values, the upper one.
inline double median (std::vector<double> values)
{
  const auto middle = values.begin () + std::ptrdiff_t (values.size () / 2);
  std::ranges::nth_element (values, middle);
  return *middle;
}

}  // namespace integralhist
