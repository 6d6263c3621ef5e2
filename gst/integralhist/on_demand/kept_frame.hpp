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
  /// Allocates the memory of the values.
  static Expected<HostMemory> allocate (const OnDemandContext &context);
  KeptFrame (std::shared_ptr<OnDemandContext> context, HostMemory values);
  ~KeptFrame ();
  KeptFrame (const KeptFrame &) = delete;
  KeptFrame &operator= (const KeptFrame &) = delete;

  /// Copies the frame's values, or its picture.
  Expected<> keep (const Frame &frame);
  /// Returns the tiles, each once, that lie in n regions and have no values yet. `region (i)` lies
  /// within the frame.
  template <class RegionOf>
  std::vector<int> missing_tiles (int n, RegionOf &&region) const
  {
    std::vector<int> tiles;
    if (!source_)
      return tiles;
    std::vector<bool> known = made_;  // and the tiles in the list
    for (int i = 0; i < n; i++)
      add_missing (region (i), known, tiles);
    return tiles;
  }
  /// Makes the values of tiles. No other thread may call this or missing_tiles () at the same time.
  Expected<> make (std::vector<int> tiles);
  /// Returns the values from a region's first pixel on, and their bins. The values must exist.
  inthist::Binning binning (const inthist::Region &region) const;
  /// Returns the input from which a GPU makes values.
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
  std::optional<inthist::Binning> source_;  // values are made from this picture, if it is set
  std::vector<bool> made_;                  // by tile, row by row
};

}  // namespace integralhist
