// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Blends drawings, and maps of levels that are shown as colours, into a picture on a GPU
// (blend.hpp). A thread blends one pixel at a time.
#include <cuda_runtime.h>

#include "../blend.hpp"

namespace inthist::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMaxBlocks = 64;  // blocks for each drawing, most of which are small

__global__ void blend_drawings (Canvas canvas, const Drawing *drawings, const Argb *pixels)
{
  const Drawing drawing = drawings[blockIdx.x];
  const std::size_t n = std::size_t (drawing.width) * drawing.height;
  for (std::size_t i = std::size_t (blockIdx.y) * kThreads + threadIdx.x; i < n;
       i += std::size_t (gridDim.y) * kThreads)
    blend (canvas, drawing.x + int (i % drawing.width), drawing.y + int (i / drawing.width),
           pixels[drawing.first + i]);
}

__global__ void blend_map (Canvas canvas, LevelMap map)
{
  const int x = int (blockIdx.x * kThreads + threadIdx.x);
  if (x < map.width)
    for (int y = int (blockIdx.y); y < map.height; y += int (gridDim.y))
      blend (canvas, map.x + x, map.y + y, pixel_of (map, x, y));
}

}  // namespace

int blend (const Canvas &canvas, const Drawing *drawings, int n, const Argb *pixels, Stream stream)
{
  if (n < 1)
    return cudaSuccess;
  blend_drawings<<<dim3 (n, kMaxBlocks), kThreads, 0, static_cast<cudaStream_t> (stream)>>> (
      canvas, drawings, pixels);
  return cudaGetLastError ();
}

int blend (const Canvas &canvas, const LevelMap &map, Stream stream)
{
  if (map.width < 1 || map.height < 1)
    return cudaSuccess;
  const int rows = map.height < 65535 ? map.height : 65535;
  blend_map<<<dim3 (divide_up (map.width, kThreads), rows), kThreads, 0,
              static_cast<cudaStream_t> (stream)>>> (canvas, map);
  return cudaGetLastError ();
}

}  // namespace inthist::cuda
