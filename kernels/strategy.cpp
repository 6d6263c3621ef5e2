// SPDX-License-Identifier: LGPL-2.1-or-later
#include "strategy.hpp"

#include <algorithm>
#include <cassert>

#include "inthist.hpp"

namespace inthist {

bool accepts (const Strategy &strategy, const Shape &shape, const Tuning &tuning)
{
  const auto offered = [] (std::span<const int> list, int value) {
    return value == 0 || std::ranges::find (list, value) != list.end ();
  };
  return is_valid (shape) && strategy.makes_tiles == (shape.counter == Type::u8_tiled)
         && (strategy.takes_weights || shape.content != Content::weights)
         && strategy.supports (shape, tuning) && offered (strategy.tiles, tuning.tile)
         && offered (strategy.threads, tuning.threads);
}

[[maybe_unused]] static bool are_aligned (const Strategy &strategy, const Job &job)
{
  const bool lies_freely =
      job.shape.content == Content::sums
      || (job.shape.content == Content::weights && strategy.device == Device::cpu);
  const auto is_at = [] (const void *memory, std::size_t alignment) {
    return reinterpret_cast<std::uintptr_t> (memory) % alignment == 0;
  };
  return is_at (job.workspace, 256)
         && ((lies_freely && !job.binning) || !job.pixels.data
             || (is_at (job.pixels.data, 16) && job.pixels.stride == binned_stride (job.shape)));
}

int run (const Strategy &strategy, const Job &job)
{
  assert (accepts (strategy, job.shape, job.tuning));
  assert (are_aligned (strategy, job));
  assert (!job.binning || job.shape.pixel == Type::u8 || job.shape.content == Content::weights);
  const bool on_cpu = strategy.device == Device::cpu;
  Job rest = job;
  int error = 0;
  if (job.binning && !strategy.bins_itself) {
    rest.binning = nullptr;
    job.stage ("bins");
    if (on_cpu)
      error = cpu::bin_image (*job.binning, job.shape.width, job.shape.height, job.pixels,
                              job.cancelled);
#if INTHIST_CUDA
    else
      error =
          cuda::bin_image (*job.binning, job.shape.width, job.shape.height, job.pixels, job.stream);
#endif
  }
  return error == 0 ? strategy.run (rest) : error;
}

}  // namespace inthist
