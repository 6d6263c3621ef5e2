// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Completes the integral histogram H of a strip that was computed as if it were a frame of its own
// (inthist.hpp). The carry, H in the row above the strip, is added to all rows of a column; the
// strip's last row is the carry for the next strip. This is the simplest form of the carries of
// Nehab et al. 2011. A thread works down columns that are 16 bytes wide together, so no other
// thread uses their carries. The tensor's download, which follows, takes much longer.
#include <cuda_runtime.h>

#include "../planes.hpp"

namespace inthist::cuda {
namespace {

// threads of a block, and rows that a thread loads at once; other values were not measured
constexpr int kThreads = 128;
constexpr int kAtOnce = 8;

template <class T>
struct alignas (16) Pack {
  static constexpr int kElements = 16 / sizeof (T);
  T elements[kElements];
};

/// Adds the row above a strip to all of the strip's rows, in 16 bytes of columns from column x on.
/// kWhole is false if the row ends within these 16 bytes.
template <bool kWhole, class T>
__device__ inline void add_down (const Planes<T> &strip, int x, std::uint32_t *carry)
{
  constexpr int kElements = Pack<T>::kElements;
  const auto for_elements = [room = strip.width - x] (auto &&body) {
#pragma unroll
    for (int j = 0; j < kElements; j++)
      if (kWhole || j < room)
        body (j);
  };
  T *const column = strip.line (blockIdx.y, 0) + x;
  T add[kElements] = {};
  for_elements ([&] (int j) { add[j] = T (carry[j]); });
  Pack<T> rows[kAtOnce] = {};
  for (int y = 0; y < strip.height; y += kAtOnce) {
#pragma unroll
    for (int i = 0; i < kAtOnce; i++) {  // rows below the strip load its last row again
      const T *const from = column + min (y + i, strip.height - 1) * strip.row;
      if constexpr (kWhole)
        rows[i] = *reinterpret_cast<const Pack<T> *> (from);
      else
        for_elements ([&] (int j) { rows[i].elements[j] = from[j]; });
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; i++) {
      T *const to = column + (y + i) * strip.row;
      for_elements ([&] (int j) { rows[i].elements[j] = T (rows[i].elements[j] + add[j]); });
      if (y + i >= strip.height)
        continue;
      if constexpr (kWhole)
        *reinterpret_cast<Pack<T> *> (to) = rows[i];
      else
        for_elements ([&] (int j) { to[j] = rows[i].elements[j]; });
    }
  }
  for_elements ([&] (int j) { carry[j] = rows[kAtOnce - 1].elements[j]; });
}

template <class T>
__global__ void __launch_bounds__ (kThreads)
add_to_columns (Planes<T> strip, std::uint32_t *above)
{
  const int x = int (blockIdx.x * kThreads + threadIdx.x) * Pack<T>::kElements;
  std::uint32_t *const carry = above + std::size_t (blockIdx.y) * strip.width + x;
  if (x + Pack<T>::kElements <= strip.width)
    add_down<true> (strip, x, carry);
  else if (x < strip.width)
    add_down<false> (strip, x, carry);
}

template <class T>
int launch_add_to_columns (const Planes<T> &strip, std::uint32_t *above, Stream stream)
{
  const dim3 blocks (divide_up (strip.width, kThreads * Pack<T>::kElements), strip.count);
  add_to_columns<<<blocks, kThreads, 0, stream>>> (strip, above);
  return cudaGetLastError ();
}

}  // namespace

int add_above (const Shape &shape, const Layout &layout, void *tensor, std::uint32_t *above,
               Stream stream)
{
  return bytes_of (shape.counter) == sizeof (std::uint16_t)
             ? launch_add_to_columns (planes_of<std::uint16_t> (shape, layout, tensor), above,
                                      stream)
             : launch_add_to_columns (planes_of<std::uint32_t> (shape, layout, tensor), above,
                                      stream);
}

}  // namespace inthist::cuda
