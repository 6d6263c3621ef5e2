// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Cuts a tensor into tasks of the CPU. Each task computes one bin in one strip of rows. If the
// number of bins gives enough tasks, the frame is one strip. If not, a first pass counts the
// columns of each strip, and a second pass adds up the strips, which gives the counts above each
// strip. (Dang, Yan and Wu 2014: reduce, scan the auxiliary matrix, scan; here with full-width
// blocks.)
#pragma once

#include <algorithm>
#include <cstring>
#include <thread>

#include <tbb/blocked_range2d.h>
#include <tbb/task_arena.h>

#include "../expected.hpp"
#include "../rounding.hpp"
#include "parallel.hpp"

namespace inthist::cpu {

/// Limits for dividing a tensor into tasks. If no times are given, other values were not measured.
struct StripsPolicy {
  // This many tasks for each core keep all cores busy, even if some tasks take longer.
  int tasks_per_core = 4;
  // A tensor of up to this many elements is computed by one thread, before a second would start: on
  // an EPYC (Zen 4) a table of 64x64 with squares takes 1.6 us on one thread, and 2.6 us on two
  // (inthist-check rows --bench --device cpu --table u8:u32 --bins 2 --size 64x64 --buffers 1).
  int small_tensor = 1 << 15;
  // A strip has at least this many rows, so that a task outweighs the cost of starting it.
  int least_rows = 32;
  // A strip has at least this many units (kUnit rows each, such as a row of tiles).
  int least_units = 4;
  // A strip of a summed-area table, whose rows are little work, has at least this many pixels.
  int least_table_pixels = 1 << 18;
};
constexpr StripsPolicy kStripsPolicy;

/// Divides a tensor into strips of rows that begin at multiples of kUnit rows. The workspace has,
/// for each bin and strip, a row of T: the counts of the columns above the strip.
template <class T, int kUnit = 1>
class Strips {
public:
  explicit Strips (const Job &job) : job_ (job), strips_ (strips_of (job.shape)) {}

  /// Returns the bytes of workspace for a shape; enough also for fewer bins, with more strips.
  static std::size_t workspace_bytes (const Shape &shape)
  {
    return row_bytes (shape)
           * std::min<std::size_t> (std::size_t (shape.bins) * most_strips (shape),
                                    shape.bins + wanted_tasks ());
  }

  /// Computes the tensor with two functions, called for rows first..last - 1 of each strip: count
  /// (job, bin, first, last, counts) adds the rows to the counts of columns, and scan (job, bin,
  /// first, last, above, more...) writes these rows of the tensor, given the counts above them.
  /// They return false if the job was cancelled.
  template <class Count, class Scan, class... More>
  int count_and_scan (Count &&count, Scan &&scan, More... more) const
  {
    TRY_CODE (count_above (count));
    job_.stage ("scan");
    return for_tasks ([&] (int b, int s) {
      return scan (job_, b, first_row (s), first_row (s + 1), above (b, s), more...);
    });
  }

private:
  int first_row (int strip) const
  {
    const int units = divide_up (job_.shape.height, kUnit);
    return std::min (job_.shape.height, int (std::int64_t (units) * strip / strips_) * kUnit);
  }

  /// Returns the row with a bin's count of pixels in each column above a strip.
  T *above (int bin, int strip) const
  {
    return reinterpret_cast<T *> (static_cast<std::uint8_t *> (job_.workspace)
                                  + (std::size_t (bin) * strips_ + strip) * row_bytes (job_.shape));
  }

  template <class Count>
  int count_above (Count &&count) const
  {
    job_.stage ("count");
    const int error = for_tasks ([&] (int b, int s) {
      std::memset (above (b, s), 0, row_bytes (job_.shape));
      return s == 0 || count (job_, b, first_row (s - 1), first_row (s), above (b, s));
    });
    job_.stage ("carry");
    if (error != 0 || strips_ == 1)
      return error;
    return for_each (job_.shape.bins, 1, job_.cancelled, [&] (int b) {
      for (int s = 1; s < strips_; s++) {
        const T *const before = above (b, s - 1);
        T *const counts = above (b, s);
        for (int x = 0; x < job_.shape.width; x++)
          counts[x] = T (counts[x] + before[x]);
      }
    });
  }

  /// Calls task (bin, strip) for all bins and strips, in parallel, until a task returns false.
  template <class Task>
  int for_tasks (Task &&task) const
  {
    const int bins = job_.shape.bins;
    if (strips_ == 1 && (bins == 1 || is_small (job_.shape))) {
      for (int b = 0; b < bins; b++)
        if (!task (b, 0))
          return ECANCELED;
      return 0;
    }
    return for_subranges (tbb::blocked_range2d<int> (0, bins, 1, 0, strips_, 1),
                          [&] (const tbb::blocked_range2d<int> &range) {
                            for (int b = range.rows ().begin (); b < range.rows ().end (); b++)
                              for (int s = range.cols ().begin (); s < range.cols ().end (); s++)
                                if (!task (b, s))
                                  return false;
                            return true;
                          });
  }

  static int wanted_tasks ()
  {
    static const int tasks =
        kStripsPolicy.tasks_per_core * int (std::max (1u, std::thread::hardware_concurrency ()));
    return tasks;
  }

  static bool is_small (const Shape &shape)
  {
    return std::int64_t (shape.width) * shape.height * shape.bins <= kStripsPolicy.small_tensor;
  }

  static int most_strips (const Shape &shape)
  {
    const int rows_of_table = kStripsPolicy.least_table_pixels / shape.width,
              rows_of_units =
                  std::max (kStripsPolicy.least_rows, kStripsPolicy.least_units * kUnit),
              least_rows = shape.content != Content::sums ? rows_of_units
                                                          : std::max (rows_of_units, rows_of_table);
    return std::max (1, shape.height / least_rows);
  }

  /// Returns the number of strips that gives each thread enough tasks. A summed-area table has at
  /// most one strip for each thread, because all strips but one are read twice.
  static int strips_of (const Shape &shape)
  {
    const int threads = tbb::this_task_arena::max_concurrency ();
    if (threads == 1 || is_small (shape))
      return 1;
    const int wanted = divide_up (wanted_tasks (), shape.bins),
              enough = shape.content != Content::sums ? wanted : std::min (wanted, threads),
              strips = std::clamp (enough, 1, most_strips (shape));
    return strips > threads ? strips / threads * threads : strips;
  }

  static std::size_t row_bytes (const Shape &shape)
  {
    return padded_columns (shape.width) * sizeof (T);
  }

  const Job &job_;
  const int strips_;
};

}  // namespace inthist::cpu
