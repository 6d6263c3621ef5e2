// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Custom GStreamer queries between elements of the plugin. With the producer query, an element that
// reads histograms finds out whether an element upstream attaches histograms or summed-area tables,
// perhaps of one feature; only if a producer answers does the reader wait for frames that have a
// histogram. The tracker query finds an integralhisttrack.
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

/// Asks the elements upstream of a pad for a producer of tensors with this content and, unless
/// `feature` is empty, of the feature with this nick. A producer of histograms answers for counts
/// and for weights. Returns nothing if none answers.
std::optional<Producer> find_producer (GstPad *sink_pad, const std::string &feature = "",
                                       inthist::Content content = inthist::Content::bins);

/// Answers a producer query if it looks for tensors with this content (counts or sums) and this
/// feature. Returns false if the query is another one; elements further upstream may answer it.
bool answer_producer_query (GstQuery *query, inthist::Content content, const char *feature,
                            const Producer &producer);

/// Returns whether the tracker query, sent from a pad, finds an integralhisttrack beyond the pad.
bool finds_tracker (GstPad *pad);
/// Answers a tracker query for an element that follows targets; returns false for other queries.
bool answer_tracker_query (GstQuery *query);

}  // namespace integralhist
