// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The patches of a target's box, and the model of each patch: its histogram in the first frame.
#pragma once

#include <cmath>
#include <vector>

#include <kernels/likeness.hpp>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/track/base/target_box.hpp>

namespace integralhist {

/// Rounds to a whole pixel, and a half to the even one, so that halves pull boxes to neither side.
inline int round_half_to_even (double at)
{
  return int (std::lrint (at));
}

class PatchModels {
public:
  /// Cuts a box into patches, `strips` along each side, and learns their models. Leaves out patches
  /// without a pixel in any bin, which cannot vote.
  static Expected<PatchModels> learn (GstIntegralHistogram *histogram, const TargetBox &box,
                                      unsigned strips);

  bool empty () const { return patches_.empty (); }
  unsigned bins () const { return bins_; }
  /// Returns the models, [patch][bin].
  const float *models () const { return models_.data (); }
  /// Returns the patches, enlarged by `scale`, of a box with the corner (x, y).
  std::vector<GstVideoRectangle> rectangles (double scale = 1, int x = 0, int y = 0) const;
  void resize (double x_factor, double y_factor);
  /// Moves models by `rate` towards the histograms in a box; only those of patches that agree:
  /// their distance is at most `cost`, the cost of the box.
  Expected<> update (GstIntegralHistogram *histogram, const TargetBox &box,
                     inthist::Measure measure, double rate, double cost);

private:
  /// The edges of a patch, relative to the corner of the target's box.
  struct Patch {
    double x0, y0, x1, y1;
  };

  void tile (int width, int height, int patch_width, int patch_height);
  Expected<std::vector<float>> histograms (GstIntegralHistogram *histogram,
                                           const TargetBox &box) const;

  std::vector<Patch> patches_;
  std::vector<float> models_;
  unsigned bins_ = 0;
};

}  // namespace integralhist
