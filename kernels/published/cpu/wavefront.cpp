// SPDX-License-Identifier: LGPL-2.1-or-later
//
// wavefront: the multithreaded CPU version that Poostchi et al. 2017 compare with, in wave-front
// mode over tiles (section 3.5, after Bellens et al. 2011). The tiles on a diagonal, of all bins,
// run in parallel. A tile continues from the row above it and from the row sums of the tile to the
// left, which are kept in `height` elements for each bin. The tensor is written once.
#include <algorithm>

#include "../../cpu/parallel.hpp"
#include "../../expected.hpp"
#include "../element_types.hpp"

namespace inthist {
namespace {

constexpr int kTiles[] = { 64, 128, 256, 32, 16 };

template <class T, class Source>
void fill_tile (const Planes<T> &out, Source source, T *left, int b, int x0, int y0, int tile)
{
  const int x1 = std::min (x0 + tile, out.width), y1 = std::min (y0 + tile, out.height);
  for (int y = y0; y < y1; y++) {
    T *row = out.line (b, y);
    T sum = x0 > 0 ? left[y] : T (0);
    if (y == 0) {
      for (int x = x0; x < x1; x++)
        row[x] = sum = T (sum + T (source (b, y, x)));
    } else {
      const T *above = out.line (b, y - 1);
      for (int x = x0; x < x1; x++) {
        sum = T (sum + T (source (b, y, x)));
        row[x] = T (sum + above[x]);
      }
    }
    left[y] = sum;
  }
}

template <class T, class Source>
int sweep (const Planes<T> &out, Source source, T *left, int tile,
           const std::atomic<bool> *cancelled)
{
  const int columns = divide_up (out.width, tile), rows = divide_up (out.height, tile);
  for (int diagonal = 0; diagonal < columns + rows - 1; diagonal++) {
    const int first = std::max (0, diagonal - columns + 1), last = std::min (rows - 1, diagonal),
              tiles = last - first + 1;
    TRY_CODE (cpu::for_each (out.count * tiles, 1, cancelled, [&] (int i) {
      const int b = i / tiles, row = first + i % tiles;
      fill_tile (out, source, left + std::size_t (b) * out.height, b, (diagonal - row) * tile,
                 row * tile, tile);
    }));
  }
  return 0;
}

int run (const Job &job)
{
  job.stage ("tiles");
  return with_element_types (job.shape, [&]<class T, class Source> (ElementTypes<T, Source>) {
    return sweep (planes_of<T> (job.shape, job.layout, job.tensor), Source{ job.pixels },
                  static_cast<T *> (job.workspace), job.tuning.tile_or (kTiles), job.cancelled);
  });
}

}  // namespace

extern constinit const Strategy kWavefront = {
  .name = "wavefront",
  .description = "CPU: tiles on a diagonal in parallel (Poostchi et al. 2017, section 3.5)",
  .device = Device::cpu,
  .workspace_bytes =
      [] (const Shape &shape, const Tuning &) {
        return std::size_t (shape.bins) * shape.height * bytes_of (shape.counter);
      },
  .run = run,
  .tiles = kTiles,
};

}  // namespace inthist
