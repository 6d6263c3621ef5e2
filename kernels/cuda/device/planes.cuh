// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the published algorithms have in common: they scan planes of elements that a separate pass has initialised, with 1 where a pixel is in the plane's
// bin (Poostchi et al. 2017, line 1 of Algorithms 2 to 5). A Source says what that first element is; every algorithm is a struct with
//
//   template <class T> static std::size_t workspace_bytes (const Planes<T> &out);
//   template <class T, class Source> static int run (const Planes<T> &out, Source source, void *workspace, Stream stream);
//
// and Histogram<Algorithm> makes a strategy of it.
#pragma once

#include <cuda_runtime.h>

#include "../../inthist.hpp"

namespace inthist::cuda {

__host__ __device__ constexpr int
divide_up (int a, int b)
{
  return a / b + (a % b != 0);
}

/// `count` planes of `height` rows of `width` elements.
template <class T>
struct Planes {
  T *data;
  int width, height, count;
  std::size_t row, plane;  // elements from one to the next

  __host__ __device__ T *line (int p, int y) const { return data + p * plane + y * row; }

  /// Planes in a workspace, rows on 128 bytes.
  static Planes packed (void *memory, int width, int height, int count)
  {
    const std::size_t row = (std::size_t (width) * sizeof (T) + 127) / 128 * 128 / sizeof (T);
    return { static_cast<T *> (memory), width, height, count, row, row * height };
  }
  std::size_t bytes () const { return plane * count * sizeof (T); }
  Planes one (int p) const { return { data + p * plane, width, height, 1, row, plane }; }
  /// As many planes with rows and columns exchanged.
  Planes transposed (void *memory) const { return packed (memory, height, width, count); }
};

/// 1 where the pixel is in the bin of the plane.
struct OneHot {
  BinPlane bins;
  __device__ int operator() (int plane, int y, int x) const { return bins.data[y * bins.stride + x] == plane; }
};

template <class T, class Source>
__global__ void
fill_planes (Planes<T> out, Source source)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= out.width)
    return;
  for (int y = blockIdx.y; y < out.height; y += gridDim.y)
    out.line (blockIdx.z, y)[x] = T (source (blockIdx.z, y, x));
}

/// out[p][x][y] = source (p, y, x), through a tile in shared memory so that both sides are coalesced.
template <class T, class Source>
__global__ void
fill_planes_transposed (Planes<T> out, Source source)
{
  __shared__ T tile[32][33];
  const int x0 = blockIdx.x * 32, p = blockIdx.z;
  for (int y0 = blockIdx.y * 32; y0 < out.width; y0 += gridDim.y * 32) {
    for (int i = threadIdx.y; i < 32; i += blockDim.y)
      if (y0 + i < out.width && x0 + threadIdx.x < out.height)
        tile[i][threadIdx.x] = T (source (p, y0 + i, x0 + threadIdx.x));
    __syncthreads ();
    for (int i = threadIdx.y; i < 32; i += blockDim.y)
      if (x0 + i < out.height && y0 + threadIdx.x < out.width)
        out.line (p, x0 + i)[y0 + threadIdx.x] = tile[threadIdx.x][i];
    __syncthreads ();
  }
}

/// Line 1 of the algorithms.
template <class T, class Source>
void
initialise (const Planes<T> &out, Source source, Stream stream)
{
  const dim3 grid (divide_up (out.width, 256), min (out.height, 4096), out.count);
  fill_planes<<<grid, 256, 0, stream>>> (out, source);
}

/// The same with rows and columns exchanged, for algorithms that end transposed.
template <class T, class Source>
void
initialise_transposed (const Planes<T> &out, Source source, Stream stream)
{
  const dim3 grid (divide_up (out.height, 32), min (divide_up (out.width, 32), 4096), out.count);
  fill_planes_transposed<<<grid, dim3 (32, 8), 0, stream>>> (out, source);
}

/// out[p][x][y] = in[p][y][x]: tiles of 32 x 32 in shared memory, rows padded by one against bank conflicts. Poostchi et al. section 3.2.2 and Fig. 4.
template <class T>
__global__ void
transpose_planes (Planes<T> in, Planes<T> out)
{
  __shared__ T tile[32][33];
  const int x0 = blockIdx.x * 32, p = blockIdx.z;
  for (int y0 = blockIdx.y * 32; y0 < in.height; y0 += gridDim.y * 32) {
    for (int i = threadIdx.y; i < 32; i += blockDim.y)
      if (y0 + i < in.height && x0 + threadIdx.x < in.width)
        tile[i][threadIdx.x] = in.line (p, y0 + i)[x0 + threadIdx.x];
    __syncthreads ();
    for (int i = threadIdx.y; i < 32; i += blockDim.y)
      if (x0 + i < in.width && y0 + threadIdx.x < in.height)
        out.line (p, x0 + i)[y0 + threadIdx.x] = tile[threadIdx.x][i];
    __syncthreads ();
  }
}

/// All planes in one launch, a 3-D transpose.
template <class T>
void
transpose (const Planes<T> &in, const Planes<T> &out, Stream stream)
{
  const dim3 grid (divide_up (in.width, 32), min (divide_up (in.height, 32), 4096), in.count);
  transpose_planes<<<grid, dim3 (32, 8), 0, stream>>> (in, out);
}

/// The strategy of an algorithm.
template <class Algorithm>
struct Histogram {
  template <class T>
  static Planes<T> planes (const Shape &shape, const Layout &layout, void *tensor)
  {
    return { static_cast<T *> (tensor),      shape.width, shape.height, shape.bins, layout.row_pitch / sizeof (T),
             layout.plane_pitch / sizeof (T) };
  }

  static std::size_t workspace_bytes (const Shape &shape)
  {
    if (shape.counter == Counter::u32)
      return Algorithm::workspace_bytes (planes<std::uint32_t> (shape, layout_of (shape), nullptr));
    return Algorithm::workspace_bytes (planes<std::uint16_t> (shape, layout_of (shape), nullptr));
  }

  static int run (const Job &job)
  {
    const OneHot source = { job.bins };
    if (job.shape.counter == Counter::u32)
      return Algorithm::run (planes<std::uint32_t> (job.shape, job.layout, job.tensor), source, job.workspace, job.stream);
    return Algorithm::run (planes<std::uint16_t> (job.shape, job.layout, job.tensor), source, job.workspace, job.stream);
  }
};

}  // namespace inthist::cuda
