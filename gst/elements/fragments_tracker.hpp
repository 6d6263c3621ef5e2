// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The fragments tracker (Adam, Rivlin and Shimshoni, "Robust fragments-based tracking using the
// integral histogram", CVPR 2006).
//
// A target is a box, cut into patches: strips, ten along each side and each of half the other. Each
// patch has a model, its histogram in the first frame. In the next frame every position of the box
// nearby is a window: each patch is compared with its model there, and the patches' distances are
// combined by a quantile, so that those that are hidden have no vote. The position with the least
// combined distance, its cost, is where the target is. All of that is one question to the tensor,
// wherever it lies.
//
// What the paper does not have. A cost says little by itself; what tells that a target is lost is
// that no position stands out from the others. Let V be the best cost, p its share of the median
// cost of the positions, and m the median of the last costs that were fine. A frame is bad where p
// > 1 - min_confidence, or V > 1.8 m and p > 0.9; where there are few positions to compare with, or
// all cost the same, V > 1.8 m decides. After lost_after bad frames in a row the target is lost:
// its box goes back to where it was before them, and from there it is searched for in an area that
// grows by the search range with each frame, until a cost is found that is nearer to m than to the
// cost at which it was lost. Optional are the update of models, of patches that agree and never
// while a frame is suspicious, and the search for another scale.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include <gst/integralhist/error.hpp>
#include <gst/integralhist/gstintegralhist.h>

namespace integralhist {

struct TrackOptions {
  GstIntegralHistogramMeasure measure = GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA;
  double quantile = 0.35;     // of the patches' distances, 0 being the least
  unsigned search_range = 7;  // pixels each way
  unsigned strips = 10;       // of patches along each side
  double update_rate = 0;     // share of the new histogram in a model, a frame
  bool scale_search = false;
  unsigned lost_after = 5;  // bad frames; 0 for never
  double min_confidence = 0.06;
  bool operator== (const TrackOptions &) const = default;
};

/// In pixels of the tensor; the corner is whole.
struct TargetBox {
  double x = 0, y = 0, width = 0, height = 0;
};

class Target {
public:
  const guint id;
  const gint parent;  // id of what it was started from, or -1

  /// The box must have a part inside the frame; that part is tracked.
  Target (guint id, gint parent, const TargetBox &box) : id (id), parent (parent), box_ (box) {}

  /// In the next tensor, from this box.
  void restart (const TargetBox &box);

  const TargetBox &box () const { return box_; }
  bool is_lost () const { return lost_; }
  /// 0 to 1: how much the best position stood out, 1 - p. 0 when lost.
  double confidence () const { return confidence_; }

private:
  friend class Step;

  /// Relative to the box's corner.
  struct Patch {
    double x0, y0, x1, y1;
  };

  TargetBox box_;
  std::vector<Patch> patches_;
  std::vector<float> models_;   // a patch after another
  int width_ = 0, height_ = 0;  // of the tensors that box and patches are in
  unsigned bins_ = 0;           // 0 before there are models
  GstIntegralHistogramMeasure measure_ = {};
  double quantile_ = 0;      // with which the costs are
  std::deque<double> fine_;  // the last costs that were
  unsigned bad_ = 0;         // frames in a row
  bool lost_ = false;
  TargetBox before_;  // the bad frames
  double usual_ = 0, lost_cost_ = 0;
  int radius_ = 0;  // of the search for a lost one
  double confidence_ = 1;
};

/// The targets in the next frame's tensor: new ones start there, the others are looked for.
Expected<> follow (GstIntegralHistogram *histogram, const TrackOptions &settings,
                   std::span<Target *const> targets);

}  // namespace integralhist
