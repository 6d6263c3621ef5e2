// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Follows a target by a correlation filter on cells of gradients (kernels/correlation), by the
// target's colours (colour.hpp), and by a filter of its size (size_filter.hpp). All three query
// integral histograms, with the same effort for a large target as for a small one.
//
// In each frame the filter and the colours give a response for each shift by a cell; the target is
// at the shift with the largest sum. The better the filter's response there, compared with the
// usual one, the more is learned. Nothing is learned while the target may be hidden, because the
// filter would learn the object in front. A target with little evidence (confidence.hpp) for some
// frames is lost. The tracker looks for a lost target where it was, and at the places of the whole
// frame that have its colours.
//
// The tracker only decides. The learned state is in a model (model_request.hpp), in the host's
// memory or in a GPU's.
#pragma once

#include <memory>

#include <gst/track/base/target.hpp>

#include "confidence.hpp"
#include "device_model_pool.hpp"
#include "disappearance.hpp"
#include "host_model.hpp"
#include "model_request.hpp"

namespace integralhist {

/// Tracks one target. The work on a frame has several stages: the model answers the request () of a
/// stage, and read_answer () reads the answer. run_stages () runs the stages of many targets at
/// once.
class SingleTargetTracker {
public:
  /// Makes a tracker for a target with this box. start () learns what the target looks like.
  explicit SingleTargetTracker (const CentreBox &box)
      : box_ (box), host_ (std::make_unique<HostModel> ())
  {
  }

  /// Begins the work on a frame by learning the target from the contents of a box. If the tracker
  /// has learned the target before, half of this stays: the box may show an object in front of the
  /// target.
  Expected<> start (const FrameTensors &frame, const CentreBox &box);
  /// Begins the work on a frame by looking for the target. The target is lost after `lost_after`
  /// frames in a row with little evidence; 0 for never.
  Expected<> begin_search (const FrameTensors &frame, unsigned lost_after,
                           const ExpectedMotion &motion = {});

  /// Returns the present stage's request to the target's model; null if the work is done.
  ModelRequest *request () { return request_.stage == Stage::done ? nullptr : &request_; }
  void read_answer (const FrameTensors &frame);

  /// Return the target's model, which is either on the host or on a GPU; the other one is null.
  HostModel *host_model () { return host_.get (); }
  DeviceModel *device_model () { return device_.get (); }
  bool has_started () const { return has_started_; }

  /// Ends the work on a frame after the GPU has failed, and reads the model back to the host. If
  /// that fails, or if the tracker was about to start, has_started () is false afterwards.
  void give_up_device ();

  /// Returns the region around the target that begin_search () will read. For a lost target,
  /// begin_search () also reads the colours of the rest of the frame.
  inthist::Region region (const FrameTensors &frame, const ExpectedMotion &motion) const
  {
    return region (frame, box (), motion);
  }
  static inthist::Region region (const FrameTensors &frame, const CentreBox &now,
                                 const ExpectedMotion &motion);
  void resize (double x_factor, double y_factor);

  double x () const { return box_.x; }  // the middle
  double y () const { return box_.y; }
  double width () const { return box_.width * relative_size_; }
  double height () const { return box_.height * relative_size_; }
  bool is_lost () const { return is_lost_; }
  /// Returns the probability that the target is visible, by the last frame alone; 0 if it is lost.
  double visibility () const
  {
    return is_lost_ ? 0 : age_ == 0 ? 1 : probability_of (visible_log_odds (evidence_));
  }
  /// Returns the probability that the target's place is right (confidence.hpp); 0 if it is lost.
  double confidence () const
  {
    return is_lost_ ? 0 : age_ == 0 ? 1 : match_confidence (evidence_, record_);
  }
  const Evidence &evidence () const { return evidence_; }
  const TrackRecord &record () const { return record_; }

private:
  struct FoundMatch {
    Match match;
    Centre middle;
  };

  Expected<> move_model_to (const std::shared_ptr<DeviceModelPool> &models);
  Expected<> move_model_to_host ();
  CentreBox box () const { return { x (), y (), width (), height () }; }
  ModelRequest &enter_stage (Stage next);
  bool matches_colours (const Match &match) const;
  double assess_match (const FrameTensors &frame, const Match &match);
  void note_evidence (const FrameTensors &frame, const Match &match);
  void on_search_results (const FrameTensors &frame);
  void on_candidate_results (const FrameTensors &frame);
  void apply_match (const FrameTensors &frame, const FoundMatch &found);
  void request_learning (const FoundMatch &found);
  void end_frame ();
  void on_size (double factor);

  CentreBox box_;             // with the first box's size
  double relative_size_ = 1;  // of the size in box_
  unsigned age_ = 0;          // frames since the first
  bool has_started_ = false;
  std::unique_ptr<HostModel> host_;
  std::unique_ptr<DeviceModel> device_;
  std::shared_ptr<DeviceModelPool> models_;  // of the device's model
  double aspect_ratio_ = 0;                  // width / height of the box divided into cells
  double usual_peak_ = 0, usual_score_ = 0;
  Evidence evidence_;
  TrackRecord record_;
  unsigned n_unsure_frames_ = 0;  // frames in a row
  Disappearance disappearance_;
  bool is_lost_ = false;

  // of the frame
  ModelRequest request_;
  FoundMatch match_near_last_box_ = {};  // best match around a lost target's last place
  unsigned lost_after_ = 0;
  double rate_ = 0;  // of learning
};

/// Runs a frame of many trackers, stage by stage, to its end. Their models answer requests
/// together.
Expected<> run_stages (const FrameTensors &frame, std::span<SingleTargetTracker *const> trackers);

}  // namespace integralhist
