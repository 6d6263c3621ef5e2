// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame of a batch, whichever release of nvtracker has written it.
#pragma once

#include <optional>
#include <span>

#include <gst/gst.h>

#include <gst/integralhist/base/error.hpp>

#include "layouts.hpp"

namespace integralhist::nvmot {

enum class Release { r80, r91 };

/// Returns the release of the element in this process, by the registry; nothing if it has none. An
/// error is that of a release that is too old.
Expected<std::optional<Release>> release_of_element ();

/// Returns the release that has written a batch, by its first frame. The function reads no byte
/// that a frame of another release does not have. `known` is the release by the registry, or by an
/// earlier batch: a frame of another one is an error.
Expected<Release> release_of_frame (const void *first, std::optional<Release> known);

struct BatchFrame {
  guint64 stream;
  guint32 number;
  GstClockTime time;
  void *surface;                   // NvBufSurfaceParams
  std::span<InputObject> objects;  // at most `max_targets`

  /// Reads frame `index` of an array. Refuses one that contradicts itself.
  static Expected<BatchFrame> read (const void *frames, std::size_t index, Release release,
                                    guint max_targets);
};

}  // namespace integralhist::nvmot
