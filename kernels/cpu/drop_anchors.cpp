// SPDX-License-Identifier: LGPL-2.1-or-later
#include <tbb/parallel_for.h>

#include "../anchors.hpp"

namespace inthist::cpu {

void
drop_anchors (const Job &job)
{
  const Anchors anchors = anchors_of (job.shape);
  tbb::parallel_for (0, job.shape.bins, [&] (int b) {
    for (int j = 0; j < anchors.columns; j++)
      drop_column_of_anchors (static_cast<std::uint8_t *> (job.tensor), job.layout, job.shape.bins, anchors, b, j);
  });
}

}  // namespace inthist::cpu
