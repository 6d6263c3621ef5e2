// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads frames of batches from nvtracker, whose memory layout depends on DeepStream's release.
#pragma once

#include <optional>
#include <span>

#include <gst/gst.h>

#include <gst/integralhist/base/error.hpp>

#include "layouts.hpp"

namespace integralhist::nvmot {

enum class Release { r80, r91 };

template <class... Parts>
tl::unexpected<Error> bad_batch (const Parts &...why)
{
  return error (Error::Kind::bad_frame, "The batch cannot be read: ", why...);
}

/// Returns the release of nvtracker in GStreamer's registry, or nothing without that element. An
/// error if the release is too old.
Expected<std::optional<Release>> release_of_element ();

/// Returns the release of nvtracker that wrote a batch, judged by its first frame, of which only
/// bytes are read that every release writes. `known` is the release from the registry or from an
/// earlier batch; a frame of another release is an error.
Expected<Release> release_of_frame (const void *first, std::optional<Release> known);

struct BatchFrame {
  guint64 stream;
  guint32 number;
  GstClockTime time;
  void *surface;                   // NvBufSurfaceParams
  std::span<InputObject> objects;  // at most `max_targets`

  /// Reads one frame of a batch. An error if its members contradict each other.
  static Expected<BatchFrame> read (const void *frames, std::size_t index, Release release,
                                    guint max_targets);
};

}  // namespace integralhist::nvmot
