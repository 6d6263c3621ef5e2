// SPDX-License-Identifier: LGPL-2.1-or-later
//
// inthist: integral histograms and summed-area tables, on the CPU and with CUDA.
//
// The integral histogram of an image with `bins` bins is the tensor
//
//   H[b][y][x] = number of pixels of bin b in rows 0..y and columns 0..x
//                (Poostchi et al. 2017, eq. 1; Porikli 2005)
//
// and a summed-area table (integral image; Crow 1984) is one such plane of sums of pixel values.
// Four elements give the histogram, or the sum, of any rectangle. A histogram takes two steps:
// `bin_image` turns pixels into bin indices, and a `Strategy` turns bin indices into the tensor; a
// table takes the second alone, from any pixels. query.hpp then answers what rectangles hold.
//
// Nothing here allocates, synchronises or keeps state between calls (tuner.hpp does); every buffer
// belongs to the caller. Calls on different buffers may run at the same time from any thread.
//
// Nothing throws. Functions that can fail return 0 or what went wrong: on the CPU ENOMEM, EAGAIN
// where threads cannot be had, or ECANCELED; with CUDA a cudaError_t. What they write is undefined
// then.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "host_device.hpp"

struct CUstream_st;

namespace inthist {

using Stream = CUstream_st *;  // cudaStream_t; the CPU ignores it

enum class Device { cpu, cuda };

/// Of pixels and of tensor elements. f32x4 is four interleaved channels; u16_anchored is u16 with
/// Anchors behind the planes.
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

/// What a pixel adds to plane b.
enum class Content {
  bins,    // 1 where its bin is b: an integral histogram
  powers,  // its value to the power of b + 1: the summed-area table, and as a second plane that of
           // the square (Viola and Jones 2001)
};

/// What there is to compute; is_valid says which combinations exist:
///
///   bins    u8 to u32, exact below 2^32 pixels; to u16, the u32 modulo 65536; or to u16_anchored,
///           which gives back the u32, in frames of at most 65535 columns; 1..256 planes
///   powers  u8 to u32 or s32, modulo 2^32, or f32; u32 to u32; f32, f64 or f32x4 to itself; one
///           plane, for u8 to u32 one or two
///
/// Floating sums only ever add, each pixel to at most width + height others in turn: an element
/// differs from the exact sum by at most (width + height) u sum |pixel|, u being 2^-24 or 2^-53
/// (Higham 1993, eq. 2.4).
struct Shape {
  int width = 0, height = 0;  // pixels, each at least 1
  int bins = 0;               // planes
  Type counter = Type::u32;   // of the tensor's elements
  Content content = Content::bins;
  Type pixel = Type::u8;
  bool operator== (const Shape &) const = default;
};

bool is_valid (const Shape &shape);

/// Where an element lies: H[b][y][x] is at byte b * plane_pitch + y * row_pitch + x * bytes_of
/// (counter). Both pitches and the tensor's first byte are multiples of 16; bytes between a row's
/// end and the next row are never touched.
struct Layout {
  std::size_t row_pitch = 0, plane_pitch = 0;  // bytes
};

/// Rows on cache lines (64 bytes), planes without a gap.
Layout layout_of (const Shape &shape);

/// Of a u16_anchored tensor: H itself, in u32, at every 2^row_shift-th row and 2^column_shift-th
/// column, the first of each among them. They lie behind the planes, at byte plane_pitch * bins, as
/// [plane][row][column] without gaps. From an anchor to the elements right of and below it, as far
/// as the next anchors, H grows by less than 65536, so that H = anchor + ((element - anchor) modulo
/// 65536): word-length reduction by overflow (Belt 2008), undone. At 1920x1080 there is one for 512
/// elements.
struct Anchors {
  int row_shift = 0, column_shift = 0;
  int rows = 0, columns = 0;

