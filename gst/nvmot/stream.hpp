// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A video stream of nvtracker: its tracker, and the engines that compute tensors of its frames.
#pragma once

#include <optional>

#include <gst/track/stream_tracker.hpp>
#include <gst/track/track_options.hpp>

#include "batch_frame.hpp"
#include "feature_engines.hpp"

namespace integralhist::nvmot {

class VideoStream {
public:
  /// `number` becomes the high 32 bits of the ids of the stream's targets.
  explicit VideoStream (guint32 number);

  /// Tracks targets in the stream's next frame, which has the size of `info`, and writes the tracks
  /// to `output`. On return no device reads the frame's pixels.
  Expected<> process (const BatchFrame &frame, const MappedFrame &pixels, const GstVideoInfo &info,
                      const Devices &devices, const TrackOptions &options, OutputList &output);

private:
  Expected<> track (const BatchFrame &frame, const FrameTensors &tensors,
                    const TrackOptions &options, OutputList &output);
  void write (const BatchFrame &frame, std::span<const TrackedBox> tracks,
              OutputList &output) const;

  const guint32 number_;
  StreamTracker tracker_;
  std::optional<FeatureEngines> engines_;  // made with the first frame
};

}  // namespace integralhist::nvmot
