// SPDX-License-Identifier: LGPL-2.1-or-later
//
// rows: scans each row of one plane in registers, adds the row of H above, writes the tensor once.
//
//   H(y, x) = H(y - 1, x) + (what row y adds up to, up to column x)
//
// A task is one bin in one strip of rows. It keeps the current row of H in the L1 cache and only
// ever writes the tensor, past the caches where rows are aligned. Traffic: the tensor once, and the
// bin indices (1 byte a pixel) once a bin from L2. A table that the caches hold is written to them,
// and the row above read from it. Where bins alone give too few tasks, the frame is also cut into
// strips. A pass before them counts each strip's columns, and another adds up the strips; scanned,
// that is the row above a strip. (Dang, Yan and Wu 2014: reduce, scan the auxiliary matrix, scan;
// here with full-width blocks.) This file makes the tasks; their loops are in rows-inl.hpp.

#include <algorithm>
#include <cstring>
#include <thread>

#include <tbb/blocked_range2d.h>
#include <tbb/task_arena.h>

#include "parallel.hpp"

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

/// The numbers that rows was tuned to. A number without a figure was not measured against others.
struct RowsPolicy {
  // A table of no more bytes stays in the caches; a larger one goes past them. On two cores of an
  // EPYC with 32 MiB of L3 the first was faster at 1920x1080, where a table has 7.9 MiB, and the
  // second at 3840x2160, where it has 31.6 (inthist-check rows --bench --device cpu --table u8:u32
  // --buffers 1 --size 1920x1080). By how much was not noted.
  std::size_t cached_table = 8 << 20;
  int tasks_per_core = 4;  // So many tasks keep every core busy.
  // A tensor of no more elements has one thread, which is done before another would have begun. On
  // two threads of an EPYC (Zen 4) a table of 64x64 with squares takes 1.6 us, and 2.6 where they
  // share it (inthist-check rows --bench --device cpu --table u8:u32 --bins 2 --size 64x64
  // --buffers 1). Other limits were not measured.
  int small_tensor = 1 << 15;
  int least_rows = 32;               // A strip has no fewer rows,
  int least_table_pixels = 1 << 18;  // and one of a table no fewer pixels: both are worth a task.
};
constexpr RowsPolicy kPolicy;

/// Returns whether the tensor goes past the caches.
bool goes_past_caches (const Job &job)
{
  return job.shape.content == Content::bins
         || job.layout.plane_pitch * job.shape.bins > kPolicy.cached_table;
}

int wanted_tasks ()
{
  static const int tasks =
      kPolicy.tasks_per_core * int (std::max (1u, std::thread::hardware_concurrency ()));
  return tasks;
}

bool is_small (const Shape &shape)
{
  return std::int64_t (shape.width) * shape.height * shape.bins <= kPolicy.small_tensor;
}

int most_strips (const Shape &shape)
{
  const int rows_of_table = kPolicy.least_table_pixels / shape.width,
            least_rows = shape.content == Content::bins
                             ? kPolicy.least_rows
                             : std::max (kPolicy.least_rows, rows_of_table);
  return std::max (1, shape.height / least_rows);
}

/// Returns how many strips give enough bins x strips tasks; as many for each thread. A table has
/// one for each thread: all strips but one are read twice.
int strips_of (const Shape &shape)
{
  const int threads = tbb::this_task_arena::max_concurrency ();
  if (threads == 1 || is_small (shape))
    return 1;
  const int wanted = divide_up (wanted_tasks (), shape.bins),
            enough = shape.content == Content::bins ? wanted : std::min (wanted, threads),
            strips = std::clamp (enough, 1, most_strips (shape));
  return strips > threads ? strips / threads * threads : strips;
}

/// Returns the bytes of a row of counters, padded so that 64 may be read at any pixel.
std::size_t row_bytes (const Shape &shape)
{
  return bin_stride (shape.width) * bytes_of (shape.counter);
}

/// Holds a row for each bin and strip, of this shape or of one with fewer bins and more strips.
std::size_t workspace_bytes (const Shape &shape, const Tuning &)
{
  return row_bytes (shape)
         * std::min<std::size_t> (std::size_t (shape.bins) * most_strips (shape),
                                  shape.bins + wanted_tasks ());
}

/// Adds up column counts of the strips above (row s has those of strip s - 1).
template <class T>
void carry_down (const Shape &shape, int strips, std::uint8_t *rows, std::size_t pitch)
{
  for (int s = 1; s < strips; s++) {
    const T *above = reinterpret_cast<T *> (rows + (s - 1) * pitch);
    T *row = reinterpret_cast<T *> (rows + s * pitch);
    for (int x = 0; x < shape.width; x++)
      row[x] = T (row[x] + above[x]);
  }
}

int run (const Job &job)
{
  const Shape &shape = job.shape;
  const bool wide = bytes_of (shape.counter) == 4;
  auto *const count = wide ? HWY_DYNAMIC_DISPATCH (count_u32) : HWY_DYNAMIC_DISPATCH (count_u16);
  auto *const march = wide ? HWY_DYNAMIC_DISPATCH (march_u32) : HWY_DYNAMIC_DISPATCH (march_u16);
  const int strips = strips_of (shape);
  const bool past_caches = goes_past_caches (job);
  const std::size_t pitch = row_bytes (shape);
  const auto first_row = [&] (int strip) {
    return int (std::int64_t (shape.height) * strip / strips);
  };
  const auto row_above = [&] (int bin, int strip) {
    return static_cast<std::uint8_t *> (job.workspace)
           + (std::size_t (bin) * strips + strip) * pitch;
  };
  const auto for_tasks = [&] (auto &&task) {
    if (strips == 1 && (shape.bins == 1 || is_small (shape))) {
      for (int b = 0; b < shape.bins; b++)
        if (!task (b, 0))
          return ECANCELED;
      return 0;
    }
    return for_parts (tbb::blocked_range2d<int> (0, shape.bins, 1, 0, strips, 1),
                      [&] (const tbb::blocked_range2d<int> &range) {
                        for (int b = range.rows ().begin (); b < range.rows ().end (); b++)
                          for (int s = range.cols ().begin (); s < range.cols ().end (); s++)
                            if (!task (b, s))
                              return false;
                        return true;
                      });
  };

  job.stage ("count");
  int error = for_tasks ([&] (int b, int s) {
    std::memset (row_above (b, s), 0, pitch);
    return s == 0 || count (job, b, first_row (s - 1), first_row (s), row_above (b, s));
  });
  job.stage ("carry");
  if (error == 0 && strips > 1)
    error = for_each (shape.bins, 1, job.cancelled, [&] (int b) {
      if (wide)
        carry_down<std::uint32_t> (shape, strips, row_above (b, 0), pitch);
      else
        carry_down<std::uint16_t> (shape, strips, row_above (b, 0), pitch);
    });
  if (error != 0)
    return error;
  job.stage ("march");
  return for_tasks ([&] (int b, int s) {
    return march (job, b, first_row (s), first_row (s + 1), row_above (b, s), past_caches);
  });
}

bool supports (const Shape &shape, const Tuning &)
{
  return shape.pixel == Type::u8 && shape.counter != Type::f32;
}

}  // namespace
}  // namespace cpu

extern constinit const Strategy kRows = {
  .name = "rows",
  .description = "CPU: each row scanned in SIMD registers, the tensor written once past the caches",
  .device = Device::cpu,
  .workspace_bytes = cpu::workspace_bytes,
  .run = cpu::run,
  .supports = cpu::supports,
  .limit = "8-bit pixels and integer elements"
};

}  // namespace inthist