  INTHIST_HOST_DEVICE constexpr std::size_t index (int plane, int y, int x) const
  {
    return (std::size_t (plane) * rows + (y >> row_shift)) * columns + (x >> column_shift);
  }
};

/// About the fewest that do: H grows by at most what the rows below the anchor's and the columns
/// right of it hold.
constexpr Anchors anchors_of (const Shape &shape)
{
  constexpr std::int64_t kMost = 65535;
  const std::int64_t width = shape.width, height = shape.height;
  Anchors best;
  for (int r = 0; (width << r) <= kMost; r++)  // also from one anchor to the one below
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

/// How to get an 8-bit value from a pixel: `bytes` bytes, read as a little-endian word. With one
/// channel the value is word >> shift[0] & 255. With three (R, G, B) it is their luma, (sum of
/// weight[c] * (word >> shift[c] & 255) + 32768) >> 16.
struct PixelFormat {
  int bytes = 1;                 // 1..4
  int channels = 1;              // 1 or 3
  int shift[3] = {};             // bits
  std::uint32_t weight[3] = {};  // sum up to 65536
};

struct Image {
  const void *data = nullptr;
  std::ptrdiff_t stride =
      0;  // bytes from one row to the next, negative where they go from the bottom up
  PixelFormat format;
};

/// Maps a value to its bin. An entry of Shape::bins or more is in no bin: such a pixel counts
/// nowhere.
using Lut = std::array<std::uint8_t, 256>;

/// value * bins / 256
Lut uniform_lut (int bins);

/// Of bins first..first + bins - 1 alone, as a tensor of their planes wants it; all else is in no
/// bin. Groups of bins are computed one by one, or each on a device of its own.
Lut lut_of_bins (const Lut &lut, int first, int bins);

/// Pixels of Shape::pixel, with `powers` on any stride that keeps them aligned. With `bins` a pixel
/// is its bin, or in none as a Lut's entry; the plane is then 16-byte aligned, its stride is
/// bin_stride (width), and columns from the width up to the stride are there to be read, but mean
/// nothing.
struct PixelPlane {
  std::uint8_t *data = nullptr;
  std::size_t stride = 0;  // bytes
};

/// The width rounded up to 256, so that vectors and tiles may read over a row's end.
constexpr std::size_t bin_stride (int width)
{
  return (std::size_t (width) + 255) / 256 * 256;
}

/// What the papers vary; 0 is the strategy's default, the first in its list that it supports.
struct Tuning {
  int tile = 0;     // rows and columns of a tile
  int threads = 0;  // of a block

  int tile_or (std::span<const int> tiles) const { return tile ? tile : tiles.front (); }
  int threads_or (std::span<const int> list) const { return threads ? threads : list.front (); }
  bool operator== (const Tuning &) const = default;
};

/// Of a flag that another thread sets to have something stopped; null for none.
inline bool is_set (const std::atomic<bool> *flag)
{
  return flag && flag->load (std::memory_order_relaxed);
}

/// Hears of the stages of a run, for those who time them. What is enqueued between two belongs to
/// the first of them.
class StageListener {
public:
  virtual ~StageListener () = default;
  virtual void begin (const char *stage) = 0;  // "initialise", "scan", "transpose", ...
};

/// How pixels become bins. The image must stay until the stream has passed.
struct Binning {
  Image image;
  Lut lut;
};

/// All that a strategy needs for one frame. The workspace has at least workspace_bytes (shape,
/// tuning) bytes, is 256-byte aligned, and is in use until the stream has passed.
struct Job {
  Shape shape;
  Layout layout;
  PixelPlane pixels;
  void *tensor = nullptr;
  void *workspace = nullptr;
  Stream stream = nullptr;
  Tuning tuning = {};
  StageListener *listener = nullptr;
  const Binning *binning = nullptr;  // with `bins`: the pixels are not there yet, and are made from
                                     // this first; see run ()

  /// CPU strategies look at it about every millisecond. Once it is set, run () returns ECANCELED
  /// soon, and what the tensor holds is undefined. Those of CUDA, which only launch, do not look.
  const std::atomic<bool> *cancelled = nullptr;

  void stage (const char *name) const
  {
    if (listener)
      listener->begin (name);
  }
};

/// One algorithm. The name is also the file's, the property's nick and the label in tests and
/// benchmarks.
struct Strategy {
  const char *name;
  const char *description;  // one line, for users
  Device device;
  /// What a shape takes is enough for all with fewer bins or rows, which parts of frames are
  /// computed in.
  std::size_t (*workspace_bytes) (const Shape &, const Tuning &) =
      [] (const Shape &, const Tuning &) { return std::size_t (0); };
  int (*run) (const Job &);
  // what run () below sees to for those that do not
  bool bins_itself = false;     // takes a Job's `binning`, and may leave `pixels` as they are
  bool anchors_itself = false;  // writes the anchors too, where there are any
  // of valid shapes, with parameters that it offers
  bool (*supports) (const Shape &, const Tuning &) = [] (const Shape &, const Tuning &) {
    return true;
  };
  const char *limit = "";  // what it supports, in words, where that is not everything
  std::span<const int> tiles = {}, threads = {};  // what Tuning may ask for, the default first
  bool slow = false;                              // kept to compare with: never chosen by itself
};

/// Every algorithm of this build, for each device in the order in which they are preferred before
/// anybody has measured.
std::span<const Strategy> strategies ();
const Strategy *find_strategy (std::string_view name);
/// The first that supports the shape.
const Strategy *preferred_strategy (Device device, const Shape &shape);
/// Whether the shape is valid and the strategy takes it, with these parameters.
bool accepts (const Strategy &strategy, const Shape &shape, const Tuning &tuning = {});

/// Runs the strategy; before it bin_image where the job has a `binning`, and behind it drop_anchors
/// where the tensor has anchors, unless it sees to them itself.
[[nodiscard]] int run (const Strategy &strategy, const Job &job);

/// Algorithm 1 of Poostchi et al., serial and slow: what a strategy must equal, bit for bit. For
/// integer tensors; without anchors. ECANCELED as run ().
int reference (const Job &job);

// A strip of a frame's rows is computed like a frame of its own. add_above then makes it the rows
// that the frame's tensor has there: it adds above[b * width + x], H in the row above the strip, to
// all of plane b's column x, and leaves H in the strip's last row in its place, for the strip
// below. `above` has width words a plane, zeros for the first strip, and all is modulo 2^32, or
// 65536 with u16. For tensors of u32, s32 or u16; without anchors. Shape and layout are the
// strip's.

namespace cpu {
/// Has TBB start all of its threads, which stay. It would start them one by one, when there is
/// work, and the process would end where one of them could not start the next.
[[nodiscard]] int start_workers ();
[[nodiscard]] int bin_image (const Image &image, const Lut &lut, int width, int height,
                             PixelPlane out, const std::atomic<bool> *cancelled = nullptr);
/// From the planes.
[[nodiscard]] int drop_anchors (const Job &job);
[[nodiscard]] int add_above (const Shape &shape, const Layout &layout, void *tensor,
                             std::uint32_t *above);
}  // namespace cpu

/// The same on a device; pointers are the device's, of the current context.
namespace cuda {
int bin_image (const Image &image, const Lut &lut, int width, int height, PixelPlane out,
               Stream stream);
int drop_anchors (const Job &job);
int add_above (const Shape &shape, const Layout &layout, void *tensor, std::uint32_t *above,
               Stream stream);
}  // namespace cuda

}  // namespace inthist
