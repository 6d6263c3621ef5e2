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

using Stream = CUstream_st *;  // a cudaStream_t; strategies of the CPU ignore it

enum class Device { cpu, cuda };

/// The pixels that a strategy reads. Shape::content says what they are:
///   bins     bin indices of a byte each (see Lut), in a binned plane
///   weights  WeightedPixel words: on a GPU in a binned plane, on the CPU at any aligned stride
///   sums     pixels of the type Shape::pixel, at any aligned stride
/// A binned plane, such as run () computes from Job::binning, is 16-byte aligned, and its stride is
/// binned_stride (). Columns from the width up to the stride can be read, but mean nothing.
struct PixelPlane {
  std::uint8_t *data = nullptr;
  std::size_t stride = 0;  // bytes

  /// Returns whether all rows begin at multiples of `bytes`.
  bool is_aligned (std::size_t bytes) const
  {
    return (reinterpret_cast<std::size_t> (data) | stride) % bytes == 0;
  }
};

/// Returns an image's pixels as the input of a strategy, which does not write to its input.
inline PixelPlane plane_of (const Image &image)
{
  return { static_cast<std::uint8_t *> (const_cast<void *> (image.data)),
           std::size_t (image.stride) };
}

/// Returns the columns of a binned plane, padded so that vectors and tiles may read beyond the
/// width.
constexpr std::size_t padded_columns (int width)
{
  return round_up (std::size_t (width), 256);
}

/// Returns the stride in bytes of a binned plane (see PixelPlane).
constexpr std::size_t binned_stride (const Shape &shape)
{
  return padded_columns (shape.width) * bytes_of (shape.pixel);
}

/// Parameters of a strategy that the papers vary. 0 stands for the strategy's default.
struct Tuning {
  int tile = 0;     // side of a tile
  int threads = 0;  // per block

  int tile_or (std::span<const int> tiles) const { return tile ? tile : tiles.front (); }
  int threads_or (std::span<const int> list) const { return threads ? threads : list.front (); }
  bool operator== (const Tuning &) const = default;
};

/// Returns whether another thread has set a flag to cancel work. `flag` may be null: never set.
inline bool is_set (const std::atomic<bool> *flag)
{
  return flag && flag->load (std::memory_order_relaxed);
}

/// Receives a call as each stage of a strategy's run begins, to time the stages. Work that is
/// enqueued between two calls belongs to the stage of the first call.
class StageListener {
public:
  virtual ~StageListener () = default;
  virtual void begin (const char *stage) = 0;  // "initialise", "scan", "transpose", ...
};

/// The arguments of a strategy for one frame. The workspace has Strategy::workspace_bytes () bytes,
/// is 256-byte aligned, and is in use until the work on the stream is done.
struct Job {
  Shape shape;
  Layout layout;
  PixelPlane pixels;
  void *tensor = nullptr;
  void *workspace = nullptr;
  Stream stream = nullptr;
  Tuning tuning = {};
  StageListener *listener = nullptr;
  /// Null, or an image from which run () first computes `pixels`: bin indices, weighted pixels, or,
  /// for a summed-area table, the u8 scores that the LUT gives to the values of the image.
  const Binning *binning = nullptr;

  /// The flag that cancels the run, or null. CPU strategies poll it about every millisecond, and
  /// then run () soon returns ECANCELED. CUDA strategies only launch, and do not poll.
  const std::atomic<bool> *cancelled = nullptr;

  /// Whether the workspace holds zeros, or what the last run of the same strategy, shape and tuning
  /// left there: this makes strategies with `keeps_workspace` faster. Must be false after a failed
  /// run, because the workspace may then hold anything.
  bool workspace_kept = false;

  void stage (const char *name) const
  {
    if (listener)
      listener->begin (name);
  }
};

/// An algorithm that computes tensors. Its `name` is also the name of its source file, the value of
/// a property by which users choose it, and its label in tests.
struct Strategy {
  const char *name;
  const char *description;  // one line, for users
  Device device = Device::cpu;
  /// Returns the bytes of workspace for a shape, which also suffice for fewer bins or rows.
  std::size_t (*workspace_bytes) (const Shape &, const Tuning &) =
      [] (const Shape &, const Tuning &) { return std::size_t (0); };
  int (*run) (const Job &) = nullptr;
  bool bins_itself = false;      // the strategy itself computes bins, from Job::binning
  bool keeps_workspace = false;  // see Job::workspace_kept
  bool makes_tiles = false;      // the strategy supports only Type::u8_tiled
  bool takes_weights = false;    // supports Content::weights, too
  // Returns whether a valid shape is supported, with parameters from `tiles` and `threads`.
  bool (*supports) (const Shape &, const Tuning &) = [] (const Shape &, const Tuning &) {
    return true;
  };
  const char *limit = "";                         // supported shapes, in words for users
  std::span<const int> tiles = {}, threads = {};  // values for Tuning; the first is the default
  bool slow = false;                              // slow strategies run only if chosen by name
};

bool accepts (const Strategy &strategy, const Shape &shape, const Tuning &tuning = {});

/// Runs a strategy for one frame. If the job has a `binning` and the strategy does not read it
/// itself (bins_itself), bin_image () computes the bins first.
[[nodiscard]] int run (const Strategy &strategy, const Job &job);

}  // namespace inthist
