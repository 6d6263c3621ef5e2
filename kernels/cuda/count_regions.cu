// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A block a region, a thread a bin: four loads each (eight with anchors; more where the region must be cut, see region.hpp).
#include <algorithm>
#include <cuda_runtime.h>

#include "../region.hpp"

namespace inthist::cuda {
namespace {

template <class Sum>
__global__ void
sum (const std::uint8_t *tensor, Shape shape, Layout layout, Anchors anchors, const Region *regions, Sum *sums)
{
  const Region region = regions[blockIdx.x];
  with_planes (shape, layout, tensor, anchors, [&] (const auto &plane) {
    for (int b = threadIdx.x; b < shape.bins; b += blockDim.x)
      sums[std::size_t (blockIdx.x) * shape.bins + b] = sum_region<Sum> (plane (b), region, exact_pixels (shape, b));
  });
}

template <class Sum>
int
launch (const Shape &shape, const Layout &layout, const void *tensor, const Region *regions, int n, Sum *sums, Stream stream)
{
  if (n == 0)
    return cudaSuccess;
  const int threads = std::min ((shape.bins + 31) / 32 * 32, 256);
  sum<<<n, threads, 0, stream>>> (static_cast<const std::uint8_t *> (tensor), shape, layout, anchors_of (shape), regions, sums);
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
