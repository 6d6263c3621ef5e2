// SPDX-License-Identifier: LGPL-2.1-or-later
#include "stream_tracker.hpp"

#include <gst/integralhist/api/histogram.hpp>
#include <gst/track/fragments/fragments_tracker.hpp>

namespace integralhist {

/// Tracks the targets in one frame, in the order that target_list.hpp gives. `colours` is the
/// tensor for appearances, and `search` looks for targets of type T.
template <typename T, typename Search>
Expected<> StreamTracker::track_by (const TargetFrame &frame,
                                    std::span<GstIntegralHistogram *const> tensors,
                                    GstIntegralHistogram *colours, const TrackerInput &input,
                                    const Search &search)
{
  targets_.fit (colours, frame);
  TRY (targets_.configure (input.options, frame));
  for (const Point &point : input.clicked)
    targets_.drop_at (point.x, point.y, frame);
  for (const GstVideoRectangle &box : input.drawn)
    targets_.start (box, frame);
  for (GstIntegralHistogram *const tensor : tensors)
    TRY (await (tensor_of (tensor)));
  TRY (targets_.detect (input.detections, colours, frame));
  const auto sought = targets_.prepare_search<T> ();
  TRY (search (sought));
  TRY (targets_.note_tracked (colours, frame));
  targets_.end (frame);
  return {};
}

Expected<> StreamTracker::track (const TargetFrame &frame, const FrameTensors &tensors,
                                 unsigned lost_after, const TrackerInput &input)
{
  GstIntegralHistogram *const all[] = { tensors.gradients, tensors.colours, tensors.luma };
  return track_by<CorrelationTarget> (frame, all, tensors.colours, input, [&] (const auto &sought) {
    return correlation_.track (tensors, lost_after, sought);
  });
}

Expected<> StreamTracker::track (const TargetFrame &frame, const FragmentsSettings &settings,
                                 unsigned lost_after, const TrackerInput &input)
{
  GstIntegralHistogram *const histogram = frame.histogram;
  return track_by<FragmentsTarget> (
      frame, { &histogram, 1 }, histogram, input, [&] (const auto &sought) {
        return track_by_fragments (histogram, settings, lost_after, sought);
      });
}

}  // namespace integralhist
