// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_feature_image.hpp"

#include <vector>

#include <kernels/window.hpp>

namespace integralhist {

Expected<bool> count_windows (DeviceFeatureImage &feature_image, const Shape &shape,
                              const Query &query)
{
  constexpr int kMaxWindows = 20000;
  constexpr double kMaxFrames = 64;  // all windows have at most the pixels of 64 frames
  if (query.kind != QueryKind::counts || !query.answers || !query.windows.list
      || query.windows.n > kMaxWindows || shape.content != Content::bins)
    return false;
  std::vector<Region> windows;
  double pixels = 0;
  for (int i = 0; i < query.windows.n; i++) {
    windows.push_back (window_of (query.windows, i, shape));
    pixels += double (pixels_of (windows.back ()));
  }
  if (pixels > kMaxFrames * shape.width * shape.height)
    return false;
  TRY (feature_image.count (windows, static_cast<guint32 *> (query.answers)));
  return true;
}

}  // namespace integralhist
