// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cross-weave: the multithreaded CPU version that Poostchi et al. 2017 compare with, in cross-weave
// mode (Fig. 1). It initialises the tensor, scans all rows of all bins in parallel, and then all
// columns. A task scans neighbouring rows or columns, to use whole cache lines.
#include <algorithm>

#include "../../cpu/parallel.hpp"
#include "../../expected.hpp"
#include "../element_types.hpp"

namespace inthist {
namespace {

template <class T, class Source>
int weave (const Job &job, const Planes<T> &out, Source source)
{
  const std::int64_t lines = std::int64_t (out.count) * out.height;
  const auto for_lines = [&] (auto &&body) {
    return cpu::for_each<std::int64_t> (lines, 16, job.cancelled, [&] (std::int64_t i) {
      body (int (i / out.height), int (i % out.height));
    });
  };
  job.stage ("initialise");
  TRY_CODE (for_lines ([&] (int b, int y) {
    T *row = out.line (b, y);
    for (int x = 0; x < out.width; x++)
      row[x] = T (source (b, y, x));
  }));
  job.stage ("rows");
  TRY_CODE (for_lines ([&] (int b, int y) {
    T *row = out.line (b, y);
    for (int x = 1; x < out.width; x++)
      row[x] = T (row[x] + row[x - 1]);
  }));
  job.stage ("columns");
  constexpr int kColumns = 256;
  const int groups = divide_up (out.width, kColumns);
  return cpu::for_each (out.count * groups, 1, job.cancelled, [&] (int i) {
    const int b = i / groups, first = i % groups * kColumns,
              last = std::min (first + kColumns, out.width);
    for (int y = 1; y < out.height; y++) {
      if (is_set (job.cancelled))
        return false;
      const T *above = out.line (b, y - 1);
      T *row = out.line (b, y);
      for (int x = first; x < last; x++)
        row[x] = T (row[x] + above[x]);
    }
    return true;
  });
}

int run (const Job &job)
{
  return with_element_types (job.shape, [&]<class T, class Source> (ElementTypes<T, Source>) {
    return weave (job, planes_of<T> (job.shape, job.layout, job.tensor), Source{ job.pixels });
  });
}

}  // namespace

extern constinit const Strategy kCrossWeave = {
  .name = "cross-weave",
  .description = "CPU: all rows, then all columns, in parallel (Poostchi et al. 2017, Fig. 1)",
  .device = Device::cpu,
  .run = run
};

}  // namespace inthist
