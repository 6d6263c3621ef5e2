// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cross-weave: the multithreaded CPU version that Poostchi et al. 2017 compare with, cross-weave mode (Fig. 1): all rows of all bins are scanned in parallel, then all
// columns, a group of neighbours by each thread so that it goes along cache lines. Three passes over the tensor: initialise, rows, columns.
#include <algorithm>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "../inthist.hpp"

namespace inthist {
namespace {

template <class T>
void
weave (const Job &job)
{
  const Shape &shape = job.shape;
  const auto line = [&] (int b, int y) {
    return reinterpret_cast<T *> (static_cast<std::uint8_t *> (job.tensor) + b * job.layout.plane_pitch + y * job.layout.row_pitch);
  };
  const std::int64_t lines = std::int64_t (shape.bins) * shape.height;
  const auto for_lines = [&] (auto &&body) {
    tbb::parallel_for (tbb::blocked_range<std::int64_t> (0, lines, 16), [&] (const auto &range) {
      for (std::int64_t i = range.begin (); i < range.end (); i++)
        body (int (i / shape.height), int (i % shape.height));
    });
  };
  for_lines ([&] (int b, int y) {
    const std::uint8_t *bins = job.bins.data + y * job.bins.stride;
    T *row = line (b, y);
    for (int x = 0; x < shape.width; x++)
      row[x] = bins[x] == b;
  });
  for_lines ([&] (int b, int y) {
    T *row = line (b, y);
    for (int x = 1; x < shape.width; x++)
      row[x] = T (row[x] + row[x - 1]);
  });
  constexpr int kColumns = 256;
  const int groups = (shape.width + kColumns - 1) / kColumns;
  tbb::parallel_for (0, shape.bins * groups, [&] (int i) {
    const int b = i / groups, first = i % groups * kColumns, last = std::min (first + kColumns, shape.width);
    for (int y = 1; y < shape.height; y++) {
      const T *above = line (b, y - 1);
      T *row = line (b, y);
      for (int x = first; x < last; x++)
        row[x] = T (row[x] + above[x]);
    }
  });
}

int
run (const Job &job)
{
  if (job.shape.counter == Counter::u32)
    weave<std::uint32_t> (job);
  else
    weave<std::uint16_t> (job);
  return 0;
}

}  // namespace

extern const Strategy kCrossWeave;
const Strategy kCrossWeave = { .name = "cross-weave",
                               .description = "CPU: all rows, then all columns, in parallel (Poostchi et al. 2017, Fig. 1)",
                               .device = Device::cpu,
                               .workspace_bytes = [] (const Shape &) { return std::size_t (0); },
                               .run = run };

}  // namespace inthist
