// SPDX-License-Identifier: LGPL-2.1-or-later
//
// wavefront: the multithreaded CPU version that Poostchi et al. 2017 compare with, wave-front over tiles (section 3.5, after Bellens et al. 2011): the tiles on a diagonal, of all
// bins, are computed in parallel, each from its left, upper and corner neighbours with the recursion of Algorithm 1. The tensor is written once; the diagonals follow each other.
#include <algorithm>

#include <tbb/parallel_for.h>

#include "../inthist.hpp"

namespace inthist {
namespace {

constexpr int kTile = 64;

template <class T>
void
fill_tile (const Job &job, int b, int x0, int y0)
{
  const int x1 = std::min (x0 + kTile, job.shape.width), y1 = std::min (y0 + kTile, job.shape.height);
  std::uint8_t *plane = static_cast<std::uint8_t *> (job.tensor) + b * job.layout.plane_pitch;
  for (int y = y0; y < y1; y++) {
    const std::uint8_t *bins = job.bins.data + y * job.bins.stride;
    T *row = reinterpret_cast<T *> (plane + y * job.layout.row_pitch);
    const T *above = y > 0 ? reinterpret_cast<const T *> (plane + (y - 1) * job.layout.row_pitch) : nullptr;
    // pixels of the bin in this row so far: what the row left of the tile adds to the one above
    T sum = x0 > 0 ? T (row[x0 - 1] - (above ? above[x0 - 1] : 0)) : T (0);
    for (int x = x0; x < x1; x++) {
      sum = T (sum + (bins[x] == b));
      row[x] = T (sum + (above ? above[x] : 0));
    }
  }
}

template <class T>
void
sweep (const Job &job)
{
  const int columns = (job.shape.width + kTile - 1) / kTile, rows = (job.shape.height + kTile - 1) / kTile;
  for (int diagonal = 0; diagonal < columns + rows - 1; diagonal++) {
    const int first = std::max (0, diagonal - columns + 1), last = std::min (rows - 1, diagonal), tiles = last - first + 1;
    tbb::parallel_for (0, job.shape.bins * tiles, [&] (int i) {
      const int row = first + i % tiles;
      fill_tile<T> (job, i / tiles, (diagonal - row) * kTile, row * kTile);
    });
  }
}

int
run (const Job &job)
{
  if (job.shape.counter == Counter::u32)
    sweep<std::uint32_t> (job);
  else
    sweep<std::uint16_t> (job);
  return 0;
}

}  // namespace

extern const Strategy kWavefront;
const Strategy kWavefront = { .name = "wavefront",
                              .description = "CPU: tiles on a diagonal in parallel (Poostchi et al. 2017, section 3.5)",
                              .device = Device::cpu,
                              .workspace_bytes = [] (const Shape &) { return std::size_t (0); },
                              .run = run };

}  // namespace inthist
