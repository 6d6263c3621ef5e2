// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string>

#include "fragments_tracker.hpp"
#include "properties.hpp"

namespace integralhist {

struct TrackProperties {
  std::string targets;
  bool detections = true, navigation = true;
  guint forget_after = 100;
  TrackOptions track;
};

const PropertyTable<TrackProperties> &track_properties ();

}  // namespace integralhist
