// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turns pixels into bin indices, with the LUT in shared memory. Traffic: the image once, and one
// byte written a pixel, a hundredth of the tensor. A thread has 16 pixels of one byte, else four.
// Features that read more than a pixel of the first plane have a kernel each; neighbours and chroma
// that pixels have in common are read from L1.
#include <algorithm>

#include <cuda_runtime.h>

#include "../features/features.hpp"
#include "../inthist.hpp"
#include "device/bytes.cuh"
#include "device/overlap.cuh"

namespace inthist::cuda {
namespace {

constexpr int kThreads = 256;  // This number was not measured against others.

template <int kWords>
struct alignas (4 * kWords) Bytes {
  std::uint32_t words[kWords];
};

template <int kWords>
__global__ void __launch_bounds__ (kThreads)
bin_pixels (const std::uint8_t *image, std::size_t stride, PixelFormat format,
            const __grid_constant__ LutWords lut, int width, int height, PixelPlane out)
{
  constexpr int kPixels = 4 * kWords;
  __shared__ std::uint32_t table_words[64];
  if (threadIdx.x < 64)
    table_words[threadIdx.x] = lut.words[threadIdx.x];
  const auto *table = reinterpret_cast<const std::uint8_t *> (table_words);
  const unsigned i = blockIdx.x * kThreads + threadIdx.x, threads_per_row = out.stride / kPixels,
                 y = i / threads_per_row;
  const int x0 = int (i % threads_per_row) * kPixels;
  wait_for_previous ();
  let_next_start ();
  __syncthreads ();
  if (y >= height)
    return;

  const std::uint8_t *row = image + y * stride;
  Bytes<kWords> bins = {};
  if (format.bytes == 1 && x0 + kPixels <= width
      && reinterpret_cast<std::size_t> (row) % kPixels == 0) {
    const auto pixels = *reinterpret_cast<const Bytes<kWords> *> (row + x0);
#pragma unroll
    for (int j = 0; j < kPixels; j++)
      bins.words[j / 4] |= std::uint32_t (table[pixels.words[j / 4] >> (8 * (j % 4)) & 255])
                           << (8 * (j % 4));
  } else {
#pragma unroll
    for (int j = 0; j < kPixels; j++)
      if (x0 + j < width)
        bins.words[j / 4] |=
            std::uint32_t (table[pixel_value (row + std::size_t (x0 + j) * format.bytes, format)])
            << (8 * (j % 4));
  }
  *reinterpret_cast<Bytes<kWords> *> (out.data + y * out.stride + x0) = bins;
}

/// Calls `store (i, value)` for those of kPixels pixels of a row from x on that come before `end`.
template <class Feature, int kPixels, class Store>
__device__ void for_values (const RowReader &reader, const Quantization &parts,
                            const Sectors &sectors, int x, int end, Store &&store)
{
  if constexpr (Feature::kReads == Reads::luma_3x3) {
    int luma[3][kPixels + 2];
    for (int row = 0; row < 3; row++)
      for (int i = 0; i < kPixels + 2; i++)
        luma[row][i] = reader.luma (row, x + i - 1);
    for (int i = 0; i < kPixels; i++) {
      Pixel pixel = { {}, {}, parts, sectors };
      for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++)
          pixel.luma[row][column] = luma[row][i + column];
      if (x + i < end)
        store (i, Feature::value_of (pixel));
    }
  } else {
    for (int i = 0; i < kPixels; i++)
      if (x + i < end)
        store (i, Feature::value_of ({ reader.colour (x + i), {}, parts, sectors }));
  }
}

template <class Feature>
__global__ void __launch_bounds__ (kThreads)
bin_feature (const __grid_constant__ Image image, const __grid_constant__ Sectors all_sectors,
             const __grid_constant__ LutWords lut, int width, int height, PixelPlane out)
{
  constexpr int kPixels = 4;
  __shared__ std::uint32_t table_words[64];
  __shared__ Sectors sectors;  // the threads of a warp read different ones
  if (threadIdx.x < 64)
    table_words[threadIdx.x] = lut.words[threadIdx.x];
  if (Feature::kReads == Reads::luma_3x3 && threadIdx.x < all_sectors.n)
    sectors.begin[threadIdx.x] = all_sectors.begin[threadIdx.x];
  if (threadIdx.x == 0) {
    sectors.n = all_sectors.n;
    sectors.first_step = all_sectors.first_step;
  }
  const auto *table = reinterpret_cast<const std::uint8_t *> (table_words);
  const unsigned i = blockIdx.x * kThreads + threadIdx.x, threads_per_row = out.stride / kPixels,
                 y = i / threads_per_row;
  const int x0 = int (i % threads_per_row) * kPixels;
  wait_for_previous ();
  let_next_start ();
  __syncthreads ();
  if (y >= height)
    return;

  std::uint32_t bins = 0;
  for_values<Feature, kPixels> (
      RowReader (image, width, image.first_row + int (y)), image.format.quantization, sectors, x0,
      width, [&] (int j, std::uint8_t value) { bins |= std::uint32_t (table[value]) << (8 * j); });
  *reinterpret_cast<std::uint32_t *> (out.data + y * out.stride + x0) = bins;
}

/// Calls `launch` with rows of a launch, so that a thread's number takes 32 bits.
template <class Launch>
int for_rows (std::size_t threads_per_row, int height, Launch &&launch)
{
  const int most = int (std::min<std::size_t> (height, (std::size_t (1) << 31) / threads_per_row));
  for (int y = 0; y < height; y += most) {
    const int rows = std::min (most, height - y);
    if (const int error = launch (y, rows, unsigned (divide_up (threads_per_row * rows, kThreads)));
        error != 0)
      return error;
  }
  return 0;
}

template <int kWords>
int launch (const Image &image, const LutWords &lut, int width, int height, PixelPlane out,
            Stream stream)
{
  return for_rows (out.stride / (4 * kWords), height, [&] (int y, int rows, unsigned blocks) {
    return launch_overlapped (bin_pixels<kWords>, blocks, kThreads, 0, stream,
                              static_cast<const std::uint8_t *> (image.data) + y * image.stride,
                              image.stride, image.format, lut, width, rows,
                              PixelPlane{ out.data + y * out.stride, out.stride });
  });
}

template <class Feature>
int launch_feature (const Image &image, const LutWords &lut, int width, int height, PixelPlane out,
                    Stream stream)
{
  const Sectors sectors = sectors_of (image.format);
  return for_rows (out.stride / 4, height, [&] (int y, int rows, unsigned blocks) {
    Image from = image;
    from.first_row += y;
    return launch_overlapped (bin_feature<Feature>, blocks, kThreads, 0, stream, from, sectors, lut,
                              width, rows, PixelPlane{ out.data + y * out.stride, out.stride });
  });
}

}  // namespace

int bin_image (const Binning &binning, int width, int height, PixelPlane out, Stream stream)
{
  const Image &image = binning.image;
  const LutWords lut = LutWords::of (binning.lut);
  if (!image.format.reads_pixels ())
    return with_feature (image.format.feature, [&]<class Feature> (Feature) {
      return launch_feature<Feature> (image, lut, width, height, out, stream);
    });
  return image.format.bytes == 1 ? launch<4> (image, lut, width, height, out, stream)
                                 : launch<1> (image, lut, width, height, out, stream);
}

}  // namespace inthist::cuda
