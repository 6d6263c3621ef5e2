// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame of a batch, from any release of nvtracker.
#pragma once

#include <optional>
#include <span>

#include <gst/gst.h>

#include <gst/integralhist/base/error.hpp>

#include "layouts.hpp"

namespace integralhist::nvmot {

enum class Release { r80, r91 };

/// Returns the release of the element in this process, from the registry; nothing if there is no
/// element. Returns an error if the release is too old.
Expected<std::optional<Release>> release_of_element ();

/// Returns the release that wrote a batch, judged by its first frame. Reads only bytes that a frame
/// of every release has. `known` is the release from the registry, or from an earlier batch: a
/// frame of another release is an error.
Expected<Release> release_of_frame (const void *first, std::optional<Release> known);

struct BatchFrame {
  guint64 stream;
  guint32 number;
  GstClockTime time;
  void *surface;                   // NvBufSurfaceParams
  std::span<InputObject> objects;  // at most `max_targets`

  /// Reads frame `index` of an array. Refuses a frame that contradicts itself.
  static Expected<BatchFrame> read (const void *frames, std::size_t index, Release release,
                                    guint max_targets);
};

}  // namespace integralhist::nvmot
