// SPDX-License-Identifier: LGPL-2.1-or-later
#include "inthist.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>

namespace inthist {

bool is_valid (const Shape &shape)
{
  if (shape.width < 1 || shape.height < 1 || shape.bins < 1)
    return false;
  const auto [pixel, counter] = std::pair (shape.pixel, shape.counter);
  if (shape.content == Content::bins)
    return pixel == Type::u8 && shape.bins <= 256
           && (counter == Type::u32 || counter == Type::u16
               || (counter == Type::u16_anchored && shape.width <= 65535));
  if (pixel == Type::u8)
    return counter == Type::u32 ? shape.bins <= 2
                                : (counter == Type::s32 || counter == Type::f32) && shape.bins == 1;
  return (pixel == Type::u32 || pixel == Type::f32 || pixel == Type::f64 || pixel == Type::f32x4)
         && counter == pixel && shape.bins == 1;
}

Layout layout_of (const Shape &shape)
{
  const std::size_t row = round_up (shape.width * bytes_of (shape.counter), 64);
  return { row, row * shape.height };
}

Lut uniform_lut (int bins)
{
  Lut lut;
  for (int value = 0; value < 256; value++)
    lut[value] = std::uint8_t (value * bins / 256);
  return lut;
}

Lut lut_of_bins (const Lut &lut, int first, int bins)
{
  Lut group;
  for (int value = 0; value < 256; value++) {
    const int bin = lut[value] - first;
    group[value] = bin >= 0 && bin < bins ? std::uint8_t (bin) : 255;
  }
  return group;
}

bool accepts (const Strategy &strategy, const Shape &shape, const Tuning &tuning)
{
  const auto offered = [] (std::span<const int> list, int value) {
    return value == 0 || std::ranges::find (list, value) != list.end ();
  };
  return is_valid (shape) && strategy.supports (shape, tuning)
         && offered (strategy.tiles, tuning.tile) && offered (strategy.threads, tuning.threads);
}

/// Returns whether the workspace, and bins, lie as Job and PixelPlane demand.
[[maybe_unused]] static bool are_aligned (const Job &job)
{
  const auto is_at = [] (const void *memory, std::size_t alignment) {
    return reinterpret_cast<std::uintptr_t> (memory) % alignment == 0;
  };
  return is_at (job.workspace, 256)
         && (job.shape.content != Content::bins || !job.pixels.data
             || (is_at (job.pixels.data, 16) && job.pixels.stride == bin_stride (job.shape.width)));
}

int run (const Strategy &strategy, const Job &job)
{
  assert (accepts (strategy, job.shape, job.tuning));
  assert (are_aligned (job));
  const bool on_cpu = strategy.device == Device::cpu;
  Job rest = job;
  int error = 0;
  if (job.binning && !strategy.bins_itself) {
    const auto &[image, lut] = *job.binning;
    rest.binning = nullptr;
    job.stage ("bins");
    if (on_cpu)
      error =
          cpu::bin_image (image, lut, job.shape.width, job.shape.height, job.pixels, job.cancelled);
#if INTHIST_CUDA
    else
      error =
          cuda::bin_image (image, lut, job.shape.width, job.shape.height, job.pixels, job.stream);
#endif
  }
  if (error == 0)
    error = strategy.run (rest);
  if (error == 0 && job.shape.counter == Type::u16_anchored && !strategy.anchors_itself) {
    job.stage ("anchors");
    if (on_cpu)
      error = cpu::write_anchors (job);
#if INTHIST_CUDA
    else
      error = cuda::write_anchors (job);
#endif
  }
  return error;
}

}  // namespace inthist
