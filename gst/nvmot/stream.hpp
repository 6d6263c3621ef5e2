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
  /// `number` is the high half of the ids of its targets.
  explicit Stream (guint32 number);

  /// Tracks in the next frame, which is as large as `info` says, and writes the tracks. The pixels
  /// are not read after that.
  Expected<> process (const BatchFrame &frame, const MappedFrame &pixels, const GstVideoInfo &info,
                      const Devices &devices, const TrackOptions &options, OutputList &output);

private:
  Expected<> track (const BatchFrame &frame, const FrameTensors &tensors,
                    const TrackOptions &options, OutputList &output);
  void write (const BatchFrame &frame, std::span<const TrackedBox> tracks,
              OutputList &output) const;

  const guint32 number_;
  StreamTracker tracker_;
  std::optional<FeatureEngines> engines_;  // from the first frame on
};

}  // namespace integralhist::nvmot
