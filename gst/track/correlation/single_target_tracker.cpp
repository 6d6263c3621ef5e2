// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame of one tracker has these stages. Each stage requests something from the model.
// run_stage () gets the requests of all trackers answered together, and read_answer () reads the
// answers and enters the next stage:
//
//   start             learns the filter, the sizes and the colours of a box ──► done
//   search            finds the best shift near the expected place ──► learn_filter or find_size,
//                     in turns; done, if nothing is learned; search_elsewhere, if the target is
//                     lost
//   search_elsewhere  compares the places of the frame that have its colours ──► as search
//   learn_filter      learns the colours, and makes the example that the filter learns from during
//                     the next frame ──► done
//   find_size         finds the size of the box ──► learn_size
//   learn_size        learns the sizes and the colours ──► done
//
// The constants were chosen on sixteen sequences; kColourWeight of match.hpp and the
// constants of confidence.hpp on thirty. docs/measurements says how, and how well they work.
#include "single_target_tracker.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <gst/integralhist/base/in_parallel.hpp>

namespace integralhist {

using namespace inthist::correlation;

// Shares of the filter's usual response, above which learning starts, learning has the whole rate,
// the box moves, and a lost target is found.
constexpr double kLearningThreshold = 0.3;
constexpr double kFullLearning = 0.7;
constexpr double kResponseThreshold = 0.35;
constexpr double kRedetectionThreshold = 0.6;
constexpr double kVisibleThreshold = -2;   // log odds; with lower ones, the target may be lost
constexpr double kMinUsualPeak = 0.12;     // a filter that responds less does not see the target
constexpr double kColourThreshold = 0.5;   // of the usual colour score
constexpr double kAverageRate = 0.02;      // rate of running means
constexpr float kKeptShare = 0.5;          // of the last filter
constexpr double kAspectThreshold = 1.25;  // if a box's shape changes more, sizes start again
constexpr double kElsewhereGain = 1.2;     // a lost target's peak must be so much higher elsewhere
constexpr double kMinRelativeSize = 0.2, kMaxRelativeSize = 5;  // of the first size
constexpr double kMinSize = 4;                                  // pixels

bool SingleTargetTracker::matches_colours (const Match &match) const
{
  return match.score > kColourThreshold * usual_score_;
}

/// Enters a stage, and returns the stage's request to the model, for the caller to complete. The
/// request keeps the memory of the last answers.
ModelRequest &SingleTargetTracker::enter_stage (Stage next)
{
  request_.stage = next;
  request_.box = box ();
  return request_;
}

Expected<> SingleTargetTracker::start (const FrameTensors &frame, const CentreBox &box)
{
  TRY (move_model_to (frame.models));
  box_ = box;
  relative_size_ = 1;
  age_ = 0;
  is_lost_ = false;
  n_unsure_frames_ = 0;
  record_ = {};
  ModelRequest &request = enter_stage (Stage::start);
  request.kept_share = has_started_ ? kKeptShare : 0;
  const double shape = box.width / box.height;
  request.restarts_size_filter =
      aspect_ratio_ == 0
      || std::max (shape / aspect_ratio_, aspect_ratio_ / shape) > kAspectThreshold;
  if (request.restarts_size_filter)
    aspect_ratio_ = shape;
  return {};
}

/// Moves the target's model to the GPU of `models`, or to the host if `models` is null. A model for
/// which the GPU has no memory stays on the host.
Expected<> SingleTargetTracker::move_model_to (const std::shared_ptr<DeviceModelPool> &models)
{
  if (device_ && models_ == models)
    return {};
  if (device_)
    TRY (move_model_to_host ());
  if (!models)
    return {};
  auto made = models->make (*host_);
  if (!made && made.error ().kind == Error::Kind::no_memory)
    return {};
  device_ = TRY (std::move (made));
  models_ = models;
  host_ = nullptr;
  return {};
}

/// Moves the target's model from a GPU to the host. If it cannot be read, the target must be
/// learned again.
Expected<> SingleTargetTracker::move_model_to_host ()
{
  auto read = models_->read (*device_);
  device_ = nullptr;
  models_ = nullptr;
  if (!read) {
    host_ = std::make_unique<HostModel> ();
    has_started_ = false;
    aspect_ratio_ = 0;
    return tl::unexpected<Error> (std::move (read).error ());
  }
  host_ = std::move (*read);
  return {};
}

void SingleTargetTracker::give_up_device ()
{
  if (request_.stage == Stage::start)
    has_started_ = false;  // its model may be incomplete
  if (request_.stage == Stage::search || request_.stage == Stage::search_elsewhere)
    age_--;  // the frame was not searched
  request_.stage = Stage::done;
  if (device_)
    (void) move_model_to_host ();
}

void SingleTargetTracker::resize (double x_factor, double y_factor)
{
  box_ = { box_.x * x_factor, box_.y * y_factor, box_.width * x_factor, box_.height * y_factor };
}

inthist::Region SingleTargetTracker::region (const FrameTensors &frame, const CentreBox &now,
                                             const ExpectedMotion &motion)
{
  const double x = now.x + motion.x, y = now.y + motion.y, margin = 2 * now.cell ();
  const auto edge = [] (double at, int most) { return int (std::clamp (at, 0.0, double (most))); };
  const double half_width = (now.side () + now.width) / 2 + margin,
               half_height = (now.side () + now.height) / 2 + margin;
  const int x0 = edge (x - half_width, frame.width ()), x1 = edge (x + half_width, frame.width ()),
            y0 = edge (y - half_height, frame.height ()),
            y1 = edge (y + half_height, frame.height ());
  return { x0, y0, x1 - x0, y1 - y0 };
}

/// Notes the evidence of a frame's best match, and what it adds to the record.
void SingleTargetTracker::note_evidence (const FrameTensors &frame, const Match &match)
{
  constexpr double kRecovery = 0.005, kEdge = 2;  // share a frame; pixels
  const double peak_ratio = match.peak / std::max (1e-6, usual_peak_);
  evidence_ = { match.sharpness, peak_ratio, match.score / std::max (0.05, usual_score_) };
  double &least = record_.least_peak_ratio;
  least = age_ == 1 ? peak_ratio : std::min (peak_ratio, least + kRecovery * (peak_ratio - least));
  record_.usual_score = usual_score_;
  record_.age = age_;
  record_.is_at_edge =
      match.x - width () / 2 < kEdge || match.x + width () / 2 > frame.width () - kEdge
      || match.y - height () / 2 < kEdge || match.y + height () / 2 > frame.height () - kEdge;
}

/// Decides from a frame's best match whether the target is lost. Returns how much to learn, 0 to 1.
double SingleTargetTracker::assess_match (const FrameTensors &frame, const Match &match)
{
  note_evidence (frame, match);
  const double peak_ratio = evidence_.peak_ratio;
  const bool right = matches_colours (match);
  double rate =
      right ? std::clamp ((peak_ratio - kLearningThreshold) / (kFullLearning - kLearningThreshold),
                          0.0, 1.0)
            : 0;
  if (age_ == 1)
    rate = 1;
  // a target that is never lost must learn its present appearance, whatever that is
  if (age_ == 1 || lost_after_ == 0)
    disappearance_.start (evidence_);
  else if (!is_lost_)
    disappearance_.note (evidence_);
  n_unsure_frames_ = visible_log_odds (evidence_) >= kVisibleThreshold ? 0 : n_unsure_frames_ + 1;
  if (!is_lost_) {
    if (disappearance_.frames () > 0)
      rate = 0;
    is_lost_ = lost_after_ > 0
               && (n_unsure_frames_ >= lost_after_ || disappearance_.frames () > lost_after_);
  } else if (peak_ratio > kRedetectionThreshold && right) {
    is_lost_ = false;
    disappearance_.start (evidence_, disappearance_.age ());
  } else {
    rate = 0;
  }
  return rate;
}

Expected<> SingleTargetTracker::begin_search (const FrameTensors &frame, unsigned lost_after,
                                              const ExpectedMotion &motion)
{
  TRY (move_model_to (frame.models));
  age_++;
  lost_after_ = lost_after;
  ModelRequest &request = enter_stage (Stage::search);
  request.middles = { { box_.x + motion.x, box_.y + motion.y } };
  request.spread = motion.spread;
  request.per_peak = age_ > 1 ? 1 / std::max (1e-3, usual_peak_) : 1;
  request.whole_frame = is_lost_;
  return {};
}

void SingleTargetTracker::on_search_results (const FrameTensors &frame)
{
  const FoundMatch found = { request_.answer.matches.front (), request_.middles.front () };
  if (age_ == 1) {
    usual_peak_ = std::max (double (found.match.peak), kMinUsualPeak);
    usual_score_ = found.match.score;
  }
  if (!is_lost_ || request_.answer.candidates.empty ())
    return apply_match (frame, found);
  match_near_last_box_ = found;
  ModelRequest &request = enter_stage (Stage::search_elsewhere);
  request.middles = request.answer.candidates;
  request.spread = 0;  // per_peak stays as it was for Stage::search
  request.whole_frame = false;
}

/// Reads the results of a search for a lost target at other places of the frame.
void SingleTargetTracker::on_candidate_results (const FrameTensors &frame)
{
  FoundMatch best = match_near_last_box_;
  for (std::size_t i = 0; i < request_.answer.matches.size (); i++)
    if (const Match &match = request_.answer.matches[i];
        match.peak > kElsewhereGain * best.match.peak && matches_colours (match))
      best = { match, request_.middles[i] };
  apply_match (frame, best);
}

/// Moves the target to the place of a match, unless the match is weak, and requests the learning.
void SingleTargetTracker::apply_match (const FrameTensors &frame, const FoundMatch &found)
{
  const Match &match = found.match;
  rate_ = assess_match (frame, match);
  if (!is_lost_ && match.peak >= kResponseThreshold * usual_peak_) {
    box_.x = std::clamp (match.x, 0.0, double (frame.width ()));
    box_.y = std::clamp (match.y, 0.0, double (frame.height ()));
  }
  if (rate_ > 0)
    request_learning (found);
  else
    end_frame ();
}

void SingleTargetTracker::end_frame ()
{
  request_.stage = Stage::done;
  if (host_)
    host_->end_frame ();
}

/// Requests the learning from a frame: by turns of the filter and of the sizes, first the filter.
void SingleTargetTracker::request_learning (const FoundMatch &found)
{
  constexpr double kMaxMoved = 2;  // cells
  usual_peak_ += rate_ * kAverageRate * (found.match.peak - usual_peak_);
  usual_score_ += rate_ * kAverageRate * (found.match.score - usual_score_);
  if (age_ % 2 == 0) {
    enter_stage (Stage::find_size);
    return;
  }
  ModelRequest &request = enter_stage (Stage::learn_filter);
  request.rate = rate_;
  // A target near the middle of the searched square is learned from this square, moved. Otherwise
  // the example is a new square, because the border of the searched one is faded out.
  const double cell = box ().cell ();
  const CellShift shift = { (found.middle.x - box_.x) / cell, (found.middle.y - box_.y) / cell };
  request.searched_centre = found.middle;
  request.shift.reset ();
  if (std::max (std::fabs (shift.right), std::fabs (shift.down)) <= kMaxMoved)
    request.shift = shift;
}

void SingleTargetTracker::on_size (double factor)
{
  const double before = relative_size_;
  relative_size_ = std::clamp (relative_size_ * factor, kMinRelativeSize, kMaxRelativeSize);
  // a target whose first box is smaller than kMinSize may stay as small
  relative_size_ = std::max ({ relative_size_, std::min (1.0, kMinSize / box_.width),
                               std::min (1.0, kMinSize / box_.height) });
  ModelRequest &request = enter_stage (Stage::learn_size);
  request.rate = rate_;
  request.factor.reset ();
  if (size_steps_of (relative_size_ / before))
    request.factor = relative_size_ / before;
}

void SingleTargetTracker::read_answer (const FrameTensors &frame)
{
  switch (request_.stage) {
    case Stage::search: on_search_results (frame); break;
    case Stage::search_elsewhere: on_candidate_results (frame); break;
    case Stage::find_size: on_size (request_.answer.size_factor); break;
    case Stage::start: has_started_ = true; [[fallthrough]];
    case Stage::done:
    case Stage::learn_filter:
    case Stage::learn_size: end_frame (); break;
  }
}

static Expected<> answer_on_host (const FrameTensors &frame,
                                  std::span<SingleTargetTracker *const> trackers)
{
  const int n = int (trackers.size ());
  const auto model = [&] (int i) { return trackers[std::size_t (i)]->host_model (); };
  TRY (in_parallel (n, [&] (int i) -> Expected<> {
    model (i)->queue (frame, *trackers[std::size_t (i)]->request ());
    return {};
  }));
  std::vector<TargetQueries *> queries;
  for (int i = 0; i < n; i++)
    queries.push_back (&model (i)->queries);
  TRY (run_queries (frame, queries));
  return in_parallel (n, [&] (int i) -> Expected<> {
    SingleTargetTracker &tracker = *trackers[std::size_t (i)];
    TRY (tracker.host_model ()->answer (frame, *tracker.request ()));
    tracker.read_answer (frame);
    return {};
  });
}

static Expected<> answer_on_device (const FrameTensors &frame,
                                    std::span<SingleTargetTracker *const> trackers)
{
  std::vector<DeviceRequest> requests;
  for (SingleTargetTracker *const tracker : trackers)
    requests.push_back ({ tracker->device_model (), tracker->request () });
  TRY (frame.models->run (frame, requests));
  for (SingleTargetTracker *const tracker : trackers)
    tracker->read_answer (frame);
  return {};
}

/// Runs one stage of all trackers: their models, on the CPU or a GPU, answer the requests of the
/// stage. Returns whether there were requests.
static Expected<bool> run_stage (const FrameTensors &frame,
                                 std::span<SingleTargetTracker *const> trackers)
{
  std::vector<SingleTargetTracker *> on_host, on_device;
  for (SingleTargetTracker *const tracker : trackers)
    if (tracker->request ())
      (tracker->host_model () ? on_host : on_device).push_back (tracker);
  if (!on_host.empty ())
    TRY (answer_on_host (frame, on_host));
  if (!on_device.empty ())
    TRY (answer_on_device (frame, on_device));
  return !on_host.empty () || !on_device.empty ();
}

Expected<> run_stages (const FrameTensors &frame, std::span<SingleTargetTracker *const> trackers)
{
  // filters on the host learn from the last frame's example while the first requests are answered
  std::vector<HostModel *> learning;
  for (SingleTargetTracker *const tracker : trackers)
    if (HostModel *const model = tracker->host_model ();
        model && model->example && tracker->request ()
        && tracker->request ()->stage == Stage::search)
      learning.push_back (model);
  const auto first = in_parallel (1 + int (learning.size ()), [&] (int i) -> Expected<> {
    if (i == 0)
      TRY (run_stage (frame, trackers));
    else
      learning[std::size_t (i - 1)]->learn ();
    return {};
  });
  for (HostModel *const model : learning)
    model->renew ();
  TRY (first);
  while (TRY (run_stage (frame, trackers)))
    ;
  return {};
}

}  // namespace integralhist
