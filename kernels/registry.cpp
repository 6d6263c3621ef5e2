// SPDX-License-Identifier: LGPL-2.1-or-later
#include "inthist.hpp"

#include <algorithm>

namespace inthist {

#if INTHIST_CUDA
extern const Strategy kStrip;
extern const Strategy kWfTis;
extern const Strategy kCwTis;
extern const Strategy kCwSts;
extern const Strategy kCwB;
extern const Strategy kBlocked;
extern const Strategy kBrltScanRow;
extern const Strategy kScanRowBrlt;
extern const Strategy kScanRowScanColumn;
extern const Strategy kScanTransposeScan;
extern const Strategy kMultiPixelScan;
#endif
extern const Strategy kRows;
extern const Strategy kWavefront;
extern const Strategy kCrossWeave;
extern const Strategy kSerial;

std::span<const Strategy>
strategies ()
{
  static const Strategy table[] = {
#if INTHIST_CUDA
    kStrip,
    kWfTis,
    kCwTis,
    kCwSts,
    kCwB,
    kBlocked,
    kBrltScanRow,
    kScanRowBrlt,
    kScanRowScanColumn,
    kScanTransposeScan,
    kMultiPixelScan,
#endif
    kRows,
    kWavefront,
    kCrossWeave,
    kSerial,
  };
  return table;
}

const Strategy *
find_strategy (std::string_view name)
{
  const auto table = strategies ();
  const auto row = std::ranges::find (table, name, [] (const Strategy &s) { return std::string_view (s.name); });
  return row == table.end () ? nullptr : &*row;
}

const Strategy *
fastest_strategy (Device device)
{
  const auto table = strategies ();
  const auto row = std::ranges::find (table, device, &Strategy::device);
  return row == table.end () ? nullptr : &*row;
}

Layout
layout_of (const Shape &shape)
{
  const std::size_t row = (shape.width * bytes_of (shape.counter) + 63) / 64 * 64;
  return { row, row * shape.height };
}

Lut
uniform_lut (int bins)
{
  Lut lut;
  for (int value = 0; value < 256; value++)
    lut[value] = std::uint8_t (value * bins / 256);
  return lut;
}

Region
clip (const Region &region, int width, int height)
{
  const std::int64_t x0 = std::max (region.x, 0), x1 = std::min<std::int64_t> (std::int64_t (region.x) + region.width, width);
  const std::int64_t y0 = std::max (region.y, 0), y1 = std::min<std::int64_t> (std::int64_t (region.y) + region.height, height);
  if (x0 >= x1 || y0 >= y1)
    return {};
  return { int (x0), int (y0), int (x1 - x0), int (y1 - y0) };
}

}  // namespace inthist
