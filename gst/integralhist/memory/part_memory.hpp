// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The memory that an engine allocates for parts of frames besides tensors. overhead_of counts it.
#pragma once

#include "part.hpp"

namespace integralhist {

struct PartMemory {
  std::size_t pixels = 0, workspace = 0;  // bytes for each part in flight
  std::size_t above = 0;  // bytes for H in the row above the next strip, if there are strips
};

/// Returns the memory for parts that are at most as large as `most`.
inline PartMemory memory_of (const inthist::Shape &most, const inthist::Strategy *strategy,
                             const inthist::Tuning &tuning)
{
  return { inthist::binned_stride (most) * most.height,
           strategy ? strategy->workspace_bytes (most, tuning) : 0,
           sizeof (std::uint32_t) * most.bins * most.width };
}

/// Pictures on a device besides one for each part in flight: that of the next frame, uploaded
/// early.
constexpr unsigned kPicturesAhead = 1;

}  // namespace integralhist
