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
#pragma once

#include <memory>
#include <optional>

#include <kernels/correlation/filter.hpp>

#include <gst/track/base/target.hpp>

#include "cells.hpp"
#include "colour.hpp"
#include "confidence.hpp"
#include "device_filters.hpp"
#include "disappearance.hpp"
#include "frame_queries.hpp"
#include "scale.hpp"

namespace integralhist {

using inthist::correlation::CorrelationFilter;
using inthist::correlation::FilterBox;

/// A frame is a step of some rounds: queries () are asked, and go_on () takes the answers, until
/// there are none. finish () does that for many targets at once.
class CorrelationTracker {
public:
  /// Takes the middle and the size of the target's box. start () learns the target.
  CorrelationTracker (double x, double y, double width, double height)
      : x_ (x), y_ (y), width_ (width), height_ (height)
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

  /// Returns what to ask of the frame; null where the step is done.
  FrameQueries *queries () { return stage_ == Stage::done ? nullptr : &queries_; }
  Expected<> go_on (const FrameTensors &frame);
  /// Returns whether the filter learns in the step, from the last frame. That may be done during
  /// the first round; then comes renew ().
  bool learns () const { return example_ && !uses_device_filter_; }
  void learn () { filter_.learn (example_->spectra, example_->rate); }
  void renew ()
  {
    filter_.renew ();
    example_.reset ();
  }
  /// Returns whether something was learned.
  bool has_started () const { return filter_.has_started (); }

  /// Ends the step, and goes on without a GPU that has failed: from the filter there if that can
  /// still be read, or else from what it was before.
  void give_up_device ();

  /// Returns what of the frame follow () will ask for, unless the target is lost.
  inthist::Region region (const FrameTensors &frame, const ExpectedMotion &motion) const;
  /// Goes on in frames of another size.
  void resize (double x_factor, double y_factor);

  double x () const { return x_; }  // the middle
  double y () const { return y_; }
  double width () const { return width_ * scale_; }
  double height () const { return height_ * scale_; }
  bool is_lost () const { return lost_; }
  /// Returns how likely the place is right (confidence.hpp); 1 in the first frame, 0 when lost.
  double confidence () const { return lost_ ? 0 : age_ == 0 ? 1 : match_confidence (evidence_); }
  const Evidence &evidence () const { return evidence_; }

private:
  enum class Stage { done, start, search, search_elsewhere, learn_place, find_size, learn_size };
  struct Spot {
    double x, y;
  };
  /// What is searched: all shifts of the square with this middle.
  struct Search {
    Spot middle;
    double reach;  // of ExpectedMotion: shifts count less from so many sides on
    ScoreMap scores;
    std::size_t first_score;  // in the answer
  };
  /// The best place of a search.
  struct Match {
    double x, y;
    double peak;                // the filter's response
    double sharpness;           // of its peak
    double score;               // of the colours
    double middle_x, middle_y;  // of what was searched,
    Complexes spectra;          // and its spectra
  };

  Expected<> enter_device (const std::shared_ptr<DeviceFilters> &filters);
  Expected<> leave_device ();
  double side () const;  // of the square that is searched, and learned from
  FilterBox filter_box () const;
  void enter_stage (Stage next);
  void queue_square (const FrameTensors &frame, const CellGrid &square);
  void queue_sizes (const FrameTensors &frame);
  void queue_boxes ();
  Complexes surroundings (const FrameTensors &frame, double x, double y,
                          std::size_t which = 0) const;
  ScaleFilter::Sample sizes (const FrameTensors &frame) const;
  void learn_start (const FrameTensors &frame);
  void queue_search (const FrameTensors &frame, double x, double y, double reach);
  void queue_frame_search (const FrameTensors &frame);
  Match best_of_search (const FrameTensors &frame, std::size_t which) const;
  std::vector<Spot> candidates ();
  bool matches_colours (const Match &match) const;
  double assess_match (const Match &match, unsigned lost_after);
  void on_search_results (const FrameTensors &frame);
  Expected<> on_candidate_results (const FrameTensors &frame);
  void apply_match (const FrameTensors &frame, Match match);
  void queue_learning (const FrameTensors &frame, Match match);
  void learn_place (const FrameTensors &frame);
  void find_size (const FrameTensors &frame);
  void learn_size (const FrameTensors &frame);

  double x_ = 0, y_ = 0, width_ = 0, height_ = 0, scale_ = 1;
  unsigned age_ = 0;  // frames since the first
  CorrelationFilter filter_;
  // What the filter learns from.
  struct Example {
    Complexes spectra;  // none on a GPU
    double rate;
  };
  std::optional<Example> example_;
  // The filter on a GPU, which is newer than the one here while it is used.
  std::shared_ptr<DeviceFilters> device_filters_;
  std::unique_ptr<DeviceFilter> device_filter_;
  bool uses_device_filter_ = false;
  ScaleFilter sizes_;
  double shape_ = 0;  // of the box whose cells the sizes have, its width by its height
  ColourModel colours_;
  double usual_peak_ = 0, usual_score_ = 0;
  Evidence evidence_;
  unsigned unsure_ = 0;  // frames in a row
  Disappearance disappearance_;
  bool lost_ = false;

  // of the step
  Stage stage_ = Stage::done;
  FrameQueries queries_;
  std::vector<Search> searches_;
  struct {
    ScoreMap scores;
    std::vector<double> x, y;  // of places
  } everywhere_;               // of a lost target
  Match match_ = {};           // where it was lost
  unsigned lost_after_ = 0;
  double rate_ = 0;    // of learning,
  Complexes spectra_;  // from these; none where they are asked for
};

/// Has the steps of some targets done, whose queries are asked together.
Expected<> finish (const FrameTensors &frame, std::span<CorrelationTracker *const> trackers);

}  // namespace integralhist
