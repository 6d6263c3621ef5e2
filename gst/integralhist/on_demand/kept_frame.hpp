// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame in host memory until a consumer asks: its values, a byte a pixel. If computing a feature
// costs more than a copy, KeptFrame keeps the picture, and makes the values of the requested
// regions, tile by tile. A table's values are scores by the LUT that came with the frame. Pixels
// with weights have words (WeightedPixel).
#pragma once

#include <optional>
#include <vector>

#include "on_demand_context.hpp"

namespace integralhist {

class KeptFrame {
public:
  /// Allocates memory for the values of a frame.
  static Expected<HostMemory> allocate (const OnDemandContext &context);
  KeptFrame (std::shared_ptr<OnDemandContext> context, HostMemory values);
  ~KeptFrame ();
  KeptFrame (const KeptFrame &) = delete;
  KeptFrame &operator= (const KeptFrame &) = delete;

  /// Copies the frame's values, or its picture if computing values costs more.
  Expected<> keep (const Frame &frame);
  /// Returns the tiles in n regions whose values are not computed yet, each tile once. `region (i)`
  /// lies within the frame.
  template <class RegionOf>
  std::vector<int> missing_tiles (int n, RegionOf &&region) const
  {
    std::vector<int> tiles;
    if (!source_)
      return tiles;
    std::vector<bool> known = made_;  // made_, and the tiles in the list
    for (int i = 0; i < n; i++)
      add_missing (region (i), known, tiles);
    return tiles;
  }
  /// Computes the values of tiles. During this time no other thread may call make () or
  /// missing_tiles ().
  Expected<> make (std::vector<int> tiles);
  /// Returns the values from the first pixel of a region on, with the LUT to bins. The values in
  /// the region must have been computed.
  inthist::Binning binning (const inthist::Region &region) const;
  /// Returns the pixels from which a GPU makes values: the picture, or the values.
  inthist::Binning source () const
  {
    return source_ ? *source_ : inthist::Binning{ binning ({}).image, context_->identity };
  }

private:
  static constexpr int kTileColumns = 64, kTileRows = 16;

  Expected<> keep_picture (const Frame &frame);
  void add_missing (const inthist::Region &region, std::vector<bool> &known,
                    std::vector<int> &tiles) const;

  const std::shared_ptr<OnDemandContext> context_;
  const inthist::Shape &shape_;
  const HostMemory values_;  // rows lie one after another
  HostMemory picture_;
  std::size_t picture_bytes_ = 0;
  std::optional<inthist::Binning> source_;  // if set, the picture from which values are computed
  std::vector<bool> made_;                  // for each tile, row by row
};

}  // namespace integralhist
