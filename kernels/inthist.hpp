// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Integral histograms and summed-area tables, on the CPU and with CUDA. The integral histogram of
// an image with `bins` bins is the tensor
//
//   H[b][y][x] = number of pixels of bin b in rows 0..y and columns 0..x
//                (Poostchi et al. 2017, eq. 1; Porikli 2005)
//
// A summed-area table (integral image; Crow 1984) is one such plane, of sums of pixel values. Four
// elements give the histogram, or the sum, of any rectangle (query.hpp). `bin_image` turns pixels
// into bin indices, and a `Strategy` turns these into the tensor; a table needs no binning.
//
// No function allocates, synchronises or keeps state between calls, except those of the tuner. The
// caller owns all buffers. Calls on different buffers may run at the same time from any thread.
// Nothing throws. A function returns 0 or its error: on the CPU ENOMEM, EAGAIN (no threads to be
// had) or ECANCELED; with CUDA a cudaError_t. After an error its output is undefined.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "host_device.hpp"

struct CUstream_st;

namespace inthist {

using Stream = CUstream_st *;  // cudaStream_t; the CPU ignores it

enum class Device { cpu, cuda };

/// The type of a pixel or of a tensor element. f32x4 is four interleaved channels; u16_anchored is
/// u16 with Anchors behind the planes.
enum class Type { u8, u16, u32, s32, f32, f64, f32x4, u16_anchored };

constexpr std::size_t bytes_of (Type type)
{
  constexpr std::size_t kBytes[] = { 1, 2, 4, 4, 4, 8, 16, 2 };
  return kBytes[int (type)];
}

constexpr const char *name_of (Type type)
{
  constexpr const char *kNames[] = { "u8",  "u16", "u32",   "s32",
                                     "f32", "f64", "f32x4", "u16-anchored" };
  return kNames[int (type)];
}

/// Says what a pixel adds to plane b.
enum class Content {
  bins,    // 1 where its bin is b: an integral histogram
  powers,  // its value to the power b + 1: a table, and that of squares (Viola and Jones 2001)
};

/// Says what to compute. is_valid tells which combinations exist:
///
///   bins    1..256 planes; u8 to u32 (exact below 2^32 pixels), to u16 (the u32 modulo 65536), or
///           to u16_anchored (which gives back the u32, in frames of at most 65535 columns)
///   powers  one plane; u8 to u32 or s32, modulo 2^32 (u32: also two planes), or to f32; u32 to
///           u32; f32, f64 or f32x4 to itself
///
/// Floating sums only add, each pixel to at most width + height others in turn. An element is off
/// by at most (width + height) u sum |pixel|, u being 2^-24 or 2^-53 (Higham 1993, eq. 2.4).
struct Shape {
  int width = 0, height = 0;  // pixels, each at least 1
  int bins = 0;               // planes
  Type counter = Type::u32;   // of the tensor's elements
  Content content = Content::bins;
  Type pixel = Type::u8;
  bool operator== (const Shape &) const = default;
};

bool is_valid (const Shape &shape);

/// Places H[b][y][x] at byte b * plane_pitch + y * row_pitch + x * bytes_of (counter). Both pitches
/// and the tensor's address are multiples of 16. Bytes behind a row's end are never touched.
struct Layout {
  std::size_t row_pitch = 0, plane_pitch = 0;  // bytes
};

/// Aligns rows to cache lines (64 bytes) and leaves no gap between planes.
Layout layout_of (const Shape &shape);

/// Elements of H in full u32, at every 2^row_shift-th row and 2^column_shift-th column from 0 on.
/// They lie behind the planes of a u16_anchored tensor, at byte plane_pitch * bins, as
/// [plane][row][column] without gaps. From an anchor to any element before the next anchors, H
/// grows by less than 65536, so H = anchor + ((element - anchor) modulo 65536): word-length
/// reduction by overflow (Belt 2008), undone. At 1920x1080 there is one anchor for 512 elements.
struct Anchors {
  int row_shift = 0, column_shift = 0;
  int rows = 0, columns = 0;

