// SPDX-License-Identifier: LGPL-2.1-or-later
//
// serial: Algorithm 1 of Poostchi et al. 2017 on one thread: it computes each element from three
// neighbours, by the paper's formula. It is slow and simple, because strategies are checked against
// it.
#include <cerrno>

#include "../element_types.hpp"
#include "../reference.hpp"

namespace inthist {
namespace {

template <class T, class Source>
int fill (const Planes<T> &out, Source source, const std::atomic<bool> *cancelled)
{
  const auto at = [&] (int b, int y, int x) -> T & { return out.line (b, y)[x]; };
  for (int b = 0; b < out.count; b++)
    for (int y = 0; y < out.height; y++) {
      if (is_set (cancelled))
        return ECANCELED;
      for (int x = 0; x < out.width; x++) {
        const T above = y > 0 ? at (b, y - 1, x) : 0;
        const T left = x > 0 ? at (b, y, x - 1) : 0;
        const T corner = y > 0 && x > 0 ? at (b, y - 1, x - 1) : 0;
        at (b, y, x) = T (above + left - corner + T (source (b, y, x)));
      }
    }
  return 0;
}

int run (const Job &job)
{
  job.stage ("recursion");
  return reference (job);
}

/// Excludes floats, because the differences in the paper's formula would add up rounding errors.
bool supports (const Shape &shape, const Tuning &)
{
  return !is_floating (shape.counter);
}

}  // namespace

int reference (const Job &job)
{
  if (job.shape.counter == Type::u8_tiled)
    return EINVAL;
  if (job.shape.content == Content::weights)
    return fill (planes_of<std::uint32_t> (job.shape, job.layout, job.tensor),
                 Weights{ job.pixels, job.shape.bins }, job.cancelled);
  return with_element_types (job.shape, [&]<class T, class Source> (ElementTypes<T, Source>) {
    if constexpr (std::is_integral_v<T>)
      return fill (planes_of<T> (job.shape, job.layout, job.tensor), Source{ job.pixels },
                   job.cancelled);
    else
      return EINVAL;
  });
}

extern constinit const Strategy kSerial = {
  .name = "serial",
  .description =
      "CPU: the serial algorithm, one thread, slow and obvious (Poostchi et al. 2017, Algorithm 1)",
  .device = Device::cpu,
  .run = run,
  .takes_weights = true,
  .supports = supports,
  .limit = "integer elements",
  .slow = true
};

}  // namespace inthist
