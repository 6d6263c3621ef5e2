// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The properties of integralhisttrack.
#pragma once

#include <string>

#include "fragments_tracker.hpp"

namespace integralhist {

struct TrackOptions {
  std::string targets;
  bool detections = true, navigation = true;
  guint forget_after = 100;
  TrackSettings track;

  /// Of the property `id`; false where there is none.
  bool set (guint id, const GValue *value);
  bool get (guint id, GValue *value) const;
  /// An error for users where one is out of range, or is no list of boxes.
  Expected<> check () const;
};

void install_track_properties (GObjectClass *klass);

}  // namespace integralhist
