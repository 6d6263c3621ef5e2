// SPDX-License-Identifier: LGPL-2.1-or-later
#include "track_warnings.hpp"

#include <algorithm>
#include <utility>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/track/association/detection_selection.hpp>

namespace integralhist {

std::string text_of (const std::vector<GstVideoRectangle> &boxes)
{
  std::string text;
  for (const GstVideoRectangle &box : boxes)
    text += joined (text.empty () ? "" : ";", box.x, ",", box.y, ",", box.w, ",", box.h);
  return text;
}

void TrackWarnings::warn_of_area (const ListOptions &options, const TargetFrame &frame)
{
  if (options.area.empty () || given_.area)
    return;
  const auto overlaps = [&] (const GstVideoRectangle &part) { return frame.clip (part).w > 0; };
  const auto target = std::ranges::find_if (
      options.targets, [&] (const GstVideoRectangle &box) { return !options.has_in_area (box); });
  const std::string area = joined ("area=\"", text_of (options.area), "\"");
  if (std::ranges::none_of (options.area, overlaps))
    warn_ ({ TrackWarning::Cause::settings,
             joined (area, " lies outside of the ", frame.width, "x", frame.height,
                     " frame, so that no target is followed: set regions that overlap it, as "
                     "x,y,width,height."),
             "" });
  else if (target != options.targets.end ())
    warn_ ({ TrackWarning::Cause::settings,
             joined ("targets: the middle of ", text_of ({ *target }), " lies outside of ", area,
                     ", and the target is dropped: enlarge area, or set it to \"\"."),
             "" });
  else
    return;
  given_.area = true;
}

void TrackWarnings::warn_of_confidence (const std::vector<Detection> &detections)
{
  constexpr double kRounding = 0.01;  // of detectors that add up shares
  for (const Detection &detection : detections) {
    const bool is_number = detection.bad_confidence.empty ();
    if (is_number && detection.confidence.value_or (0) <= 1 + kRounding)
      continue;
    if (std::exchange (is_number ? given_.per_cent : given_.confidence, true))
      continue;
    warn_ ({ TrackWarning::Cause::detections,
             is_number ? joined ("The confidence of a detection is ",
                                 text_of_number (detection.confidence.value_or (0)),
                                 ", and the surest is 1: such a detection counts as sure. Let the "
                                 "detector divide percentages by 100.")
                       : joined ("The confidence of a detection is not a finite number but ",
                                 detection.bad_confidence,
                                 ": such a detection counts as the least sure. Let the detector "
                                 "write a number, such as confidence=(double)0.75."),
             joined ("it is at ", text_of ({ detection.box })) });
  }
}

void TrackWarnings::warn_of_unused (const std::vector<Detection> &detections,
                                    std::span<const PreparedDetection> selected,
                                    const TargetFrame &frame)
{
  constexpr std::size_t kUsedWithin = 100;
  seen_.n += detections.size ();
  seen_.some_are_sure |= std::ranges::any_of (detections, [] (const Detection &detection) {
    return detector_confidence (detection) >= kStartConfidence;
  });
  seen_.some_sure_are_used |= std::ranges::any_of (selected, &PreparedDetection::is_sure);
  if (seen_.some_sure_are_used || seen_.n < kUsedWithin || std::exchange (given_.unused, true))
    return;
  const std::string least = text_of_number (kStartConfidence);
  warn_ (
      { TrackWarning::Cause::detections,
        seen_.some_are_sure
            ? joined ("None of the first ", seen_.n, " detections with a confidence of ", least,
                      " or more overlaps the ", frame.width, "x", frame.height,
                      " frame, so that no target starts: let the detector write boxes in pixels "
                      "of this frame.")
            : joined ("None of the first ", seen_.n, " detections has a confidence of ", least,
                      " or more, so that no target starts: let the detector give confidences of 0 "
                      "to 1, in which a real object has more."),
        joined ("the last is at ", text_of ({ detections.back ().box })) });
}

void TrackWarnings::warn_of_empty (const TrackedTarget &tracked, const TargetFrame &frame)
{
  if (std::exchange (given_.empty, true))
    return;
  const GstVideoRectangle box = frame.in_frame (tracked.box ());
  warn_ ({ TrackWarning::Cause::settings,
           joined ("Target ", tracked.id,
                   " has no pixel in any bin, and is lost: set targets to another box, or feature "
                   "of cudaintegralhist to one that counts its pixels; hue-saturation also counts "
                   "gray pixels, which have no hue."),
           joined ("it is at ", text_of ({ box }), ", and counted is ",
                   settings_of (spec_of (frame.histogram))) });
}

void TrackWarnings::warn_of_many ()
{
  if (std::exchange (given_.excess, true))
    return;
  warn_ ({ TrackWarning::Cause::settings,
           joined ("There are more than ", kMaxTargets, " targets, and at most ", kMaxTargets,
                   " are followed: set targets to fewer boxes, or let the detector give "
                   "fewer."),
           "" });
}

}  // namespace integralhist
