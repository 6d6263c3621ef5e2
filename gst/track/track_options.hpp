// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The options of the tracker that integralhisttrack and the nvtracker library offer as properties.
#pragma once

#include <gst/properties/properties.hpp>

#include "target_list.hpp"

namespace integralhist {

struct TrackOptions {
  ListOptions list = {};
  unsigned lost_after = 5;  // bad frames; 0 for never
};

/// Returns properties for the options of the tracker, except for the boxes of targets and the area.
PropertyTable<TrackOptions> track_properties ();

}  // namespace integralhist
