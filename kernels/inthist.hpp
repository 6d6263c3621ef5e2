// SPDX-License-Identifier: LGPL-2.1-or-later
//
// inthist: integral histograms of 8-bit images, on the CPU and with CUDA.
//
// The integral histogram of an image I with `bins` bins is the tensor
//
//   H[b][y][x] = number of pixels of bin b in rows 0..y and columns 0..x        (Poostchi et al. 2017, eq. 1; Porikli 2005)
//
// and four of its elements give the histogram of any rectangle. A frame takes two steps: `bin_image` turns pixels into bin indices,
// and a `Strategy` turns bin indices into the tensor. `count_regions` then answers rectangles.
//
// Nothing here allocates, synchronises or keeps state between calls; every buffer belongs to the caller. Calls on different buffers may
// run at the same time from any thread. Functions return 0, or a cudaError_t where a CUDA call failed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

struct CUstream_st;

namespace inthist {

using Stream = CUstream_st *;  // cudaStream_t; the CPU ignores it

enum class Device { cpu, cuda };

/// u32 is exact below 2^32 pixels. u16 holds the same counts modulo 65536.
enum class Counter { u32, u16 };

constexpr std::size_t
bytes_of (Counter counter)
{
  return counter == Counter::u32 ? 4 : 2;
}

struct Shape {
  int width = 0, height = 0;  // pixels, each at least 1
  int bins = 0;               // 1..256
  Counter counter = Counter::u32;
  bool operator== (const Shape &) const = default;
};

/// Where an element lies: H[b][y][x] is at byte b * plane_pitch + y * row_pitch + x * bytes_of (counter).
/// Both pitches and the tensor's first byte are multiples of 16; bytes between a row's end and the next row are never touched.
struct Layout {
  std::size_t row_pitch = 0, plane_pitch = 0;  // bytes
};

/// Rows on cache lines (64 bytes), planes without a gap.
Layout layout_of (const Shape &shape);

constexpr std::size_t
tensor_bytes (const Shape &shape, const Layout &layout)
{
  return layout.plane_pitch * shape.bins;
}

/// How to get an 8-bit value from a pixel: `bytes` bytes, read as a little-endian word. With one channel the value is
/// word >> shift[0] & 255. With three (R, G, B) it is their luma, (sum of weight[c] * (word >> shift[c] & 255) + 32768) >> 16.
struct PixelFormat {
  int bytes = 1;                 // 1..4
  int channels = 1;              // 1 or 3
  int shift[3] = {};             // bits
  std::uint32_t weight[3] = {};  // sum up to 65536
};

struct Image {
  const void *data = nullptr;
  std::size_t stride = 0;  // bytes from one row to the next
  PixelFormat format;
};

/// Maps a value to its bin.
using Lut = std::array<std::uint8_t, 256>;

/// value * bins / 256
Lut uniform_lut (int bins);

/// One byte a pixel: its bin. Columns from the width up to the stride are there to be read, but mean nothing.
struct BinPlane {
  std::uint8_t *data = nullptr;  // 16-byte aligned
  std::size_t stride = 0;        // bytes, from bin_stride
};

/// The width rounded up to 256, so that vectors and tiles may read over a row's end.
constexpr std::size_t
bin_stride (int width)
{
  return (std::size_t (width) + 255) / 256 * 256;
}

/// All that a strategy needs for one frame. The workspace has at least workspace_bytes (shape) bytes, is 256-byte aligned,
/// and is in use until the stream has passed.
struct Job {
  Shape shape;
  Layout layout;
  BinPlane bins;
  void *tensor = nullptr;
  void *workspace = nullptr;
  Stream stream = nullptr;
};

/// One algorithm. The name is also the file's, the property's nick and the label in tests and benchmarks.
struct Strategy {
  const char *name;
  const char *description;  // one line, for users
  Device device;
  std::size_t (*workspace_bytes) (const Shape &);
  int (*run) (const Job &);
  bool (*supports) (const Shape &) = [] (const Shape &) { return true; };
  const char *limit = "";  // what it supports, in words, where that is not everything
};

/// Every algorithm of this build; the first of a device is its fastest.
std::span<const Strategy> strategies ();
const Strategy *find_strategy (std::string_view name);
const Strategy *fastest_strategy (Device device);

/// A rectangle in pixels.
struct Region {
  int x = 0, y = 0, width = 0, height = 0;
};

/// The part of the region inside the frame; all zero where there is none.
Region clip (const Region &region, int width, int height);

/// Algorithm 1 of Poostchi et al., serial: what every strategy must equal, bit for bit.
void reference (const Job &job);

namespace cpu {
void bin_image (const Image &image, const Lut &lut, int width, int height, BinPlane out);

/// counts[i * bins + b] = pixels of bin b in regions[i]. Regions must be clipped.
void count_regions (const Shape &shape, const Layout &layout, const void *tensor, std::span<const Region> regions, std::uint32_t *counts);
}  // namespace cpu

/// The same on a device; pointers are the device's, of the current context. `regions` may also be pinned host memory.
namespace cuda {
int bin_image (const Image &image, const Lut &lut, int width, int height, BinPlane out, Stream stream);
int count_regions (const Shape &shape, const Layout &layout, const void *tensor, const Region *regions, int n, std::uint32_t *counts,
                   Stream stream);
}  // namespace cuda

}  // namespace inthist
