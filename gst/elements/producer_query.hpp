// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How an element that needs histograms finds out, upstream, whether somebody attaches them: a
// custom query that cudaintegralhist answers. Frames without one may then be waited for.
#pragma once

#include <optional>

#include <gst/gst.h>

#include <inthist.hpp>

namespace integralhist {

struct Producer {
  guint interval;    // every so many frames have a histogram
  guint64 attached;  // so many had one since the start
};

/// Asks upstream of the pad; none where nobody answers.
std::optional<Producer> find_producer (GstPad *sink_pad);

/// Answers, where the query is such a one and asks for tensors with this content.
bool answer_producer_query (GstQuery *query, inthist::Content content, const Producer &producer);

}  // namespace integralhist
