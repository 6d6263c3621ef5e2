// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Anchors of a u16_anchored tensor, taken from its finished planes. From one anchor to the one
// below H grows by less than 65536, so the elements tell by how much.
#pragma once

#include "host_device.hpp"
#include "inthist.hpp"

namespace inthist {

/// Fills column j of a plane's anchors; `tensor` is the job's.
INTHIST_HOST_DEVICE inline void write_anchor_column (std::uint8_t *tensor, const Layout &layout,
                                                     int planes, const Anchors &anchors, int plane,
                                                     int j)
{
  const int x = j << anchors.column_shift;
  auto *const values = reinterpret_cast<std::uint32_t *> (tensor + planes * layout.plane_pitch);
  std::uint32_t h = 0;
  for (int i = 0; i < anchors.rows; i++) {
    const int y = i << anchors.row_shift;
    const auto *const row = reinterpret_cast<const std::uint16_t *> (
        tensor + plane * layout.plane_pitch + y * layout.row_pitch);
    h += std::uint16_t (row[x] - h);
    values[anchors.index (plane, y, x)] = h;
  }
}

}  // namespace inthist
