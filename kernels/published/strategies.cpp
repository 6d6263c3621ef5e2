// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The published algorithms, for each device in the order of preference. Most exist only for
// comparisons. The first CUDA algorithm also supports frames that are too wide for our own
// algorithms, so every build has it.
#include "../registry.hpp"

namespace inthist {

#if INTHIST_CUDA
extern const Strategy kScanRowScanColumn;
#if INTHIST_PUBLISHED
extern const Strategy kBrltScanRow, kScanRowBrlt, kBlocked, kWfTis, kCwTis, kCwSts, kMultiPixelScan,
    kScanTransposeScan, kCwB;
#endif
#endif
extern const Strategy kWavefront, kCrossWeave, kSerial;

std::span<const Strategy *const> published_strategies ()
{
  static constexpr const Strategy *kTable[] = {
#if INTHIST_CUDA
    &kScanRowScanColumn,
#if INTHIST_PUBLISHED
    &kBrltScanRow,
    &kScanRowBrlt,
    &kBlocked,
    &kWfTis,
    &kCwTis,
    &kCwSts,
    &kMultiPixelScan,
    &kScanTransposeScan,
    &kCwB,
#endif
#endif
    &kWavefront,
    &kCrossWeave,
    &kSerial,
  };
  return kTable;
}

}  // namespace inthist
