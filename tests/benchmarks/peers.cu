// SPDX-License-Identifier: LGPL-2.1-or-later
//
// CUB's scan makes an integral image, for peers.py, which builds this file with nvcc as a shared
// library. A line of the image is a key of DeviceScan::InclusiveSumByKey, so that one scan sums all
// lines. Columns are lines of the transposed image, or a thread sums each.
//
// inthist-check has CUB's integral histogram.
#include <cstdint>

#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace {

using Sum = std::uint32_t;
constexpr int kTile = 32;     // pixels of a side
constexpr int kRows = 8;      // rows of a tile that a block moves at a time
constexpr int kThreads = 64;  // columns of a block

struct LineOf {
  Sum length;
  __host__ __device__ Sum operator() (Sum i) const { return i / length; }
};

struct ToSum {
  __host__ __device__ Sum operator() (std::uint8_t value) const { return value; }
};

/// Sums each line of `length` values. Without `scratch` it only says how much it needs.
template <class Values>
cudaError_t scan_lines (void *scratch, std::size_t &scratch_bytes, Values values, Sum *sums,
                        int length, int lines)
{
  const auto keys =
      thrust::make_transform_iterator (thrust::counting_iterator<Sum> (0), LineOf{ Sum (length) });
  return cub::DeviceScan::InclusiveSumByKey (scratch, scratch_bytes, keys, values, sums,
                                             std::int64_t (length) * lines);
}

auto as_sums (const std::uint8_t *pixels)
{
  return thrust::make_transform_iterator (pixels, ToSum ());
}

__global__ void transpose_kernel (const Sum *from, Sum *to, int width, int height)
{
  __shared__ Sum tile[kTile][kTile + 1];
  const int left = blockIdx.x * kTile, top = blockIdx.y * kTile;
  for (int y = threadIdx.y; y < kTile; y += kRows)
    if (left + int (threadIdx.x) < width && top + y < height)
      tile[y][threadIdx.x] = from[std::size_t (top + y) * width + left + threadIdx.x];
  __syncthreads ();
  for (int x = threadIdx.y; x < kTile; x += kRows)
    if (top + int (threadIdx.x) < height && left + x < width)
      to[std::size_t (left + x) * height + top + threadIdx.x] = tile[threadIdx.x][x];
}

cudaError_t transpose (const Sum *from, Sum *to, int width, int height)
{
  const dim3 tiles ((width + kTile - 1) / kTile, (height + kTile - 1) / kTile);
  transpose_kernel<<<tiles, dim3 (kTile, kRows)>>> (from, to, width, height);
  return cudaGetLastError ();
}

__global__ void scan_columns (Sum *sums, int width, int height)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width)
    return;
  Sum sum = 0;
  for (int y = 0; y < height; y++)
    sums[std::size_t (y) * width + x] = sum += sums[std::size_t (y) * width + x];
}

}  // namespace

extern "C" {

int peers_cub_version ()
{
  return CUB_VERSION;
}

/// Bytes of `scratch` that both functions below need, or 0 if CUB fails.
std::size_t peers_scratch_bytes (int width, int height)
{
  std::size_t rows = 0, columns = 0;
  if (scan_lines (nullptr, rows, as_sums (nullptr), nullptr, width, height)
      || scan_lines (nullptr, columns, static_cast<const Sum *> (nullptr), nullptr, height, width))
    return 0;
  return rows > columns ? rows : columns;
}

/// Scans rows, transposes, scans again, and transposes back. `between` is as large as `sums`.
int peers_transposed (const std::uint8_t *pixels, Sum *sums, Sum *between, void *scratch,
                      std::size_t scratch_bytes, int width, int height)
{
  cudaError_t error = scan_lines (scratch, scratch_bytes, as_sums (pixels), between, width, height);
  if (!error)
    error = transpose (between, sums, width, height);
  if (!error)
    error = scan_lines (scratch, scratch_bytes, static_cast<const Sum *> (sums), between, height,
                        width);
  if (!error)
    error = transpose (between, sums, height, width);
  return error;
}

/// Scans rows, then each column with one thread.
int peers_column_threads (const std::uint8_t *pixels, Sum *sums, void *scratch,
                          std::size_t scratch_bytes, int width, int height)
{
  if (const cudaError_t error =
          scan_lines (scratch, scratch_bytes, as_sums (pixels), sums, width, height))
    return error;
  scan_columns<<<(width + kThreads - 1) / kThreads, kThreads>>> (sums, width, height);
  return cudaGetLastError ();
}

}  // extern "C"
