// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A block a region, a thread a bin: four loads each (more for large regions of u16 tensors, see region.hpp).
#include <algorithm>
#include <cuda_runtime.h>

#include "../region.hpp"

namespace inthist::cuda {
namespace {

template <class T>
__global__ void
count (const std::uint8_t *tensor, Layout layout, const Region *regions, int bins, std::uint32_t *counts)
{
  const Region region = regions[blockIdx.x];
  for (int b = threadIdx.x; b < bins; b += blockDim.x)
    counts[std::size_t (blockIdx.x) * bins + b] =
        count_region (reinterpret_cast<const T *> (tensor + b * layout.plane_pitch), layout.row_pitch / sizeof (T), region);
}

}  // namespace

int
count_regions (const Shape &shape, const Layout &layout, const void *tensor, const Region *regions, int n, std::uint32_t *counts,
               Stream stream)
{
  if (n == 0)
    return cudaSuccess;
  const auto *bytes = static_cast<const std::uint8_t *> (tensor);
  const int threads = std::min ((shape.bins + 31) / 32 * 32, 256);
  if (shape.counter == Counter::u32)
    count<std::uint32_t><<<n, threads, 0, stream>>> (bytes, layout, regions, shape.bins, counts);
  else
    count<std::uint16_t><<<n, threads, 0, stream>>> (bytes, layout, regions, shape.bins, counts);
  return cudaGetLastError ();
}

}  // namespace inthist::cuda
