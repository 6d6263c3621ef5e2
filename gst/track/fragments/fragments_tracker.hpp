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
// Beyond the paper, a target is lost after lost_after bad frames in a row (frame_quality.hpp). The
// box then returns to where it was before those frames. The search area around it grows by the
// search range each frame, until a cost is nearer to the usual cost than to the cost at the loss.
// Patches without a pixel that counts, such as gray ones for hue, have no vote; a target with only
// such patches is lost from the start. Two things are optional: a search for another scale, and
// updates of the models, of patches that agree in a good frame.
#pragma once

#include <deque>
#include <optional>
#include <span>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/base/error.hpp>
#include <gst/track/base/target.hpp>

#include "fragments_settings.hpp"
#include "patch_models.hpp"

namespace integralhist {

class FragmentsTarget final : public Target {
public:
  /// Makes a target from a box that overlaps the frame. The first search rounds and clips the box.
  explicit FragmentsTarget (const TargetBox &box) : box_ (box) {}

  /// Starts the target again from this box. The costs of the last good frames stay.
  void restart (const TargetBox &box) override;
  void resize (double x_factor, double y_factor) override;

  const TargetBox &box () const override { return box_; }
  bool is_lost () const override { return lost_; }
  bool is_empty () const override { return is_started_ && patches_.empty (); }
  /// Returns how much the best position stood out from the others, 0 to 1; 0 if the target is lost.
  double confidence () const override { return confidence_; }

private:
  friend class FragmentsSearch;

  TargetBox box_;
  PatchModels patches_;
  bool is_started_ = false;  // the box lies inside the tensor, and models are learned
  HistogramSpec spec_;       // the meaning of the models' bins
  GstIntegralHistogramMeasure measure_ = {};
  double quantile_ = 0;            // of the costs
  std::deque<double> good_costs_;  // of the last good frames
  unsigned n_bad_frames_ = 0;      // in a row
  bool lost_ = false;
  TargetBox box_before_bad_;  // box before the bad frames
  /// The usual cost, and the cost of the best position, when the target was lost.
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
                               unsigned lost_after, SoughtTargets<FragmentsTarget> targets);

}  // namespace integralhist