  INTHIST_HOST_DEVICE constexpr std::size_t index (int plane, int y, int x) const
  {
    return (std::size_t (plane) * rows + (y >> row_shift)) * columns + (x >> column_shift);
  }
};

/// Returns about the fewest anchors that suffice: H grows by at most the pixels in the rows below
/// an anchor's and in the columns right of it.
constexpr Anchors anchors_of (const Shape &shape)
{
  constexpr std::int64_t kMost = 65535;
  const std::int64_t width = shape.width, height = shape.height;
  Anchors best;
  for (int r = 0; (width << r) <= kMost; r++)  // also bounds the growth to the anchor below
    for (int c = 0; ((1 << r) - 1) * width + ((1 << c) - 1) * height <= kMost && c < 16; c++)
      if (r + c >= best.row_shift + best.column_shift)
        best = { r, c, 0, 0 };
  best.rows = ((shape.height - 1) >> best.row_shift) + 1;
  best.columns = ((shape.width - 1) >> best.column_shift) + 1;
  return best;
}

constexpr std::size_t tensor_bytes (const Shape &shape, const Layout &layout)
{
  const std::size_t planes = layout.plane_pitch * shape.bins;
  if (shape.counter != Type::u16_anchored)
    return planes;
  const Anchors anchors = anchors_of (shape);
  return planes + sizeof (std::uint32_t) * shape.bins * anchors.rows * anchors.columns;
}

/// Gets 8 bits of a pixel, a little-endian word of `bytes` bytes. One channel: word >> shift[0] &
/// 255. Three (R, G, B), luma: (sum of weight[c] * (word >> shift[c] & 255) + 32768) >> 16.
struct PixelFormat {
  int bytes = 1;                 // 1..4
  int channels = 1;              // 1 or 3
  int shift[3] = {};             // bits
  std::uint32_t weight[3] = {};  // sum up to 65536
};

struct Image {
  const void *data = nullptr;
  std::ptrdiff_t stride = 0;  // bytes; negative where rows go from the bottom up
  PixelFormat format;
};

/// Maps a value to its bin. A pixel whose entry is Shape::bins or more counts nowhere.
using Lut = std::array<std::uint8_t, 256>;

/// Maps each value to value * bins / 256.
Lut uniform_lut (int bins);

/// Keeps bins first..first + bins - 1, numbered from 0, to compute a group of bins on its own.
Lut lut_of_bins (const Lut &lut, int first, int bins);

/// Input of a strategy. With `powers` it has pixels of Shape::pixel, on any stride that keeps them
/// aligned. With `bins` it has bin indices (see Lut), is 16-byte aligned, and its stride is
/// bin_stride (width); columns from the width up to the stride can be read, but mean nothing.
struct PixelPlane {
  std::uint8_t *data = nullptr;
  std::size_t stride = 0;  // bytes
};

/// Returns a / b, rounded up; a is 0 or more.
template <class Int>
INTHIST_HOST_DEVICE constexpr Int divide_up (Int a, std::type_identity_t<Int> b)
{
  return a / b + (a % b != 0);
}

template <class Int>
INTHIST_HOST_DEVICE constexpr Int round_up (Int a, std::type_identity_t<Int> unit)
{
  return divide_up (a, unit) * unit;
}

/// Rounds the width up to 256, so that vectors and tiles may read beyond a row's end.
constexpr std::size_t bin_stride (int width)
{
  return round_up (std::size_t (width), 256);
}

/// Parameters that the papers vary. 0 is the default, a strategy's first that it supports.
struct Tuning {
  int tile = 0;     // rows and columns of a tile
  int threads = 0;  // per block

  int tile_or (std::span<const int> tiles) const { return tile ? tile : tiles.front (); }
  int threads_or (std::span<const int> list) const { return threads ? threads : list.front (); }
  bool operator== (const Tuning &) const = default;
};

/// Tests a flag by which another thread stops the work; null is no flag.
inline bool is_set (const std::atomic<bool> *flag)
{
  return flag && flag->load (std::memory_order_relaxed);
}

/// Hears of the stages of a run, to time them. Work enqueued between two belongs to the first.
class StageListener {
public:
  virtual ~StageListener () = default;
  virtual void begin (const char *stage) = 0;  // "initialise", "scan", "transpose", ...
};

/// Tells how pixels become bins. The image must stay until the stream has passed.
struct Binning {
  Image image;
  Lut lut;
};

/// What a strategy needs for one frame. The workspace has workspace_bytes (shape, tuning) bytes, is
/// 256-byte aligned, and is in use until the stream has passed.
struct Job {
  Shape shape;
  Layout layout;
  PixelPlane pixels;
  void *tensor = nullptr;
  void *workspace = nullptr;
  Stream stream = nullptr;
  Tuning tuning = {};
  StageListener *listener = nullptr;
  const Binning *binning = nullptr;  // with `bins`: run () first makes `pixels` from this

