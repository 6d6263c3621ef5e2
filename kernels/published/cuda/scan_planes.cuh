// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Common parts of the algorithms that scan planes. A pass before the scan fills the planes with
// what each pixel adds (Poostchi et al. 2017, line 1 of Algorithms 2 to 5). An algorithm is a
// struct with
//
//   template <class T>
//   static std::size_t workspace_bytes (const Planes<T> &out, const Tuning &tuning);
//   template <class T, class Source>
//   static int run (const Planes<T> &out, Source source, const Job &job);
//
// over_planes<Algorithm> returns its Strategy, for all contents and types (weights: kTakesWeights).
#pragma once

#include <algorithm>
#include <cuda_runtime.h>

#include "../element_types.hpp"

namespace inthist::cuda {

template <class T, class Source>
__global__ void fill_planes (Planes<T> out, Source source)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= out.width)
    return;
#pragma unroll 4
  for (int y = blockIdx.y; y < out.height; y += gridDim.y)
    out.line (blockIdx.z, y)[x] = T (source (blockIdx.z, y, x));
}

/// Exchanges rows and columns: out[p][x][y] = element (p, y, x). Tiles of 32 x 32 in shared memory
/// coalesce loads and stores; padded rows avoid bank conflicts (Poostchi et al. 2017, Fig. 4).
template <class T, class Element>
__device__ inline void write_transposed (const Planes<T> &out, Element element)
{
  __shared__ T tile[32][33];
  const int x0 = blockIdx.x * 32, p = blockIdx.z;
  for (int y0 = blockIdx.y * 32; y0 < out.width; y0 += gridDim.y * 32) {
    for (int i = threadIdx.y; i < 32; i += blockDim.y)
      if (y0 + i < out.width && x0 + int (threadIdx.x) < out.height)
        tile[i][threadIdx.x] = element (p, y0 + i, x0 + threadIdx.x);
    __syncthreads ();
    for (int i = threadIdx.y; i < 32; i += blockDim.y)
      if (x0 + i < out.height && y0 + int (threadIdx.x) < out.width)
        out.line (p, x0 + i)[y0 + threadIdx.x] = tile[threadIdx.x][i];
    __syncthreads ();
  }
}

template <class T, class Source>
__global__ void fill_planes_transposed (Planes<T> out, Source source)
{
  write_transposed (out, [&] (int p, int y, int x) { return T (source (p, y, x)); });
}

template <class T>
__global__ void transpose_planes (Planes<T> in, Planes<T> out)
{
  write_transposed (out, [&] (int p, int y, int x) { return in.line (p, y)[x]; });
}

template <class T, class Source>
void initialise (const Planes<T> &out, Source source, const Job &job)
{
  job.stage ("initialise");
  const dim3 grid (divide_up (out.width, 256), std::min (divide_up (out.height, 8), 4096),
                   out.count);
  fill_planes<<<grid, 256, 0, job.stream>>> (out, source);
}

template <class T>
dim3 transposing_grid (const Planes<T> &out)
{
  return dim3 (divide_up (out.height, 32), std::min (divide_up (out.width, 32), 4096), out.count);
}

/// Fills planes with what each pixel adds, rows and columns exchanged, for a later transpose.
template <class T, class Source>
void initialise_transposed (const Planes<T> &out, Source source, const Job &job)
{
  job.stage ("initialise");
  fill_planes_transposed<<<transposing_grid (out), dim3 (32, 8), 0, job.stream>>> (out, source);
}

template <class T>
void transpose (const Planes<T> &in, const Planes<T> &out, const Job &job)
{
  job.stage ("transpose");
  transpose_planes<<<transposing_grid (out), dim3 (32, 8), 0, job.stream>>> (in, out);
}

/// The base of algorithms whose workspace holds all planes transposed.
struct Transposing {
  template <class T>
  static std::size_t workspace_bytes (const Planes<T> &out, const Tuning &)
  {
    return out.transposed (nullptr).bytes ();
  }
};

struct InPlace {
  template <class T>
  static std::size_t workspace_bytes (const Planes<T> &, const Tuning &)
  {
    return 0;
  }
};

template <class Algorithm, bool kTakesWeights>
struct OverPlanes {
  static std::size_t workspace_bytes (const Shape &shape, const Tuning &tuning)
  {
    return with_element_types (shape, [&]<class T, class Source> (ElementTypes<T, Source>) {
      return Algorithm::workspace_bytes (planes_of<T> (shape, layout_of (shape), nullptr), tuning);
    });
  }

  static int run (const Job &job)
  {
    if constexpr (kTakesWeights)
      if (job.shape.content == Content::weights)
        return Algorithm::run (planes_of<std::uint32_t> (job.shape, job.layout, job.tensor),
                               Weights{ job.pixels, job.shape.bins }, job);
    return with_element_types (job.shape, [&]<class T, class Source> (ElementTypes<T, Source>) {
      return Algorithm::run (planes_of<T> (job.shape, job.layout, job.tensor), Source{ job.pixels },
                             job);
    });
  }
};

template <class Algorithm, bool kTakesWeights = false>
constexpr Strategy over_planes (Strategy row)
{
  row.device = Device::cuda;
  row.workspace_bytes = OverPlanes<Algorithm, kTakesWeights>::workspace_bytes;
  row.run = OverPlanes<Algorithm, kTakesWeights>::run;
  row.takes_weights = kTakesWeights;
  return row;
}

}  // namespace inthist::cuda
