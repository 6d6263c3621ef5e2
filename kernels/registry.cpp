// SPDX-License-Identifier: LGPL-2.1-or-later
#include "registry.hpp"

#include <algorithm>
#include <vector>

namespace inthist {

#if INTHIST_CUDA
extern const Strategy kStrip, kByteTiles, kLookBack;
#if INTHIST_PUBLISHED
void add_other_types_to_look_back (Strategy &look_back);  // published/cuda/look_back.cu
#endif
#endif
extern const Strategy kRows, kByteRows;

namespace {

/// The project's own strategies, for each device in the order of preference.
constexpr const Strategy *kOurs[] = {
#if INTHIST_CUDA
  &kStrip, &kByteTiles, &kLookBack,
#endif
  &kRows,  &kByteRows,
};

std::vector<Strategy> all ()
{
  std::vector<Strategy> table;
  for (const Device device : { Device::cuda, Device::cpu })
    for (const auto rows : { std::span<const Strategy *const> (kOurs), published_strategies () })
      for (const Strategy *const row : rows)
        if (row->device == device)
          table.push_back (*row);
#if INTHIST_CUDA && INTHIST_PUBLISHED
  add_other_types_to_look_back (
      *std::ranges::find (table, std::string_view (kLookBack.name), &Strategy::name));
#endif
  return table;
}

}  // namespace

std::span<const Strategy> strategies ()
{
  // the table of strategies is never freed, because threads may compute while the process ends
  static const auto *const table = new std::vector<Strategy> (all ());
  return *table;
}

const Strategy *find_strategy (std::string_view name)
{
  const auto table = strategies ();
  const auto row = std::ranges::find (table, name, &Strategy::name);
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
