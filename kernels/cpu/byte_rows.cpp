// SPDX-License-Identifier: LGPL-2.1-or-later
//
// byte-rows: makes the tiles of a row of tiles from left to right, each once and whole. A task is
// one bin in one strip of rows of tiles. It keeps how many pixels each column has so far: scanned,
// these are H in a tile's first row. Traffic: 1.125 bytes an element written, past the caches, and
// the bin indices (1 byte a pixel) once a bin from L2. strips.hpp makes the tasks; their loops are
// in byte_rows-inl.hpp.

#include "../tiles.hpp"
#include "strips.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/byte_rows-inl.hpp"
#include <hwy/foreach_target.h>

#include "byte_rows-inl.hpp"

namespace inthist {
namespace cpu {
namespace {

HWY_EXPORT (count_narrow);
HWY_EXPORT (count_wide);
HWY_EXPORT (march_narrow);
HWY_EXPORT (march_wide);

/// Calls `body` with a value of the type that holds what a column has, and all of a tile's numbers
/// but for the corner.
template <class Body>
auto with_counter (const Shape &shape, Body &&body)
{
  return tiles_of (shape).wide ? body (std::uint32_t ()) : body (std::uint16_t ());
}

std::size_t workspace_bytes (const Shape &shape, const Tuning &)
{
  return with_counter (shape,
                       [&]<class T> (T) { return Strips<T, kTileSide>::workspace_bytes (shape); });
}

int run (const Job &job)
{
  return with_counter (job.shape, [&]<class T> (T) {
    constexpr bool kWide = sizeof (T) == 4;
    auto *const count =
        kWide ? HWY_DYNAMIC_DISPATCH (count_wide) : HWY_DYNAMIC_DISPATCH (count_narrow);
    auto *const march =
        kWide ? HWY_DYNAMIC_DISPATCH (march_wide) : HWY_DYNAMIC_DISPATCH (march_narrow);
    return Strips<T, kTileSide> (job).count_and_march (count, march);
  });
}

}  // namespace
}  // namespace cpu

extern constinit const Strategy kByteRows = {
  .name = "byte-rows",
  .description = "CPU: tiles of bytes scanned in SIMD registers, written once past the caches",
  .device = Device::cpu,
  .workspace_bytes = cpu::workspace_bytes,
  .run = cpu::run,
  .makes_tiles = true,
  .limit = "u8-tiled counters"
};

}  // namespace inthist
