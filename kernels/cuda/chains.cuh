// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Chains of windows of a likelihood map, along one axis. Each window of a chain begins where the
// window before it ends, so both share elements of the integral histogram H.
#pragma once

#include <algorithm>
#include <optional>

#include "../window.hpp"

namespace inthist::cuda {

/// The n chains along an axis of a likelihood map. Neighbouring windows of a chain are `apart`
/// places of the map from each other, so `apart` neighbouring chains (a set) cover a range without
/// gaps.
struct Chains {
  int n, apart;
};

/// Returns the place (row or column) of a likelihood map at which a chain of windows begins.
template <int kLength>
HOST_DEVICE inline int first_window (int chain, int apart)
{
  return chain / apart * kLength * apart + chain % apart;
}

/// Returns the row or column of the integral histogram for an edge of a window at a place of a
/// grid: that of the last pixel before the edge, or -1 before the frame. The edge lies `offset`
/// pixels after the window's first edge; the frame has `size` rows or columns.
HOST_DEVICE inline int edge_at (int start, int step, std::int64_t place, int offset, int size)
{
  return between (-1, start + place * step + offset - 1, size - 1);
}

/// Returns the chains of `length` windows along an axis with n windows of `size` pixels, `step`
/// pixels apart. Returns nothing if no window begins where another one ends.
inline std::optional<Chains> chains_along (int n, int size, int step, int length)
{
  if (length == 1)
    return Chains{ n, 1 };
  if (step < 1 || size % step != 0)
    return {};
  const int apart = size / step;
  const std::int64_t per_set = std::int64_t (apart) * length,
                     sets = divide_up<std::int64_t> (n, per_set);
  return Chains{
    int ((sets - 1) * apart + std::min<std::int64_t> (apart, n - (sets - 1) * per_set)), apart
  };
}

}  // namespace inthist::cuda
