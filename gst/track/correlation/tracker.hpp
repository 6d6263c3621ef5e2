// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Follows a target by a correlation filter on cells of gradients (kernels/correlation/filter.hpp),
// by its colours (colour.hpp), and by a filter of its size (scale.hpp). All three ask integral
// histograms, as much of a large target as of a small one.
//
// In each frame the filter and the colours have a response for each shift by a cell; the target is
// where their sum is largest. The better the filter's response there, beside the usual one, the
// more is learned; nothing is while the target may be hidden, since a filter learns what hides it.
// A target of which there is little confidence (confidence.hpp) for some frames is lost. It is
// looked for where it was, and at the places of the whole frame that have its colours.
//
// The tracker decides. What was learned is a model, in the host's memory or in a GPU's.
#pragma once

#include <memory>

#include <gst/track/base/target.hpp>

#include "confidence.hpp"
#include "device_models.hpp"
#include "disappearance.hpp"
#include "host_model.hpp"
#include "model.hpp"

namespace integralhist {

/// A frame is a step of some stages: the request () of each is answered by the model, and go_on ()
/// takes the answer, until there is none. finish () does that for many targets at once.
class CorrelationTracker {
public:
  /// Takes the middle and the size of the target's box. start () learns the target.
  CorrelationTracker (double x, double y, double width, double height)
      : place_{ x, y, width, height }, host_ (std::make_unique<HostModel> ())
  {
  }

  // What begins a step.
  /// Learns what is in the box.
  Expected<> start (const FrameTensors &frame);
  /// Looks for the target in the next frame. It is lost after so many frames in a row of little
  /// confidence; 0 for never.
  Expected<> follow (const FrameTensors &frame, unsigned lost_after,
                     const ExpectedMotion &motion = {});
  /// Goes on from the box that has this middle and size in the next frame. It learns the target
  /// anew there, and keeps half of what it knew: the box may show what hides the target.
  Expected<> correct (const FrameTensors &frame, double x, double y, double width, double height);

  /// Returns what to ask of the model; null if the step is done.
  ModelRequest *request () { return request_.stage == Stage::done ? nullptr : &request_; }
  void go_on (const FrameTensors &frame);

  /// Return the model. Exactly one of both is not null.
  HostModel *host_model () { return host_.get (); }
  DeviceModel *device_model () { return device_.get (); }
  /// Returns whether something was learned.
  bool has_started () const { return has_started_; }

  /// Ends the step, and goes on without a GPU that has failed: from the model there, if that can
  /// still be read. If not, or if it was to start, the tracker has not started.
  void give_up_device ();

  /// Returns what of the frame follow () will ask for; the colours of a lost target everywhere.
  inthist::Region region (const FrameTensors &frame, const ExpectedMotion &motion) const;
  /// Goes on in frames of another size.
  void resize (double x_factor, double y_factor);

  double x () const { return place_.x; }  // the middle
  double y () const { return place_.y; }
  double width () const { return place_.width * scale_; }
  double height () const { return place_.height * scale_; }
  bool is_lost () const { return lost_; }
  /// Returns how likely the place is right (confidence.hpp); 1 in the first frame, 0 when lost.
  double confidence () const { return lost_ ? 0 : age_ == 0 ? 1 : match_confidence (evidence_); }
  const Evidence &evidence () const { return evidence_; }

private:
  /// A match, and the middle of the square that was searched.
  struct Found {
    Match match;
    Spot middle;
  };

  Expected<> enter (const std::shared_ptr<DeviceModels> &models);
  Expected<> leave_device ();
  Place place () const { return { x (), y (), width (), height () }; }
  ModelRequest &enter_stage (Stage next);
  bool matches_colours (const Match &match) const;
  double assess_match (const Match &match);
  void on_search_results (const FrameTensors &frame);
  void on_candidate_results (const FrameTensors &frame);
  void apply_match (const FrameTensors &frame, const Found &found);
  void request_learning (const Found &found);
  void end_step ();
  void on_size (double factor);

  Place place_;       // its size is that of the first box
  double scale_ = 1;  // of that
  unsigned age_ = 0;  // frames since the first
  bool has_started_ = false;
  std::unique_ptr<HostModel> host_;
  std::unique_ptr<DeviceModel> device_;
  std::shared_ptr<DeviceModels> models_;  // of the device's model
  double shape_ = 0;  // of the box whose cells the sizes have, its width by its height
  double usual_peak_ = 0, usual_score_ = 0;
  Evidence evidence_;
  unsigned unsure_ = 0;  // frames in a row
  Disappearance disappearance_;
  bool lost_ = false;

  // of the step
  ModelRequest request_;
  Found lost_at_ = {};  // the best of the places around where it was lost
  unsigned lost_after_ = 0;
  double rate_ = 0;  // of learning
};

/// Has the steps of some targets done, whose models are asked together.
Expected<> finish (const FrameTensors &frame, std::span<CorrelationTracker *const> trackers);

}  // namespace integralhist
