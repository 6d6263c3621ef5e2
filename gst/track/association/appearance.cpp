// SPDX-License-Identifier: LGPL-2.1-or-later
#include "appearance.hpp"

#include <cmath>

#include <gst/track/base/target_frame.hpp>

namespace integralhist {

static constexpr double kMiddle = 0.6;  // of the width

/// Returns the whole pixels of one half of a box that lie in the tensor, at least one.
static GstVideoRectangle half_of (const TargetBox &box, int half, int width, int height)
{
  const double left = box.x + box.width * (1 - kMiddle) / 2, top = box.y + box.height * half / 2;
  const int x = std::clamp (whole_pixel (left), 0, width - 1),
            y = std::clamp (whole_pixel (top), 0, height - 1);
  return { x, y, std::clamp (whole_pixel (left + box.width * kMiddle), x + 1, width) - x,
           std::clamp (whole_pixel (top + box.height / 2), y + 1, height) - y };
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
  std::vector<GstVideoRectangle> halves;
  for (const TargetBox &box : boxes)
    for (const int half : { 0, 1 })
      halves.push_back (half_of (box, half, width, height));
  std::vector<guint64> counts (halves.size () * bins);
  GError *problem = nullptr;
  if (!gst_integral_histogram_regions_sums (histogram, halves.data (), guint (halves.size ()),
                                            counts.data (), &problem))
    return take_gerror (problem);
  for (std::size_t i = 0; i < halves.size (); i++) {
    const auto its = std::span (counts).subspan (i * bins, bins);
    double all = 0;
    for (const guint64 count : its)
      all += double (count);
    for (const guint64 count : its)
      appearances[i / 2].push_back (all > 0 ? float (double (count) / all) : 0);
  }
  return appearances;
}

double likeness (const Appearance &a, const Appearance &b)
{
  if (a.empty () || a.size () != b.size ())
    return 0;
  double sum = 0;
  for (std::size_t i = 0; i < a.size (); i++)
    sum += std::sqrt (double (a[i]) * b[i]);
  return sum / 2;
}

}  // namespace integralhist
