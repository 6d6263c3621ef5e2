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

/// Looks upstream of the pad for a producer of tensors with this content, and, if `feature` is not
/// empty, of the feature with this nick. Returns nothing if no element answers.
std::optional<Producer> find_producer (GstPad *sink_pad, const std::string &feature = "",
                                       inthist::Content content = inthist::Content::bins);

/// Answers the query if it looks for a producer of tensors with this content and this feature.
/// Returns whether it answered; if not, elements further upstream may.
bool answer_producer_query (GstQuery *query, inthist::Content content, const char *feature,
                            const Producer &producer);

/// Returns whether the peer of the pad, or an element beyond it, follows targets.
bool finds_tracker (GstPad *pad);
/// Answers the query, for an element that follows targets, if it is a tracker query. Returns
/// whether it was.
bool answer_tracker_query (GstQuery *query);

}  // namespace integralhist
