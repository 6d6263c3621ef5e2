// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The channels of a cell (cells.hpp), compiled once for each instruction set. Each number is made
// by the same operations in the same order in vectors of any size.

// A guard for each instruction set, as Highway's own files have
#if defined(CORRELATION_CHANNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef CORRELATION_CHANNELS_INL
#undef CORRELATION_CHANNELS_INL
#else
#define CORRELATION_CHANNELS_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "formulas.hpp"

HWY_BEFORE_NAMESPACE ();
namespace inthist::correlation::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Writes the channels of a cell. Its values are directions and luma; `around` are the norms of the
/// four blocks around.
inline void write_channels (const float *cell, const float *around, float fade, float *channels)
{
  constexpr std::size_t kValues = kDirections + kOrientations;
  alignas (64) float values[kChannels] = {};
  for (std::size_t v = 0; v < kDirections; v++)
    values[v] = cell[v];
  for (std::size_t v = 0; v < kOrientations; v++)
    values[kDirections + v] = cell[v] + cell[v + kOrientations];

  const hn::CappedTag<float, kChannels> d;
  const auto most = hn::Set (d, kMostShare), half = hn::Set (d, 0.5F * fade);
  for (std::size_t v = 0; v < kValues; v += hn::Lanes (d)) {
    const auto value = hn::Load (d, values + v);
    const auto share = [&] (int k) {
      return hn::Min (hn::Mul (value, hn::Set (d, around[k])), most);
    };
    const auto sum = hn::Add (hn::Add (hn::Add (share (0), share (1)), share (2)), share (3));
    hn::StoreU (hn::Mul (half, sum), d, channels + v);
  }

  const hn::CappedTag<float, 4> blocks;
  for (std::size_t k = 0; k < 4; k += hn::Lanes (blocks)) {
    const auto norms = hn::LoadU (blocks, around + k);
    auto sum = hn::Zero (blocks);
    for (std::size_t v = 0; v < kDirections; v++)
      sum = hn::Add (
          sum, hn::Min (hn::Mul (hn::Set (blocks, cell[v]), norms), hn::Set (blocks, kMostShare)));
    hn::StoreU (hn::Mul (hn::Set (blocks, kBlockShare * fade), sum), blocks,
                channels + kValues + k);
  }
  channels[kChannels - 1] = cell[kDirections] * fade;
}

}  // namespace inthist::correlation::HWY_NAMESPACE
HWY_AFTER_NAMESPACE ();

#endif
