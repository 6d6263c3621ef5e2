// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A stream of a context: its tracker, and the engines of its frames.
#pragma once

#include <optional>

#include <gst/track/stream_tracker.hpp>
#include <gst/track/track_options.hpp>

#include "batch_frame.hpp"
#include "feature_engines.hpp"

namespace integralhist::nvmot {

class Stream {
public:
  /// `number` is the high half of the ids of the stream's targets.
  explicit Stream (guint32 number);

  /// Tracks targets in the next frame, whose size is that of `info`, and writes the tracks. On
  /// return the pixels are no longer read.
  Expected<> process (const BatchFrame &frame, const MappedFrame &pixels, const GstVideoInfo &info,
                      const Devices &devices, const TrackOptions &options, OutputList &output);

private:
  Expected<> track (const BatchFrame &frame, const FrameTensors &tensors,
                    const TrackOptions &options, OutputList &output);
  void write (const BatchFrame &frame, std::span<const TrackedBox> tracks,
              OutputList &output) const;

  const guint32 number_;
  StreamTracker tracker_;
  std::optional<FeatureEngines> engines_;  // set from the first frame on
};

}  // namespace integralhist::nvmot
