// SPDX-License-Identifier: LGPL-2.1-or-later
#include "correlation_target.hpp"

#include <algorithm>

#include <gst/integralhist/base/in_parallel.hpp>
#include <gst/track/base/log.hpp>

#define GST_CAT_DEFAULT track_log ()

namespace integralhist {

static constexpr double kSameTargetIou = 0.2;  // least overlap of an old and a new box

void CorrelationTarget::restart (const TargetBox &box)
{
  if (iou (box, box_) < kSameTargetIou)
    tracker_.reset ();
  box_ = box;
  is_corrected_ = true;
}

inthist::Region CorrelationTarget::region (const FrameTensors &frame,
                                           const ExpectedMotion &motion) const
{
  if (tracker_ && !is_corrected_)
    return tracker_->region (frame, motion);
  return SingleTargetTracker::region (
      frame, { box_.x + box_.width / 2, box_.y + box_.height / 2, box_.width, box_.height }, {});
}

void CorrelationTarget::resize (double x_factor, double y_factor)
{
  box_ = resized (box_, x_factor, y_factor);
  if (tracker_)
    tracker_->resize (x_factor, y_factor);
}

Expected<SingleTargetTracker *> CorrelationTarget::begin_frame (const FrameTensors &frame,
                                                                unsigned lost_after,
                                                                const ExpectedMotion &motion)
{
  const auto colours =
      std::pair (spec_of (frame.colours), gst_integral_histogram_get_bins (frame.colours));
  // A model with other colour bins is of no use, and neither is one that a GPU has lost.
  const bool is_useless = tracker_ && (colours != colours_ || !tracker_->has_started ());
  if (is_useless) {
    if (is_lost ())
      return nullptr;
    tracker_.reset ();
  }
  colours_ = colours;
  const bool corrected = std::exchange (is_corrected_, false);
  if (tracker_ && !corrected) {
    TRY (tracker_->begin_search (frame, lost_after, motion));
    return &*tracker_;
  }
  const int width = frame.width (), height = frame.height ();
  const double x0 = std::clamp (box_.x, 0.0, width - 1.0),
               y0 = std::clamp (box_.y, 0.0, height - 1.0);
  const double w = std::clamp (box_.x + box_.width, x0 + 1, double (width)) - x0,
               h = std::clamp (box_.y + box_.height, y0 + 1, double (height)) - y0;
  const CentreBox box = { x0 + w / 2, y0 + h / 2, w, h };
  if (!tracker_)
    tracker_.emplace (box);
  TRY (tracker_->start (frame, box));
  return &*tracker_;
}

void CorrelationTarget::update_box ()
{
  if (!tracker_)
    return;
  box_ = { tracker_->x () - tracker_->width () / 2, tracker_->y () - tracker_->height () / 2,
           tracker_->width (), tracker_->height () };
}

/// Returns whether an error is one of the GPU, after which the CPU can continue.
static bool is_of_device (const Error &error)
{
  return error.kind == Error::Kind::failed || error.kind == Error::Kind::no_memory;
}

/// Runs the stages of each target alone, many at the same time.
static Expected<> run_alone (const FrameTensors &tensors, unsigned lost_after,
                             SoughtTargets<CorrelationTarget> targets)
{
  return in_parallel (int (targets.size ()), [&] (int i) -> Expected<> {
    const auto &[target, motion] = targets[std::size_t (i)];
    SingleTargetTracker *const tracker = TRY (target->begin_frame (tensors, lost_after, motion));
    return tracker ? run_stages (tensors, std::span (&tracker, 1)) : Expected<> ();
  });
}

/// Runs the stages of all targets together, so that their queries reach a GPU in one call.
static Expected<> run_together (const FrameTensors &tensors, unsigned lost_after,
                                SoughtTargets<CorrelationTarget> targets)
{
  const int n = int (targets.size ());
  std::vector<SingleTargetTracker *> trackers (targets.size ());
  // with models on a GPU, beginning a target's work is faster than starting a task for it
  TRY (in_parallel (n, tensors.models ? 1 : n, [&] (int i) -> Expected<> {
    const auto &[target, motion] = targets[std::size_t (i)];
    trackers[std::size_t (i)] = TRY (target->begin_frame (tensors, lost_after, motion));
    return {};
  }));
  std::erase (trackers, nullptr);
  return run_stages (tensors, trackers);
}

/// Prepares the tensors for queries about regions around targets, and the colours of the whole
/// frame to find lost ones. Sets the models if one GPU has all three images. Returns whether any
/// tensor is on a GPU, so that the queries of all targets should run together.
Expected<bool> CorrelationMethod::prepare (FrameTensors &tensors,
                                           SoughtTargets<CorrelationTarget> targets)
{
  if (targets.empty ())
    return false;
  std::vector<inthist::Region> regions;
  bool some_are_lost = false;
  for (const auto &[target, motion] : targets) {
    regions.push_back (target->region (tensors, motion));
    some_are_lost |= target->is_lost ();
  }
  tensors.gradient_image = TRY (tensor_of (tensors.gradients).prepare (regions));
  std::vector<inthist::Region> of_colours = regions;
  if (some_are_lost)
    of_colours.push_back ({ 0, 0, tensors.width (), tensors.height () });
  tensors.colour_image = TRY (tensor_of (tensors.colours).prepare (of_colours));
  tensors.luma_image = TRY (tensor_of (tensors.luma).prepare (regions));
  if (tensors.gradient_image && tensors.colour_image && tensors.luma_image && !device_failed_) {
    if constexpr (INTHIST_CUDA)  // without CUDA no images are on a GPU
      if (!models_ || !models_->are_on_device_of (*tensors.gradient_image))
        models_ = make_device_model_pool (*tensors.gradient_image);
    if (models_ && models_->are_on_device_of (*tensors.luma_image)
        && models_->are_on_device_of (*tensors.colour_image))
      tensors.models = models_;
  }
  return tensors.gradient_image || tensors.colour_image || tensors.luma_image;
}

Expected<> CorrelationMethod::track (FrameTensors tensors, unsigned lost_after,
                                     SoughtTargets<CorrelationTarget> targets)
{
  const bool on_gpu = TRY (prepare (tensors, targets));
  const auto outcome = (on_gpu ? run_together : run_alone) (tensors, lost_after, targets);
  if (!outcome && tensors.models && is_of_device (outcome.error ())) {
    GST_WARNING_OBJECT (logged_as_, "the CPU goes on with the targets of a GPU: %s",
                        outcome.error ().message.c_str ());
    device_failed_ = true;
    for (const auto &[target, motion] : targets)
      target->give_up_device ();
    models_ = nullptr;
  } else {
    TRY (outcome);
  }
  for (const auto &[target, motion] : targets)
    target->update_box ();
  return {};
}

}  // namespace integralhist
