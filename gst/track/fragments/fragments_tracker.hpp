// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The fragments tracker (Adam, Rivlin and Shimshoni, "Robust fragments-based tracking using the
// integral histogram", CVPR 2006).
//
// A target is a box, cut into patches: ten strips along each side, each half as long as the other
// side. Each patch has a model, its histogram in the first frame. In the next frame every nearby
// position of the box is a window, and each patch there is compared with its model. A quantile of
// the patches' distances is the position's cost, so that hidden patches have no vote. The target is
// at the position of least cost. One query to the tensor answers all of that.
//
// Beyond the paper, a target is lost if no position stands out; a cost alone does not show that.
// Let V be the least cost, p its share of the median cost of the positions, and m the median cost
// of the last good frames. A frame is bad if p > 1 - min_confidence, or if V > 1.8 m and p > 0.9.
// With few positions to compare, or equal costs, V > 1.8 m decides. After lost_after bad frames in
// a row the target is lost: its box returns to its place before those frames. The search area
// around it then grows by the search range each frame, until a cost is nearer to m than to the cost
// at the loss. Patches without a pixel that counts, such as gray ones for hue, have no vote; a
// target with only such patches is lost from the start. A search for another scale is optional, and
// so are updates of the models: only of patches that agree, and never in a suspicious frame.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/track/base/target.hpp>

#include "fragments_settings.hpp"

namespace integralhist {

/// The costs of a target's positions in a frame: the least one (V), at the best scale, and the
/// median of all positions at the box's present scale.
struct FrameCosts {
  double least;
  double median;
  std::size_t positions;
};

/// How good a frame is for a target. On uniform ground, where costs are equal, a target stays.
struct FrameQuality {
  double share;  // p, of the median cost
  bool moves;
  enum class Grade { good, suspicious, bad } grade;
};

/// Judges a frame as described at the top of this file; it is suspicious if V > 1.3 m and p > 0.8.
/// `usual` is m; without it, all frames are good. If `lost_after` is 0, no frame is bad.
FrameQuality assess_frame (const FrameCosts &costs, std::optional<double> usual,
                           const FragmentsSettings &settings, unsigned lost_after);

class FragmentsTarget final : public Target {
public:
  /// Makes a target from a box that overlaps the frame. The first search rounds and clips the box.
  explicit FragmentsTarget (const TargetBox &box) : box_ (box) {}

  /// Starts the target again from this box. The costs of the last good frames stay.
  void restart (const TargetBox &box) override;
  void resize (double x_factor, double y_factor) override;

  const TargetBox &box () const override { return box_; }
  bool is_lost () const override { return lost_; }
  bool is_empty () const override { return is_started_ && models_.empty (); }
  /// Returns how much the best position stood out from the others, 0 to 1; 0 if the target is lost.
  double confidence () const override { return confidence_; }

private:
  friend class FragmentsSearch;

  /// The edges of a patch, relative to the corner of the target's box.
  struct Patch {
    double x0, y0, x1, y1;
  };

  TargetBox box_;
  std::vector<Patch> patches_;   // without empty ones
  std::vector<float> models_;    // one patch after another
  bool is_box_clipped_ = false;  // the box lies inside the tensor
  bool is_started_ = false;      // models are learned
  unsigned bins_ = 0;            // of the models
  HistogramSpec spec_;           // the meaning of these bins
  GstIntegralHistogramMeasure measure_ = {};
  double quantile_ = 0;            // of the costs
  std::deque<double> good_costs_;  // of the last good frames
  unsigned n_bad_frames_ = 0;      // bad frames in a row
  bool lost_ = false;
  TargetBox box_before_bad_;  // box before the bad frames
  /// The usual cost, and the cost of the best place, when the target was lost.
  struct LossCosts {
    double usual, cost;
  };
  std::optional<LossCosts> loss_costs_ = LossCosts ();  // unknown after a change of the measure
  int radius_ = 0;                                      // pixels around a lost target
  double confidence_ = 1;
};

/// Looks for targets in the tensor of a frame, which must be computed, and starts new ones in it. A
/// target is lost after `lost_after` bad frames in a row; 0 for never.
Expected<> track_by_fragments (GstIntegralHistogram *histogram, const FragmentsSettings &settings,
                               unsigned lost_after, std::span<const Step<FragmentsTarget>> steps);

}  // namespace integralhist
