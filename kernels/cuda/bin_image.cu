// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Converts pixels to bin indices, or to weighted pixels (features/weight.hpp), with the LUT in
// shared memory. A thread converts 16 pixels of one byte, or four larger pixels. A feature that
// reads more than a pixel of the first plane has two kernels, for bins and for weights, in which a
// thread converts runs of eight pixels (device/pixels/pixel_run.cuh). Traffic: the image is read
// once, and one or four bytes are written for each pixel, about a hundredth of the tensor.
#include <algorithm>

#include <cuda_runtime.h>

#include "../features/soft.hpp"
#include "../inthist.hpp"
#include "device/hardware/overlap.cuh"
#include "device/pixels/pixel_run.cuh"

namespace inthist::cuda {
namespace {

constexpr int kThreads = 256;  // threads of a block; other numbers were not measured

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
  __shared__ LutWords shared_lut;
  shared_lut.copy (lut);
  const std::uint8_t *const table = shared_lut.table ();
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

/// A block's lookup tables. They are in shared memory, because each lane reads another entry.
struct Tables {
  LutWords lut;
  Sectors sectors;

  /// Copies the lookup tables to shared memory. All threads call this; a barrier must follow.
  __device__ void set (const LutWords &from, const Sectors &all, bool is_gradient)
  {
    lut.copy (from);
    if (is_gradient && threadIdx.x <= all.n)
      sectors.begin[threadIdx.x] = all.begin[threadIdx.x];
    if (threadIdx.x == 0)
      sectors.n = all.n;
  }

  __device__ const std::uint8_t *bins () const { return lut.table (); }
};

template <class Feature>
constexpr bool kReadsColours = Feature::kReads == Reads::rgb || Feature::kReads == Reads::ycbcr;
template <class Feature>
constexpr bool kReadsNeighbours = Feature::kReads == Reads::luma_3x3;

/// Column x and row y of the first pixel that a thread converts, in runs of eight pixels.
struct PixelPosition {
  int x;
  unsigned y;

