// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The list itself: targets start from boxes, end, and become tracks. target_detections.cpp pairs
// targets with detections, and target_presence.cpp decides which targets are lost.
#include "target_list.hpp"

#include <algorithm>
#include <utility>

#include <gst/integralhist/meta/frame_geometry.hpp>
#include <gst/track/base/log.hpp>

#include "overlapping_targets.hpp"

#define GST_CAT_DEFAULT track_log ()

namespace integralhist {

static constexpr double kCommonShare = 0.7;  // of the mean appearance, subtracted

TargetList::TargetList (gpointer logged_as, TrackWarnings::Warn warn)
    : logged_as_ (logged_as), warnings_ (std::move (warn))
{
}

TrackedTarget *TargetList::add (const GstVideoRectangle &box, const TargetFrame &frame)
{
  if (targets_.size () >= kMaxTargets) {
    warnings_.warn_of_many ();
    return nullptr;
  }
  auto tracked = std::make_unique<TrackedTarget> ();
  tracked->serial = next_serial_++;
  tracked->first_seen = tracked->last_seen = frame.time;
  tracked->kept_box = frame.in_tensor (box);
  const auto seen =
      [&] (const TrackedTarget &target) {  // a configured box may be far larger than the frame
        return frame.in_tensor (frame.clip (frame.in_frame (target.box ())));
      };
  for (const auto &other : targets_)
    if (!other->is_untracked () && iou (seen (*other), seen (*tracked)) > kMatchIou)
      tracked->overlapping_ids_at_start.push_back (other->id);
  return targets_.emplace_back (std::move (tracked)).get ();
}

void TargetList::confirm (TrackedTarget &tracked, const TargetFrame &frame)
{
  const GstVideoRectangle box = frame.in_frame (tracked.box ());
  tracked.id = next_id_++;
  GST_INFO_OBJECT (logged_as_, "target %u starts at %d,%d %dx%d", tracked.id, box.x, box.y, box.w,
                   box.h);
}

Expected<> TargetList::configure (const ListOptions &options, const TargetFrame &frame)
{
  if (!std::ranges::equal (options_.area, options.area, are_equal)
      || !std::ranges::equal (options_.targets, options.targets, are_equal))
    warnings_.forget_area ();
  options_ = options;
  warnings_.warn_of_area (options_, frame);
  if (configured_ && std::ranges::equal (*configured_, options.targets, are_equal))
    return {};
  std::erase_if (targets_, [] (const auto &tracked) { return tracked->configured; });
  for (const GstVideoRectangle &box : options.targets) {
    if (frame.clip (box).w == 0)
      return error (Error::Kind::bad_setting, "targets=\"", text_of (options.targets),
                    "\": ", text_of ({ box }), " lies outside of the ", frame.width, "x",
                    frame.height, " frame: set targets that overlap it, as x,y,width,height");
    if (TrackedTarget *const tracked = add (box, frame)) {
      tracked->configured = true;
      confirm (*tracked, frame);
    }
  }
  configured_ = options.targets;
  warnings_.forget_targets ();
  return {};
}

void TargetList::fit (GstIntegralHistogram *colours, const TargetFrame &frame)
{
  const int width = int (gst_integral_histogram_get_width (frame.histogram)),
            height = int (gst_integral_histogram_get_height (frame.histogram));
  if (width_ > 0 && (width != width_ || height != height_)) {
    const double x = double (width) / width_, y = double (height) / height_;
    for (const auto &tracked : targets_)
      tracked->resize (x, y);
  }
  width_ = width;
  height_ = height;
  if (spec_ && *spec_ != spec_of (colours)) {
    for (const auto &tracked : targets_)
      tracked->appearance.clear ();
    mean_appearance_.clear ();
  }
  spec_ = spec_of (colours);
}

/// Returns an appearance without a share of the mean of all appearances. The fewer targets there
/// are, the smaller is the share, because the mean is mostly their own look.
Appearance TargetList::distinct_appearance (const Appearance &appearance) const
{
  const auto n = std::ranges::count_if (targets_, [] (const auto &tracked) {
    return tracked->is_confirmed () && tracked->was_detected ();
  });
  return subtract_common (appearance, mean_appearance_.mean (),
                          n > 1 ? kCommonShare * (1 - 1.0 / double (n)) : 0);
}

/// Returns the largest share of a target's box that a target detected in this frame covers.
double TargetList::covered_share_of (const TrackedTarget &tracked) const
{
  double most = 0;
  for (const auto &other : targets_)
    if (other.get () != &tracked && other->is_detected_now)
      most = std::max (most, covered_share (tracked.box (), other->box ()));
  return most;
}

void TargetList::start (const GstVideoRectangle &box, const TargetFrame &frame)
{
  if (frame.clip (box).w > 0)
    if (TrackedTarget *const tracked = add (box, frame))
      confirm (*tracked, frame);
}

void TargetList::drop_at (double x, double y, const TargetFrame &frame)
{
  std::erase_if (targets_, [&] (const auto &tracked) {
    const GstVideoRectangle box = frame.in_frame (tracked->box ());
    return x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h;
  });
}

void TargetList::end (const TargetFrame &frame)
{
  for (const auto &tracked : targets_)
    if (options_.max_misses > 0 && tracked->misses >= options_.max_misses)
      tracked->begin_wait (TrackedTarget::Wait::until_detection);
  mark_duplicates (targets_);
  std::erase_if (targets_, [&] (const auto &tracked) {
    return !options_.has_in_area (frame.in_frame (tracked->box ()))
           || (tracked->was_detected () && pace_.is_known () && GST_CLOCK_TIME_IS_VALID (frame.time)
                   ? seconds_between (tracked->last_seen, frame.time) > options_.remember
                   : options_.forget_after > 0 && !tracked->configured
                         && tracked->lost_frames > options_.forget_after);
  });
}

std::vector<TrackedBox> TargetList::tracks (const TargetFrame &frame, bool confirmed) const
{
  std::vector<TrackedBox> tracks;
  for (const auto &tracked : targets_)
    if (tracked->is_confirmed () == confirmed) {
      Track track = { tracked->id,
                      tracked->parent,
                      frame.nearest (frame.in_frame (tracked->box ())),
                      tracked->confidence (),
                      tracked->is_lost (),
                      tracked->class_name,
                      tracked->detection_confidence,
                      tracked->former_id };
      tracks.push_back ({ std::move (track), tracked->serial, tracked->age, tracked->first_seen,
                          tracked->last_seen, tracked->detection });
    }
  return tracks;
}

void TargetList::clear ()
{
  targets_.clear ();
  configured_.reset ();
  pace_ = {};
  mean_speed_ = {};
}

void TargetList::reset ()
{
  clear ();
  next_id_ = 1;
  mean_appearance_.clear ();
  spec_.reset ();
  width_ = height_ = 0;
  detector_ran_ = false;
  warnings_.reset ();
}

}  // namespace integralhist
