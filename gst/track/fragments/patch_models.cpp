// SPDX-License-Identifier: LGPL-2.1-or-later
#include "patch_models.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include <gst/integralhist/api/histogram.hpp>

#include "frame_quality.hpp"

namespace integralhist {

static bool is_empty (std::span<const float> shares)
{
  return std::ranges::all_of (shares, [] (float share) { return share == 0; });
}

/// Returns the cost of a patch: the distance of its histogram from its model.
static double distance (inthist::Measure measure, std::span<const float> now,
                        std::span<const float> model)
{
  std::vector<float> prepared (model.begin (), model.end ());
  inthist::prepare (measure, prepared);
  return inthist::with_measure (measure, [&] (auto known) {
    inthist::MeasureSum<known.value> sum (1, 0);
    for (std::size_t b = 0; b < now.size (); b++)
      sum.add_share (int (b), now[b], prepared[b]);
    return double (is_similarity (known.value) ? 1 - sum.value () : sum.value ());
  });
}

Expected<PatchModels> PatchModels::learn (GstIntegralHistogram *histogram, const TargetBox &box,
                                          unsigned strips)
{
  const int width = std::max (1, round_half_to_even (box.width)),
            height = std::max (1, round_half_to_even (box.height));
  const auto thin = [&] (int side) {
    return 2 * std::max (1, round_half_to_even (double (side) / (2 * strips)));
  };
  const auto half = [] (int side) { return 2 * std::max (1, side / 4); };
  PatchModels all;
  all.bins_ = gst_integral_histogram_get_bins (histogram);
  all.tile (width, height, half (width), thin (height));
  all.tile (width, height, thin (width), half (height));
  const std::vector<float> models = TRY (all.histograms (histogram, box));
  std::vector<Patch> kept;
  for (std::size_t i = 0; i < all.patches_.size (); i++)
    if (const auto model = std::span (models).subspan (i * all.bins_, all.bins_);
        !is_empty (model)) {
      kept.push_back (all.patches_[i]);
      all.models_.insert (all.models_.end (), model.begin (), model.end ());
    }
  all.patches_ = std::move (kept);
  return all;
}

/// Adds as many whole patches of one size as fit into a box, centred.
void PatchModels::tile (int width, int height, int patch_width, int patch_height)
{
  const int columns = std::max (1, width / patch_width), rows = std::max (1, height / patch_height);
  const int w = std::min (width, patch_width), h = std::min (height, patch_height);
  const int x = (width - columns * w) / 2, y = (height - rows * h) / 2;
  for (int j = 0; j < rows; j++)
    for (int i = 0; i < columns; i++)
      patches_.push_back ({ double (x + i * w), double (y + j * h), double (x + (i + 1) * w),
                            double (y + (j + 1) * h) });
}

std::vector<GstVideoRectangle> PatchModels::rectangles (double scale, int x, int y) const
{
  std::vector<GstVideoRectangle> rectangles;
  for (const Patch &patch : patches_) {
    const int x0 = round_half_to_even (patch.x0 * scale),
              x1 = std::max (x0 + 1, round_half_to_even (patch.x1 * scale));
    const int y0 = round_half_to_even (patch.y0 * scale),
              y1 = std::max (y0 + 1, round_half_to_even (patch.y1 * scale));
    rectangles.push_back ({ x + x0, y + y0, x1 - x0, y1 - y0 });
  }
  return rectangles;
}

/// Returns the normalised histograms of the patches in a box, [patch][bin]; all 0 for a patch
/// without a pixel in any bin.
Expected<std::vector<float>> PatchModels::histograms (GstIntegralHistogram *histogram,
                                                      const TargetBox &box) const
{
  const std::vector<guint64> counts = TRY (
      sums_of (histogram, rectangles (1, round_half_to_even (box.x), round_half_to_even (box.y))));
  std::vector<float> shares (counts.size ());
  for (std::size_t first = 0; first < counts.size (); first += bins_) {
    const auto patch = std::span (counts).subspan (first, bins_);
    const auto pixels = double (std::reduce (patch.begin (), patch.end ()));
    for (unsigned b = 0; b < bins_; b++)
      shares[first + b] = pixels > 0 ? float (double (patch[b]) / pixels) : 0;
  }
  return shares;
}

void PatchModels::resize (double x_factor, double y_factor)
{
  for (Patch &patch : patches_)
    patch = { patch.x0 * x_factor, patch.y0 * y_factor, patch.x1 * x_factor, patch.y1 * y_factor };
}

Expected<> PatchModels::update (GstIntegralHistogram *histogram, const TargetBox &box,
                                inthist::Measure measure, double rate, double cost)
{
  const std::vector<float> all = TRY (histograms (histogram, box));
  for (std::size_t first = 0; first < all.size (); first += bins_) {
    const auto now = std::span (all).subspan (first, bins_);
    const auto model = std::span (models_).subspan (first, bins_);
    if (!is_empty (now) && distance (measure, now, model) <= cost + kCostTolerance)
      for (unsigned b = 0; b < bins_; b++)
        model[b] += float (rate) * (now[b] - model[b]);
  }
  return {};
}

}  // namespace integralhist
