// SPDX-License-Identifier: LGPL-2.1-or-later
#include "appearance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/track/base/target_frame.hpp>

namespace integralhist {

static constexpr int kStripes = 6;
static constexpr double kMiddle = 0.6;  // of the width

/// Returns the rectangle of one of a box's six stripes (appearance.hpp), inside the tensor.
static GstVideoRectangle stripe_of (const TargetBox &box, int stripe, int width, int height)
{
  const double left = box.x + box.width * (1 - kMiddle) / 2,
               top = box.y + box.height * stripe / kStripes,
               bottom = box.y + box.height * (stripe + 1) / kStripes;
  const int x = std::clamp (round_to_pixel (left), 0, width - 1),
            y = std::clamp (round_to_pixel (top), 0, height - 1);
  return { x, y, std::clamp (round_to_pixel (left + box.width * kMiddle), x + 1, width) - x,
           std::clamp (round_to_pixel (bottom), y + 1, height) - y };
}

Expected<std::vector<Appearance>> appearances_of (GstIntegralHistogram *histogram,
                                                  std::span<const TargetBox> boxes)
{
  std::vector<Appearance> appearances (boxes.size ());
  if (boxes.empty ())
    return appearances;
  const std::size_t bins = gst_integral_histogram_get_bins (histogram);
  const int width = int (gst_integral_histogram_get_width (histogram)),
            height = int (gst_integral_histogram_get_height (histogram));
  std::vector<GstVideoRectangle> stripes;
  for (const TargetBox &box : boxes)
    for (int stripe = 0; stripe < kStripes; stripe++)
      stripes.push_back (stripe_of (box, stripe, width, height));
  const std::vector<guint64> counts = TRY (sums_of (histogram, stripes));
  for (std::size_t i = 0; i < stripes.size (); i++) {
    const auto stripe_counts = std::span (counts).subspan (i * bins, bins);
    const double pixels = double (std::reduce (stripe_counts.begin (), stripe_counts.end ()));
    appearances[i / kStripes].reserve (kStripes * bins);
    for (const guint64 count : stripe_counts)
      appearances[i / kStripes].push_back (count > 0 ? float (std::sqrt (double (count) / pixels))
                                                     : 0);
  }
  return appearances;
}

void MeanAppearance::add (const Appearance &appearance)
{
  if (mean_.size () != appearance.size ()) {
    mean_.assign (appearance.size (), 0);
    n_ = 0;
  }
  n_ = std::min (n_ + 1, memory_);
  for (std::size_t i = 0; i < mean_.size (); i++)
    mean_[i] += (appearance[i] - mean_[i]) / float (n_);
}

/// Returns the dot product of two appearances. The rounding does not depend on the CPU's vectors.
static float product (const Appearance &a, const Appearance &b)
{
  constexpr std::size_t kLanes = 16;
  std::array<float, kLanes> sums{};
  std::size_t i = 0;
  for (; i + kLanes <= a.size (); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; lane++)
      sums[lane] += a[i + lane] * b[i + lane];
  for (; i < a.size (); i++)
    sums[0] += a[i] * b[i];
  return std::accumulate (sums.begin (), sums.end (), 0.0F);
}

Appearance subtract_common (const Appearance &appearance, const Appearance &common, double share)
{
  if (appearance.size () != common.size ())
    return {};
  Appearance own (appearance.size ());
  for (std::size_t i = 0; i < own.size (); i++)
    own[i] = appearance[i] - float (share) * common[i];
  const float length = std::sqrt (product (own, own));
  for (float &value : own)
    value = length > 0 ? value / length : 0;
  return own;
}

double likeness (const Appearance &a, const Appearance &b)
{
  return a.size () == b.size () ? product (a, b) : 0;
}

}  // namespace integralhist
