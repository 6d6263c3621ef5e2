// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The options of the tracker that its clients offer to users, as properties.
#pragma once

#include <gst/properties/properties.hpp>

#include "target_list.hpp"

namespace integralhist {

struct TrackOptions {
  ListOptions list = {};
  unsigned lost_after = 5;  // bad frames; 0 for never
};

/// Returns the properties for these options, except for the boxes of `list`.
PropertyTable<TrackOptions> track_properties ();

}  // namespace integralhist
