// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_arrival.hpp"

#include <gst/elements/base/messages.hpp>

namespace integralhist {

bool is_live (GstPad *sink)
{
  g_autoptr (GstQuery) query = gst_query_new_latency ();
  gboolean live = FALSE;
  if (gst_pad_peer_query (sink, query))
    gst_query_parse_latency (query, &live, nullptr, nullptr);
  return live;
}

LoadShedder::Arrival arrival_of (GstBaseTransform *element, GstBuffer *buffer,
                                 const GstVideoInfo &info, GstClockTime latency, bool live,
                                 const LoadShedder::Moment &now)
{
  const auto times = FrameTimes::of (element, buffer);
  LoadShedder::Arrival arrival = { .running_time = times.running_time,
                                   .duration = times.duration,
                                   .slack = {},
                                   .latency = latency,
                                   .live = live };
  if (!GST_CLOCK_TIME_IS_VALID (arrival.duration) && info.fps_n > 0)
    arrival.duration = gst_util_uint64_scale_int (GST_SECOND, info.fps_d, info.fps_n);
  if (GST_CLOCK_TIME_IS_VALID (now.clock) && GST_CLOCK_TIME_IS_VALID (times.running_time))
    arrival.slack = GST_CLOCK_DIFF (now.clock, gst_element_get_base_time (GST_ELEMENT (element))
                                                   + times.running_time + latency);
  return arrival;
}

}  // namespace integralhist
