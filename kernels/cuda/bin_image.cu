// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turns pixels into bin indices, with the LUT in shared memory. Traffic: the image once, and one
// byte written a pixel, a hundredth of the tensor. A thread has 16 pixels of one byte, else four.
#include <algorithm>

#include <cuda_runtime.h>

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

template <int kWords>
int launch (const Image &image, const LutWords &lut, int width, int height, PixelPlane out,
            Stream stream)
{
  const std::size_t threads_per_row = out.stride / (4 * kWords);
  // rows of a launch, so that a thread's number takes 32 bits
  const int most = int (std::min<std::size_t> (height, (std::size_t (1) << 31) / threads_per_row));
  for (int y = 0; y < height; y += most) {
    const int rows = std::min (most, height - y);
    const int error = launch_overlapped (
        bin_pixels<kWords>, unsigned (divide_up (threads_per_row * rows, kThreads)), kThreads, 0,
        stream, static_cast<const std::uint8_t *> (image.data) + y * image.stride, image.stride,
        image.format, lut, width, rows, PixelPlane{ out.data + y * out.stride, out.stride });
    if (error != 0)
      return error;
  }
  return 0;
}

}  // namespace

int bin_image (const Binning &binning, int width, int height, PixelPlane out, Stream stream)
{
  const Image &image = binning.image;
  const LutWords lut = LutWords::of (binning.lut);
  return image.format.bytes == 1 ? launch<4> (image, lut, width, height, out, stream)
                                 : launch<1> (image, lut, width, height, out, stream);
}

}  // namespace inthist::cuda