  __device__ PixelPosition (std::size_t stride_in_pixels, int runs)
  {
    const unsigned i = blockIdx.x * kThreads + threadIdx.x, pixels = runs * PixelRun::kPixels,
                   per_row = unsigned (stride_in_pixels) / pixels;
    y = i / per_row;
    x = int (i % per_row * pixels);
  }
};

constexpr int kRuns = 2;  // runs of eight pixels that a thread loads at once and converts

template <class Feature>
__global__ void __launch_bounds__ (kThreads)
bin_feature (const __grid_constant__ Image image, const __grid_constant__ Sectors sectors,
             const __grid_constant__ LutWords lut, int width, int height, PixelPlane out)
{
  __shared__ Tables tables;
  tables.set (lut, sectors, kReadsNeighbours<Feature>);
  const PixelPosition at (out.stride, kRuns);
  wait_for_previous ();
  let_next_start ();
  __syncthreads ();
  if (at.y >= height)
    return;

  auto *const to = reinterpret_cast<uint4 *> (out.data + at.y * out.stride + at.x);
  if (at.x >= width) {
    *to = {};
    return;
  }
  const RowReader reader (image, width, image.first_row + int (at.y));
  const auto run = [&] (int i) {
    return PixelRun (reader, at.x + i * PixelRun::kPixels, width, kReadsColours<Feature>,
                     kReadsNeighbours<Feature>);
  };
  const PixelRun runs[kRuns] = { run (0), run (1) };
  EightBytes bins[kRuns] = {};
#pragma unroll
  for (int r = 0; r < kRuns; r++)
#pragma unroll
    for (int i = 0; i < PixelRun::kPixels; i++)
      if (at.x + r * PixelRun::kPixels + i < width)
        bins[r].set (
            i, tables.bins ()[Feature::value_of (runs[r].pixel (i, image.format, tables.sectors))]);
  *to = make_uint4 (bins[0].words[0], bins[0].words[1], bins[1].words[0], bins[1].words[1]);
}

template <class Feature>
__global__ void __launch_bounds__ (kThreads)
weigh_feature (const __grid_constant__ Image image, const __grid_constant__ Sectors sectors,
               const __grid_constant__ LutWords lut, int width, int height, PixelPlane out)
{
  __shared__ Tables tables;
  tables.set (lut, sectors, kReadsNeighbours<Feature>);
  const PixelPosition at (out.stride / sizeof (WeightedPixel), 1);
  wait_for_previous ();
  let_next_start ();
  __syncthreads ();
  if (at.y >= height)
    return;

  const PixelFormat &format = image.format;
  WeightedPixel words[PixelRun::kPixels] = {};
  if (at.x < width) {
    const PixelRun pixels (RowReader (image, width, image.first_row + int (at.y)), at.x, width,
                           kReadsColours<Feature>,
                           kReadsNeighbours<Feature> || format.pixel_weight == Weight::gradient);
#pragma unroll
    for (int i = 0; i < PixelRun::kPixels; i++)
      if (at.x + i < width)
        words[i] =
            weighted<Feature> (pixels.pixel (i, format, tables.sectors), format, tables.bins ());
  }
  auto *const to = reinterpret_cast<uint4 *> (out.data + at.y * out.stride) + at.x / 4;
#pragma unroll
  for (int i = 0; i < PixelRun::kPixels; i += 4)
    to[i / 4] = make_uint4 (words[i].word, words[i + 1].word, words[i + 2].word, words[i + 3].word);
}

/// Calls `launch` for groups of rows, so that the threads of each kernel have 32-bit numbers.
template <class Launch>
int for_rows (std::size_t threads_per_row, int height, Launch &&launch)
{
  const int most = int (std::min<std::size_t> (height, (std::size_t (1) << 31) / threads_per_row));
  for (int y = 0; y < height; y += most) {
    const int rows = std::min (most, height - y);
    TRY_CODE (launch (y, rows, unsigned (divide_up (threads_per_row * rows, kThreads))));
  }
  return 0;
}

template <int kWords>
int launch_bin_pixels (const Image &image, const LutWords &lut, int width, int height,
                       PixelPlane out, Stream stream)
{
  return for_rows (out.stride / (4 * kWords), height, [&] (int y, int rows, unsigned blocks) {
    return launch_overlapped (bin_pixels<kWords>, blocks, kThreads, 0, stream,
                              static_cast<const std::uint8_t *> (image.data) + y * image.stride,
                              image.stride, image.format, lut, width, rows,
                              PixelPlane{ out.data + y * out.stride, out.stride });
  });
}

template <class Feature>
int launch_feature (const Binning &binning, int width, int height, PixelPlane out, Stream stream)
{
  const Image &image = binning.image;
  const bool weighted = image.format.is_weighted ();
  const auto kernel = weighted ? weigh_feature<Feature> : bin_feature<Feature>;
  const std::size_t bytes = PixelRun::kPixels * (weighted ? sizeof (WeightedPixel) : kRuns);
  return for_rows (out.stride / bytes, height, [&] (int y, int rows, unsigned blocks) {
    Image from = image;
    from.first_row += y;
    if (image.format.reads_single_pixel ())
      from.rows = height;  // no neighbours are read, so it does not matter where the image ends
    return launch_overlapped (kernel, blocks, kThreads, 0, stream, from, sectors_of (image.format),
                              LutWords::of (binning.lut), width, rows,
                              PixelPlane{ out.data + y * out.stride, out.stride });
  });
}

}  // namespace

int bin_image (const Binning &binning, int width, int height, PixelPlane out, Stream stream)
{
  const Image &image = binning.image;
  if (!image.format.reads_single_pixel () || image.format.is_weighted ())
    return with_feature (image.format.feature, [&]<class Feature> (Feature) {
      return launch_feature<Feature> (binning, width, height, out, stream);
    });
  const LutWords lut = LutWords::of (binning.lut);
  return image.format.bytes == 1 ? launch_bin_pixels<4> (image, lut, width, height, out, stream)
                                 : launch_bin_pixels<1> (image, lut, width, height, out, stream);
}

}  // namespace inthist::cuda
