// SPDX-License-Identifier: LGPL-2.1-or-later
//
// look-back: computes summed-area tables that are written once, from pixels that are read once. A
// block computes one tile: it loads the tile's pixels to shared memory, publishes the sums of the
// tile's rows and columns, adds up the sums of the tiles above and to the left, and stores the
// elements. This is 1R1W-SKSS-LB of Emoto, Funasaka, Tokura, Nakano and Ito 2018: the decoupled
// look-back of Merrill and Garland 2016 in two directions. Element (x, y) of a tile is the sum of
//
//   corner            all tiles that are to the left and above
//   above[x]          all tiles above, columns 0..x
//   left[y]           all tiles to the left, rows 0..y
//   h[y][x]           the tile itself
//
// A block draws its tile, and waits only for tiles drawn before, so it waits for no block that
// cannot run. Tiles are drawn by diagonals, so that the tiles that a block needs are well ahead of
// it. Looking back ends at a checkpoint: every 8th or 16th tile publishes the sums of all tiles
// before it. The numbers that a block adds, and their order, depend only on its tile, so sums of
// floats have the same bits in each run.
//
// Traffic: the pixels, the table, and the sums that tiles publish, which are written and read: 2 to
// 10 % of the table. Most time is lost on cache lines that one processor writes and another reads
// soon after. So tiles are as large as shared memory allows, and no two tiles' flags share a line
// (with four to a line tables take 3 to 5 % more time): docs/measurements/2026-11-25-look-back.md.
//
// Small tables are computed in clusters of blocks instead, on devices that have these
// (cluster_table.cuh).
#include "cluster_table.cuh"
#include "launch_look_back.cuh"

namespace inthist {
namespace cuda {
namespace {

using Element = std::uint32_t;
using Source = Power<std::uint8_t, Element>;

bool supports (const Shape &shape, const Tuning &)
{
  return shape.content == Content::sums && shape.pixel == Type::u8 && !is_floating (shape.counter);
}

int run (const Job &job)
{
  const auto table = planes_of<Element> (job.shape, job.layout, job.tensor);
  bool launched = false;
  TRY_CODE (launch_if_small (table, job, launched));
  return launched ? 0 : launch_tiles<Element, Source> (table, job);
}

std::size_t workspace_bytes (const Shape &shape, const Tuning &)
{
  return tiles_workspace_bytes<Element, Source> (
      planes_of<Element> (shape, layout_of (shape), nullptr));
}

}  // namespace
}  // namespace cuda

extern constinit const Strategy kLookBack = {
  .name = "look-back",
  .description = "CUDA: tables, read once and written once, by tiles that look back at others "
                 "(after Emoto et al. 2018)",
  .device = Device::cuda,
  .workspace_bytes = cuda::workspace_bytes,
  .run = cuda::run,
  .keeps_workspace = true,
  .supports = cuda::supports,
  .limit = "tables"
};

}  // namespace inthist
