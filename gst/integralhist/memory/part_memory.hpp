// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The memory that an engine needs besides tensors, to compute parts of frames (part.hpp).
#pragma once

#include "part.hpp"

namespace integralhist {

/// Bytes for the pixels and the workspace of each part in flight, and for the last row of a strip
/// of rows (`above`), to which the next strip of the frame adds its counts.
struct PartMemory {
  std::size_t pixels = 0, workspace = 0;
  std::size_t above = 0;
};

inline PartMemory memory_of (const inthist::Shape &most, const inthist::Strategy *strategy,
                             const inthist::Tuning &tuning)
{
  return { inthist::binned_stride (most) * most.height,
           strategy ? strategy->workspace_bytes (most, tuning) : 0,
           sizeof (std::uint32_t) * most.bins * most.width };
}

/// How many pictures a device has room for besides one for each part in flight: the next frame's.
constexpr unsigned kPicturesAhead = 1;

}  // namespace integralhist
