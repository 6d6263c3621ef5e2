// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "binning.hpp"
#include "rounding.hpp"
#include "shape.hpp"

struct CUstream_st;

namespace inthist {

using Stream = CUstream_st *;  // cudaStream_t; the CPU ignores it

enum class Device { cpu, cuda };

/// The pixels that a strategy reads, by Shape::content:
///
///   bins     bin indices (see Lut), binned
///   weights  words of WeightedPixel; binned on a GPU, and at any aligned stride on the CPU
///   sums     pixels of Shape::pixel, at any aligned stride
///
/// A binned plane is 16-byte aligned, and its stride is binned_stride (shape). Columns from the
/// width up to the stride can be read, but mean nothing. Whatever run () computes from Job::binning
/// is a binned plane, too.
struct PixelPlane {
  std::uint8_t *data = nullptr;
  std::size_t stride = 0;  // bytes
};

/// Returns an image's pixels as the input of a strategy. Strategies do not write to their input.
inline PixelPlane plane_of (const Image &image)
{
  return { static_cast<std::uint8_t *> (const_cast<void *> (image.data)),
           std::size_t (image.stride) };
}

/// Rounds the width up to a multiple of 256, so that vectors and tiles may read beyond a row's end.
constexpr std::size_t bin_stride (int width)
{
  return round_up (std::size_t (width), 256);
}

/// Returns the stride of the output of bin_image () for a shape with Content::bins or
/// Content::weights.
constexpr std::size_t binned_stride (const Shape &shape)
{
  return bin_stride (shape.width) * bytes_of (shape.pixel);
}

/// Parameters that the papers vary. 0 stands for the default, the first value in the strategy's
/// list.
struct Tuning {
  int tile = 0;     // rows and columns of a tile
  int threads = 0;  // per block

  int tile_or (std::span<const int> tiles) const { return tile ? tile : tiles.front (); }
  int threads_or (std::span<const int> list) const { return threads ? threads : list.front (); }
  bool operator== (const Tuning &) const = default;
};

/// Tests a flag by which another thread stops the work; `flag` may be null.
inline bool is_set (const std::atomic<bool> *flag)
{
  return flag && flag->load (std::memory_order_relaxed);
}

/// Is told when each stage of a run begins, to time the stages. Work that is enqueued between two
/// calls belongs to the stage of the first call.
class StageListener {
public:
  virtual ~StageListener () = default;
  virtual void begin (const char *stage) = 0;  // "initialise", "scan", "transpose", ...
};

/// The arguments of a strategy for one frame. The workspace has workspace_bytes (shape, tuning)
/// bytes, is 256-byte aligned, and is in use until the work on the stream is done.
struct Job {
  Shape shape;
  Layout layout;
  PixelPlane pixels;
  void *tensor = nullptr;
  void *workspace = nullptr;
  Stream stream = nullptr;
  Tuning tuning = {};
  StageListener *listener = nullptr;
  /// If not null, run () first computes `pixels` with this: bins, weighted pixels, or u8 pixels of
  /// a table. The pixels of a table are the scores that the LUT gives to the image's values.
  const Binning *binning = nullptr;

  /// CPU strategies poll this about every millisecond; once it is set, run () soon returns
  /// ECANCELED. CUDA strategies only launch, and do not poll.
  const std::atomic<bool> *cancelled = nullptr;

  /// True if the workspace holds zeros, or the data that the last run of this strategy, shape and
  /// tuning left there. Strategies with `keeps_workspace` are faster then. After a failed run this
  /// must be false, because the workspace may hold anything.
  bool workspace_kept = false;

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
  Device device = Device::cpu;
  /// Returns the bytes of workspace for a shape. They also suffice for a part of the frame, with
  /// fewer bins or rows.
  std::size_t (*workspace_bytes) (const Shape &, const Tuning &) =
      [] (const Shape &, const Tuning &) { return std::size_t (0); };
  int (*run) (const Job &) = nullptr;
  bool bins_itself = false;      // reads Job::binning itself, and need not write `pixels`
  bool keeps_workspace = false;  // see Job::workspace_kept
  bool makes_tiles = false;      // takes shapes with u8_tiled, and no others
  bool takes_weights = false;    // also takes shapes with `weights`
  // Tells what is supported; called only with valid shapes and with parameters from `tiles` and
  // `threads`.
  bool (*supports) (const Shape &, const Tuning &) = [] (const Shape &, const Tuning &) {
    return true;
  };
  const char *limit = "";                         // the limits of what it supports, in words
  std::span<const int> tiles = {}, threads = {};  // values for Tuning, the default first
  bool slow = false;                              // for comparisons: used only if it is named
};

/// Tells whether the shape is valid and the strategy supports it with these parameters.
bool accepts (const Strategy &strategy, const Shape &shape, const Tuning &tuning = {});

/// Runs the strategy. If the job has a `binning` and the strategy does not read it itself
/// (bins_itself), calls bin_image () first.
[[nodiscard]] int run (const Strategy &strategy, const Job &job);

}  // namespace inthist
