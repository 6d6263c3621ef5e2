// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Algorithm 1 of Poostchi et al. 2017, as it stands there: one element after another, from its three neighbours. It is the truth
// that every strategy is compared with, so it stays slow and obvious.
#include "inthist.hpp"

namespace inthist {
namespace {

template <class T>
void
fill (const Job &job)
{
  const auto &[shape, layout, bins, tensor, workspace, stream] = job;
  const auto at = [&] (int b, int y, int x) -> T & {
    return reinterpret_cast<T *> (static_cast<std::uint8_t *> (tensor) + b * layout.plane_pitch + y * layout.row_pitch)[x];
  };
  for (int b = 0; b < shape.bins; b++)
    for (int y = 0; y < shape.height; y++)
      for (int x = 0; x < shape.width; x++) {
        const T above = y > 0 ? at (b, y - 1, x) : 0;
        const T left = x > 0 ? at (b, y, x - 1) : 0;
        const T corner = y > 0 && x > 0 ? at (b, y - 1, x - 1) : 0;
        const T own = bins.data[y * bins.stride + x] == b;
        at (b, y, x) = T (above + left - corner + own);
      }
}

}  // namespace

void
reference (const Job &job)
{
  if (job.shape.counter == Counter::u32)
    fill<std::uint32_t> (job);
  else
    fill<std::uint16_t> (job);
}

extern const Strategy kSerial;
const Strategy kSerial = { .name = "serial",
                           .description = "CPU: the serial algorithm, one thread, slow and obvious (Poostchi et al. 2017, Algorithm 1)",
                           .device = Device::cpu,
                           .workspace_bytes = [] (const Shape &) { return std::size_t (0); },
                           .run =
                               [] (const Job &job) {
                                 reference (job);
                                 return 0;
                               } };

}  // namespace inthist
