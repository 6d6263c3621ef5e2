// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads a frame of a batch, as any supported release of nvtracker writes it.
#pragma once

#include <optional>
#include <span>

#include <gst/gst.h>

#include <gst/integralhist/base/error.hpp>

#include "layouts.hpp"

namespace integralhist::nvmot {

enum class Release { r80, r91 };

/// Returns the release of nvtracker in this process, from GStreamer's registry; nothing if there is
/// no such element. Returns an error if the release is too old.
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
