// SPDX-License-Identifier: LGPL-2.1-or-later
//
// rows: scans each row of one plane in registers, adds the row of H above, writes the tensor once.
//
//   H(y, x) = H(y - 1, x) + (what row y adds up to, up to column x)
//
// A task is one bin in one strip of rows. It keeps the current row of H in the L1 cache and only
// ever writes the tensor, past the caches where rows are aligned. Traffic: the tensor once, and the
// bin indices (1 byte a pixel) once a bin from L2. A table that the caches hold is written to them,
// and the row above read from it. strips.hpp makes the tasks; their loops are in rows-inl.hpp.

#include "strips.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/rows-inl.hpp"
#include <hwy/foreach_target.h>

#include "rows-inl.hpp"

namespace inthist {
namespace cpu {
namespace {

HWY_EXPORT (march_u32);
HWY_EXPORT (march_u16);
HWY_EXPORT (count_u32);
HWY_EXPORT (count_u16);

// A table of no more bytes stays in the caches; a larger one goes past them. On two cores of an
// EPYC with 32 MiB of L3 the first was faster at 1920x1080, where a table has 7.9 MiB, and the
// second at 3840x2160, where it has 31.6 (inthist-check rows --bench --device cpu --table u8:u32
// --buffers 1 --size 1920x1080). By how much was not noted.
constexpr std::size_t kCachedTable = 8 << 20;

/// Returns whether the tensor goes past the caches.
bool goes_past_caches (const Job &job)
{
  return job.shape.content != Content::powers
         || job.layout.plane_pitch * job.shape.bins > kCachedTable;
}

/// Calls `body` with a value of the type that counts.
template <class Body>
auto with_counter (const Shape &shape, Body &&body)
{
  return bytes_of (shape.counter) == 4 ? body (std::uint32_t ()) : body (std::uint16_t ());
}

std::size_t workspace_bytes (const Shape &shape, const Tuning &)
{
  return with_counter (shape, [&]<class T> (T) { return Strips<T>::workspace_bytes (shape); });
}

int run (const Job &job)
{
  const bool past_caches = goes_past_caches (job);
  return with_counter (job.shape, [&]<class T> (T) {
    constexpr bool kWide = sizeof (T) == 4;
    auto *const count = kWide ? HWY_DYNAMIC_DISPATCH (count_u32) : HWY_DYNAMIC_DISPATCH (count_u16);
    auto *const march = kWide ? HWY_DYNAMIC_DISPATCH (march_u32) : HWY_DYNAMIC_DISPATCH (march_u16);
    return Strips<T> (job).count_and_march (count, march, past_caches);
  });
}

bool supports (const Shape &shape, const Tuning &)
{
  return (shape.pixel == Type::u8 && !is_floating (shape.counter))
         || shape.content == Content::weights;
}

}  // namespace
}  // namespace cpu

extern constinit const Strategy kRows = {
  .name = "rows",
  .description = "CPU: each row scanned in SIMD registers, the tensor written once past the caches",
  .device = Device::cpu,
  .workspace_bytes = cpu::workspace_bytes,
  .run = cpu::run,
  .takes_weights = true,
  .supports = cpu::supports,
  .limit = "8-bit or weighted pixels, and integer elements"
};

}  // namespace inthist
