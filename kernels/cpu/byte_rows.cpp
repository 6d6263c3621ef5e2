// SPDX-License-Identifier: LGPL-2.1-or-later
//
// byte-rows: makes the tiles of a row of tiles from left to right, each once and whole. A task is
// one bin in one strip of rows of tiles. It keeps how many pixels each column has so far: scanned,
// these are H in a tile's first row. Traffic: 1.125 bytes an element written, past the caches, and
// the bin indices (1 byte a pixel) once a bin from L2. strips.hpp makes the tasks; their loops are
// in byte_rows-inl.hpp.

#include "strips.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/byte_rows-inl.hpp"
#include <hwy/foreach_target.h>

#include "byte_rows-inl.hpp"

namespace inthist {
namespace cpu {
namespace {

HWY_EXPORT (count_bin);
HWY_EXPORT (march_tiles);

int run (const Job &job)
{
  const auto count = HWY_DYNAMIC_DISPATCH (count_bin);
  const auto march = HWY_DYNAMIC_DISPATCH (march_tiles);
  const Strips<std::uint32_t> strips (job, kTileSide);
  const int error = strips.count_above ([&] (int b, int first, int last, std::uint32_t *counts) {
    return count (job, b, first, last, counts);
  });
  if (error != 0)
    return error;
  job.stage ("march");
  return strips.for_tasks ([&] (int b, int s) {
    return march (job, b, strips.first_row (s), strips.first_row (s + 1), strips.above (b, s));
  });
}

}  // namespace
}  // namespace cpu

extern constinit const Strategy kByteRows = {
  .name = "byte-rows",
  .description = "CPU: tiles of bytes scanned in SIMD registers, written once past the caches",
  .device = Device::cpu,
  .workspace_bytes =
      [] (const Shape &shape, const Tuning &) {
        return cpu::Strips<std::uint32_t>::workspace_bytes (shape);
      },
  .run = cpu::run,
  .makes_tiles = true,
  .limit = "u8-tiled counters"
};

}  // namespace inthist
