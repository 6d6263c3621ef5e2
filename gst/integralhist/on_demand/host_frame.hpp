// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Keeps a frame in host memory until a consumer asks: the feature's value of each pixel as a byte,
// or as a word if pixels have weights (WeightedPixel). If computing the feature costs more than a
// copy, HostFrame keeps the picture, and computes values later, in those tiles of pixels that a
// query needs. For a summed-area table the values are scores, by the frame's LUT.
#pragma once

#include <optional>
#include <vector>

#include "on_demand_shared.hpp"

namespace integralhist {

class HostFrame {
public:
  static Expected<HostMemory> allocate (const OnDemandShared &shared);
  HostFrame (std::shared_ptr<OnDemandShared> shared, HostMemory values);
  ~HostFrame ();
  HostFrame (const HostFrame &) = delete;
  HostFrame &operator= (const HostFrame &) = delete;

  Expected<> keep (const Frame &frame);
  /// Computes missing pixel values in n regions within the frame, of which region (i) returns one.
  /// Only one thread at a time may call this.
  template <class RegionOf>
  Expected<> compute_values (int n, RegionOf &&region)
  {
    if (!source_)
      return {};
    std::vector<int> tiles;
    std::vector<bool> known = has_values_;  // tiles that are computed or listed in `tiles`
    for (int i = 0; i < n; i++)
      add_missing (region (i), known, tiles);
    return compute_tiles (std::move (tiles));
  }
  /// Returns the kept pixel values from the first pixel of a region on, and the LUT from values to
  /// bins. The values in the region must have been computed.
  Binning binning (const Region &region) const;
  /// Returns what a GPU needs to make the pixel values: the kept picture, or else the kept values.
  Binning source () const
  {
    return source_ ? *source_ : Binning{ binning ({}).image, shared_->identity };
  }

private:
  static constexpr int kTileColumns = 64, kTileRows = 16;

  Expected<> keep_picture (const Frame &frame);
  void add_missing (const Region &region, std::vector<bool> &known, std::vector<int> &tiles) const;
  Expected<> compute_tiles (std::vector<int> tiles);

  const std::shared_ptr<OnDemandShared> shared_;
  const Shape &shape_;
  const HostMemory values_;  // rows lie one after another
  HostMemory picture_;
  std::size_t picture_bytes_ = 0;
  std::optional<Binning> source_;  // the kept picture; null if only values are kept
  std::vector<bool> has_values_;   // whether each tile has values, row by row
};

}  // namespace integralhist