  /// CPU strategies poll this about every millisecond; once it is set, run () soon returns
  /// ECANCELED. CUDA strategies only launch, and do not poll.
  const std::atomic<bool> *cancelled = nullptr;

  void stage (const char *name) const
  {
    if (listener)
      listener->begin (name);
  }
};

/// One algorithm. Its name is also the file's, the property's nick and the label in tests.
struct Strategy {
  const char *name;
  const char *description;  // one line, for users
  Device device;
  /// Returns enough bytes for fewer bins or rows as well, as parts of frames have them.
  std::size_t (*workspace_bytes) (const Shape &, const Tuning &) =
      [] (const Shape &, const Tuning &) { return std::size_t (0); };
  int (*run) (const Job &);
  // run () does the next two for strategies that do not
  bool bins_itself = false;     // takes Job::binning, and may leave `pixels` as they are
  bool anchors_itself = false;  // writes the anchors too
  // asked only of valid shapes and of parameters below
  bool (*supports) (const Shape &, const Tuning &) = [] (const Shape &, const Tuning &) {
    return true;
  };
  const char *limit = "";                         // what it supports, in words, if not everything
  std::span<const int> tiles = {}, threads = {};  // values for Tuning, the default first
  bool slow = false;                              // for comparison only: never chosen by itself
};

/// Tells whether the shape is valid and the strategy supports it with these parameters.
bool accepts (const Strategy &strategy, const Shape &shape, const Tuning &tuning = {});

/// Runs the strategy. Where the strategy does not, runs bin_image before it if the job has a
/// `binning`, and write_anchors after it if the tensor has anchors.
[[nodiscard]] int run (const Strategy &strategy, const Job &job);

/// Runs the serial Algorithm 1 of Poostchi et al., which a strategy must equal bit for bit. It
/// takes integer tensors, leaves out anchors, and returns ECANCELED as run () does.
int reference (const Job &job);

// A strip of a frame's rows is computed like a frame of its own; shape and layout are the strip's.
// add_above then turns it into rows of the frame's tensor. It adds above[b * width + x], H in the
// row above the strip, to all of plane b's column x, and puts H in the strip's last row in its
// place, for the strip below. `above` has width words a plane, zeros for the first strip. Sums are
// modulo 2^32, or 65536 with u16. Tensors are of u32, s32 or u16; anchors are left out.

namespace cpu {
/// Starts all threads of TBB, which then stay. TBB would start them one by one, when there is work,
/// and the process would end where one of them cannot start the next. Threads that are busy
/// elsewhere are waited for some 100 ms.
[[nodiscard]] int start_workers (const std::atomic<bool> *cancelled = nullptr);
[[nodiscard]] int bin_image (const Image &image, const Lut &lut, int width, int height,
                             PixelPlane out, const std::atomic<bool> *cancelled = nullptr);
/// Makes the anchors from the planes.
[[nodiscard]] int write_anchors (const Job &job);
[[nodiscard]] int add_above (const Shape &shape, const Layout &layout, void *tensor,
                             std::uint32_t *above);
}  // namespace cpu

/// Counterparts on a device; pointers are the device's, of the current context.
namespace cuda {
[[nodiscard]] int bin_image (const Image &image, const Lut &lut, int width, int height,
                             PixelPlane out, Stream stream);
[[nodiscard]] int write_anchors (const Job &job);
[[nodiscard]] int add_above (const Shape &shape, const Layout &layout, void *tensor,
                             std::uint32_t *above, Stream stream);
}  // namespace cuda

}  // namespace inthist
