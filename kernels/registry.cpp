// SPDX-License-Identifier: LGPL-2.1-or-later
#include "registry.hpp"

#include <algorithm>

namespace inthist {

// One line a strategy, for each device in the order of preference (see strategies ()).
#if INTHIST_CUDA
#define CUDA_STRATEGIES(ROW) \
  ROW (kStrip) \
  ROW (kByteTiles) \
  ROW (kLookBack) \
  ROW (kScanRowScanColumn)
#else
#define CUDA_STRATEGIES(ROW)
#endif
#if INTHIST_CUDA && INTHIST_PUBLISHED
#define PUBLISHED_STRATEGIES(ROW) \
  ROW (kBrltScanRow) \
  ROW (kScanRowBrlt) \
  ROW (kBlocked) \
  ROW (kWfTis) \
  ROW (kCwTis) \
  ROW (kCwSts) \
  ROW (kMultiPixelScan) \
  ROW (kScanTransposeScan) \
  ROW (kCwB)
#else
#define PUBLISHED_STRATEGIES(ROW)
#endif
#define CPU_STRATEGIES(ROW) \
  ROW (kRows) \
  ROW (kByteRows) \
  ROW (kWavefront) \
  ROW (kCrossWeave) \
  ROW (kSerial)
#define STRATEGIES(ROW) CUDA_STRATEGIES (ROW) PUBLISHED_STRATEGIES (ROW) CPU_STRATEGIES (ROW)
#define DECLARE(row) extern const Strategy row;
#define ENTRY(row) row,

STRATEGIES (DECLARE)

std::span<const Strategy> strategies ()
{
  static const Strategy table[] = { STRATEGIES (ENTRY) };
  return table;
}

const Strategy *find_strategy (std::string_view name)
{
  const auto table = strategies ();
  const auto row =
      std::ranges::find (table, name, [] (const Strategy &s) { return std::string_view (s.name); });
  return row == table.end () ? nullptr : &*row;
}

const Strategy *preferred_strategy (Device device, const Shape &shape)
{
  const auto table = strategies ();
  const auto row = std::ranges::find_if (
      table, [&] (const Strategy &s) { return s.device == device && accepts (s, shape); });
  return row == table.end () ? nullptr : &*row;
}

}  // namespace inthist
