// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A custom query with which a consumer finds out whether an element upstream attaches histograms,
// histograms of a feature, or summed-area tables of a feature; producers answer it. Only if a
// producer exists does a consumer wait for frames with a histogram. Another query, which
// integralhisttrack answers, finds a tracker.
#pragma once

#include <optional>
#include <string>

#include <gst/gst.h>

#include <kernels/inthist.hpp>

namespace integralhist {

struct Producer {
  guint interval;    // frames per histogram
  guint64 attached;  // histograms since the start
};

/// Asks upstream of the pad for any producer of tensors with this content, or for one of the
/// feature with this nick. Returns nothing if no element answers.
std::optional<Producer> find_producer (GstPad *sink_pad, const std::string &feature = "",
                                       inthist::Content content = inthist::Content::bins);

/// Answers a producer query for tensors with this content, and of this feature. Returns whether it
/// did; elements further upstream may answer otherwise.
bool answer_producer_query (GstQuery *query, inthist::Content content, const char *feature,
                            const Producer &producer);

/// Returns whether the peer of the pad, or an element beyond it, follows targets.
bool finds_tracker (GstPad *pad);
/// Answers a tracker query, for an element that follows targets. Returns whether it was one.
bool answer_tracker_query (GstQuery *query);

}  // namespace integralhist
