// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_values.hpp"

#include <vector>

#include <kernels/window.hpp>

namespace integralhist {

Expected<bool> count_windows (DeviceValues &values, const inthist::Shape &shape,
                              const inthist::Lut &lut, const Query &query)
{
  constexpr int kMostWindows = 20000;
  constexpr double kMostFrames = 64;  // whose pixels are counted
  if (query.question != inthist::Question::counts || !query.answers || !query.windows.list
      || query.windows.n > kMostWindows || shape.content != inthist::Content::bins)
    return false;
  std::vector<inthist::Region> windows;
  double pixels = 0;
  for (int i = 0; i < query.windows.n; i++) {
    windows.push_back (window_of (query.windows, i, shape));
    pixels += double (windows.back ().width) * windows.back ().height;
  }
  if (pixels > kMostFrames * shape.width * shape.height)
    return false;
  TRY (values.count (windows, lut, static_cast<guint32 *> (query.answers)));
  return true;
}

}  // namespace integralhist
