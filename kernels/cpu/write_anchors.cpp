// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel.hpp"

namespace inthist::cpu {

int write_anchors (const Job &job)
{
  const Anchors anchors = anchors_of (job.shape);
  return for_each (job.shape.bins, 1, job.cancelled, [&] (int b) {
    for (int j = 0; j < anchors.columns; j++) {
      if (is_set (job.cancelled))
        return false;
      write_anchor_column (static_cast<std::uint8_t *> (job.tensor), job.layout, job.shape.bins,
                           anchors, b, j);
    }
    return true;
  });
}

}  // namespace inthist::cpu
