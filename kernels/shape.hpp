// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>

namespace inthist {

/// The type of a pixel or of an element of a tensor; u8_tiled stands for tiles (tiles.hpp), whose
/// elements are mostly bytes. Only inthist-check, which compares with papers, makes tables of the
/// last four types; f32x4 is four interleaved channels.
enum class Type { u8, u16, u32, u8_tiled, s32, f32, f64, f32x4 };

constexpr std::size_t bytes_of (Type type)
{
  constexpr std::size_t kBytes[] = { 1, 2, 4, 1, 4, 4, 8, 16 };
  return kBytes[int (type)];
}

constexpr const char *name_of (Type type)
{
  constexpr const char *kNames[] = { "u8", "u16", "u32", "u8-tiled", "s32", "f32", "f64", "f32x4" };
  return kNames[int (type)];
}

constexpr bool is_floating (Type type)
{
  return type >= Type::f32;
}

/// The contents of a tensor. For `bins` (an integral histogram), a pixel of bin b adds 1 to plane
/// b; for `weights`, it adds its weight for bin b (features/weight.hpp); for `sums`, its value if
/// b is 0 and its squared value if b is 1 (summed-area tables, Viola and Jones 2001).
enum class Content {
  bins,
  weights,
  sums,
};

inline constexpr int kMaxBins = 256;  // most planes of an integral histogram

/// The size of a tensor, and the types of pixels and elements: what a strategy computes. is_valid
/// () accepts, by `content`:
///   bins     1..256 planes; u8 to u32 (exact below 2^32 pixels), to u16 (the u32 modulo 65536), or
///            to u8_tiled (which gives back the u32, in frames of at most 2^20 columns and rows)
///   weights  1..256 planes; u32 (WeightedPixel) to u32, modulo 2^32
///   sums     one plane; u8 to u32 or s32, modulo 2^32 (u32: also two planes), or to f32; u32 to
///            u32; f32, f64 or f32x4 to itself
/// Sums of floats are computed by additions only, and a pixel takes part in at most width + height
/// of them. So the error of an element is at most (width + height) u sum |pixel|, u being 2^-24 or
/// 2^-53 (Higham 1993, eq. 2.4).
struct Shape {
  int width = 0, height = 0;  // pixels, each at least 1
  int bins = 0;               // planes
  Type counter = Type::u32;   // of the tensor's elements
  Content content = Content::bins;
  Type pixel = Type::u8;
  bool has_squares () const { return content == Content::sums && bins > 1; }
  bool operator== (const Shape &) const = default;
};

bool is_valid (const Shape &shape);

/// The layout of a tensor in memory: H[b][y][x] is at byte b * plane_pitch + y * row_pitch + x *
/// bytes_of (counter). Both pitches and the tensor's address are multiples of 16. Bytes after the
/// end of a row are never read or written. With u8_tiled, a row is a row of tiles (tiles.hpp).
struct Layout {
  std::size_t row_pitch = 0, plane_pitch = 0;  // bytes
};

struct Rows {
  int n = 0;
  std::size_t bytes = 0;  // of each row, without padding
};
Rows rows_of (const Shape &shape);

/// Returns a layout whose rows are aligned to cache lines (64 bytes), with no gap between planes.
Layout layout_of (const Shape &shape);

constexpr std::size_t tensor_bytes (const Shape &shape, const Layout &layout)
{
  return layout.plane_pitch * shape.bins;
}
inline std::size_t tensor_bytes (const Shape &shape)
{
  return tensor_bytes (shape, layout_of (shape));
}

}  // namespace inthist
