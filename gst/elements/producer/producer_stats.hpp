// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The property "stats" of cudaintegralhist and cudaintegralimage.
#pragma once

#include <gst/gst.h>

#include <gst/integralhist/engine/engine.hpp>

namespace integralhist {

GParamSpec *producer_stats_spec ();

/// Returns the property "stats": counts and choices of an engine, and the number of shed frames.
GstStructure *producer_stats (const Stats &stats, const StrategyPlan &plan, guint64 n_shed);

}  // namespace integralhist
