// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pixels to bin indices, four a thread, with the LUT in shared memory. Reads the image once, writes one byte a pixel: a hundredth of what
// the tensor takes.
#include <cuda_runtime.h>

#include "../inthist.hpp"
#include "../pixel.hpp"

namespace inthist::cuda {
namespace {

struct LutArgument {
  std::uint32_t words[64];
};

__global__ void
bin_pixels (const std::uint8_t *image, std::size_t stride, PixelFormat format, const __grid_constant__ LutArgument lut, int width,
            PixelPlane out)
{
  __shared__ std::uint32_t table_words[64];
  if (threadIdx.x < 64)
    table_words[threadIdx.x] = lut.words[threadIdx.x];
  __syncthreads ();
  const auto *table = reinterpret_cast<const std::uint8_t *> (table_words);

  const int x0 = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (x0 >= out.stride)
    return;
  const std::size_t y = blockIdx.y;
  const std::uint8_t *row = image + y * stride;
  std::uint32_t bins = 0;
  if (format.bytes == 1 && x0 + 4 <= width && reinterpret_cast<std::size_t> (row) % 4 == 0) {
    const std::uint32_t pixels = *reinterpret_cast<const std::uint32_t *> (row + x0);
    for (int i = 0; i < 4; i++)
      bins |= std::uint32_t (table[pixels >> (8 * i) & 255]) << (8 * i);
  } else {
    for (int i = 0; i < 4 && x0 + i < width; i++)
      bins |= std::uint32_t (table[pixel_value (row + std::size_t (x0 + i) * format.bytes, format)]) << (8 * i);
  }
  *reinterpret_cast<std::uint32_t *> (out.data + y * out.stride + x0) = bins;
}

}  // namespace

int
bin_image (const Image &image, const Lut &lut, int width, int height, PixelPlane out, Stream stream)
{
  constexpr int kThreads = 128;
  LutArgument argument;
  static_assert (sizeof argument == sizeof lut);
  __builtin_memcpy (&argument, lut.data (), sizeof argument);
  const auto *data = static_cast<const std::uint8_t *> (image.data);
  const unsigned columns = unsigned ((out.stride / 4 + kThreads - 1) / kThreads);
  // a grid has at most 65535 rows
  for (int y = 0; y < height; y += 65535) {
    const int rows = height - y < 65535 ? height - y : 65535;
    bin_pixels<<<dim3 (columns, rows), kThreads, 0, stream>>> (data + y * image.stride, image.stride, image.format, argument, width,
                                                               PixelPlane{ out.data + y * out.stride, out.stride });
  }
  return cudaGetLastError ();
}

}  // namespace inthist::cuda
