// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a box looks like, to tell people apart: the histograms of its upper and its lower half, as
// of a shirt and trousers. Of its width only the middle counts, which shows less of the ground.
#pragma once

#include <span>
#include <vector>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/track/base/target_box.hpp>

namespace integralhist {

/// Shares of the bins of both halves; empty where nothing is known.
using Appearance = std::vector<float>;

/// Asks a tensor, once for all boxes.
Expected<std::vector<Appearance>> appearances_of (GstIntegralHistogram *histogram,
                                                  std::span<const TargetBox> boxes);

/// Returns how alike two are, 0 to 1: the mean Bhattacharyya coefficient of both halves. Nothing
/// where one is unknown, or has other bins.
double likeness (const Appearance &a, const Appearance &b);

}  // namespace integralhist
