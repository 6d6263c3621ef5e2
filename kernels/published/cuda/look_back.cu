// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The algorithm look-back (../../cuda/look_back.cu), which computes summed-area tables, for more
// types of elements, to compare it with others (docs/measurements/2026-11-25-look-back.md).
#include "../../cuda/launch_look_back.cuh"
#include "element_sums.cuh"
#include "exchange.cuh"

namespace inthist {

extern const Strategy kLookBack;

namespace cuda {

// The tile sizes of look-back for pixels of the same type as the table's elements.
template <class T>
constexpr LookBackPolicy kLookBackPolicy<T, Power<T, T>> = {
  .large = { .rows = 16, .chunks = 1, .blocks = 3 },  // 128 x 128 elements, or 32 x 128 of f32x4
  .small = { .rows = 8, .chunks = 1, .blocks = 4 },   // 128 x 64 elements, or 32 x 64 of f32x4
  .many = 64,
};

template <>
constexpr LookBackPolicy kLookBackPolicy<double, Power<double, double>> = {
  .large = { .rows = 8, .chunks = 2, .blocks = 3 },  // 128 x 64
  .small = { .rows = 8, .chunks = 1, .blocks = 4 },  // 64 x 64
  .many = 64,
};

// Every 8th tile is a checkpoint. At 4096x4096 with 4 tables in flight, 8 gains 4 % over 16 for
// f32x4, and makes no difference for f64.
template <>
constexpr int kCheckpoint<F32x4> = 8;
template <>
constexpr int kCheckpoint<double> = 8;

template <class T, class Tile>
struct SumsOf<T, Power<T, T>, Tile> {
  using Type = ElementSums<T, Tile>;
};

namespace {

bool supports (const Shape &shape, const Tuning &)
{
  return shape.content == Content::sums;
}

int run (const Job &job)
{
  if (kLookBack.supports (job.shape, job.tuning))
    return kLookBack.run (job);
  return with_other_types (job.shape, [&]<class T, class Source> (ElementTypes<T, Source>) {
    return launch_tiles<T, Source> (planes_of<T> (job.shape, job.layout, job.tensor), job);
  });
}

std::size_t workspace_bytes (const Shape &shape, const Tuning &tuning)
{
  if (kLookBack.supports (shape, tuning))
    return kLookBack.workspace_bytes (shape, tuning);
  return with_other_types (shape, [&]<class T, class Source> (ElementTypes<T, Source>) {
    return tiles_workspace_bytes<T, Source> (planes_of<T> (shape, layout_of (shape), nullptr));
  });
}

}  // namespace
}  // namespace cuda

void add_other_types_to_look_back (Strategy &look_back)
{
  look_back.workspace_bytes = cuda::workspace_bytes;
  look_back.run = cuda::run;
  look_back.supports = cuda::supports;
}

}  // namespace inthist
