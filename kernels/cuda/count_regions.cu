// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A block a region, a thread a bin: four loads each (more where the region must be cut, see region.hpp).
#include <algorithm>
#include <cuda_runtime.h>

#include "../region.hpp"

namespace inthist::cuda {
namespace {

template <class T, class Sum>
__global__ void
sum (const std::uint8_t *tensor, Shape shape, Layout layout, const Region *regions, Sum *sums)
{
  const Region region = regions[blockIdx.x];
  for (int b = threadIdx.x; b < shape.bins; b += blockDim.x)
    sums[std::size_t (blockIdx.x) * shape.bins + b] = sum_region<Sum> (reinterpret_cast<const T *> (tensor + b * layout.plane_pitch),
                                                                       layout.row_pitch / sizeof (T), region, exact_pixels (shape, b));
}

template <class Sum>
int
launch (const Shape &shape, const Layout &layout, const void *tensor, const Region *regions, int n, Sum *sums, Stream stream)
{
  if (n == 0)
    return cudaSuccess;
  const auto *bytes = static_cast<const std::uint8_t *> (tensor);
  const int threads = std::min ((shape.bins + 31) / 32 * 32, 256);
  if (shape.counter == Type::u16)
    sum<std::uint16_t><<<n, threads, 0, stream>>> (bytes, shape, layout, regions, sums);
  else
    sum<std::uint32_t><<<n, threads, 0, stream>>> (bytes, shape, layout, regions, sums);
  return cudaGetLastError ();
}

}  // namespace

int
count_regions (const Shape &shape, const Layout &layout, const void *tensor, const Region *regions, int n, std::uint32_t *counts,
               Stream stream)
{
  return launch (shape, layout, tensor, regions, n, counts, stream);
}

int
sum_regions (const Shape &shape, const Layout &layout, const void *tensor, const Region *regions, int n, std::uint64_t *sums, Stream stream)
{
  return launch (shape, layout, tensor, regions, n, sums, stream);
}

}  // namespace inthist::cuda
