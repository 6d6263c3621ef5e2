// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A custom query by which a consumer finds out whether an element upstream attaches histograms, or
// those of a feature, or summed-area tables of one; the producers answer it. Only then does a
// consumer wait for frames that have one. Another one, which integralhisttrack answers, finds a
// tracker.
#pragma once

#include <optional>
#include <string>

#include <gst/gst.h>

#include <kernels/inthist.hpp>

namespace integralhist {

struct Producer {
  guint interval;    // frames for each histogram
  guint64 attached;  // histograms since the start
};

/// Asks upstream of the pad for any producer of tensors with this content, or for one of the
/// feature with this nick; returns none where nobody answers.
std::optional<Producer> find_producer (GstPad *sink_pad, const std::string &feature = "",
                                       inthist::Content content = inthist::Content::bins);

/// Answers a query of this kind that asks for tensors with this content, and of this feature;
/// returns whether it did. Others may answer upstream.
bool answer_producer_query (GstQuery *query, inthist::Content content, const char *feature,
                            const Producer &producer);

/// Returns whether the peer of the pad, or an element beyond it, follows targets.
bool finds_tracker (GstPad *pad);
/// Answers a query of this kind, of an element that does; returns whether it is one.
bool answer_tracker_query (GstQuery *query);

}  // namespace integralhist
