// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A warp counts the pixels of a window, bin after bin, in a tensor in tiles (tiles.hpp). A count is
// computed from four elements of the integral histogram. An element is the sum of six fields of up
// to two bytes, or of nine in a wide tile. Each lane loads the word with one field of one element,
// and cuts the field out. So one load fetches all fields of a bin; if each lane had a bin, as for
// tensors in rows, every lane would load every field.
#pragma once

#include <cstdint>

#include "../../../window.hpp"
#include "../hardware/warp.cuh"
#include "fields.hpp"

namespace inthist::cuda {

// The number of bins for which a warp loads words at the same time, and the most bins of a warp in
// queries for counts. Other values were not measured. 10,000 regions take 1.1 times as long as with
// u32 at 1920x1080x32, and 1.5 times at 3840x2160x32 (H100, docs/measurements/2026-11-25-tiles.md).
constexpr int kBinsOfWarp = 16;

class TiledWindow {
public:
  __device__ TiledWindow (const TensorInTiles &tensor, const Region &window) : tensor_ (tensor)
  {
    const int lane = threadIdx.x % kWarp, place = lane / kFieldsOfLanes,
              field = lane % kFieldsOfLanes;
    const bool before = place & 1, above = place & 2;
    const int x = before ? window.x - 1 : window.x + window.width - 1,
              y = above ? window.y - 1 : window.y + window.height - 1;
    const TilePlace at (tensor.tiles, tensor.layout.row_pitch, max (y, 0), max (x, 0));
    const bool counts = x >= 0 && y >= 0 && window.width > 0;
    first_ = at.cut (field, counts);
    second_ = at.cut (field + kFieldsOfLanes, counts);
    negative_ = before != above;
  }

  /// Counts the window's pixels in n bins (at most kWarp) from bin `first` on. Lane i of the warp
  /// gets the count of bin first + i.
  __device__ std::uint32_t count (int first, int n) const
  {
    return tensor_.tiles.wide ? count<true> (first, n) : count<false> (first, n);
  }

private:
  template <bool kWide>
  __device__ std::uint32_t count (int first, int n) const
  {
    const std::uint8_t *plane = tensor_.bytes + first * tensor_.layout.plane_pitch;
    std::uint32_t own = 0;
#pragma unroll 1
    for (int begin = 0; begin < n; begin += kBinsOfWarp) {
      std::uint32_t words[kBinsOfWarp], more[kBinsOfWarp];
#pragma unroll
      for (int b = 0; b < kBinsOfWarp; b++) {
        words[b] = *reinterpret_cast<const std::uint32_t *> (plane + first_.word);
        if constexpr (kWide)
          more[b] = *reinterpret_cast<const std::uint32_t *> (plane + second_.word);
        if (begin + b + 1 < n)  // else the last bin again
          plane += tensor_.layout.plane_pitch;
      }
#pragma unroll
      for (int b = 0; b < kBinsOfWarp; b++) {
        std::uint32_t part = __byte_perm (words[b], 0, first_.bytes);
        if constexpr (kWide)
          part += __byte_perm (more[b], 0, second_.bytes);
        const std::uint32_t sum = warp_sum (negative_ ? -part : part);
        if (int (threadIdx.x % kWarp) == begin + b)
          own = sum;
      }
    }
    return own;
  }

  const TensorInTiles &tensor_;
  FieldCut first_, second_;  // how the lane reads its field, and a second one in wide tiles
  bool negative_;
};

}  // namespace inthist::cuda
