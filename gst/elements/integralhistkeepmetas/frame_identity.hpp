// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Finds the frame that a buffer belongs to behind elements that make new buffers. Buffers have a
// mark: a meta without tags, which GStreamer's elements copy with the frame.
#pragma once

#include <memory>
#include <string>

#include <gst/frame/video_formats.hpp>

namespace integralhist {

/// The format and the metas of a frame when it went into the GstBin integralhistkeepmetas.
struct FrameMetas {
  FrameFormat format;
  std::unique_ptr<GstBuffer, void (*) (GstBuffer *)> metas;  // a buffer without memory
};

using FrameMetasRef = std::shared_ptr<const FrameMetas>;

/// The marks of the frames in one GstBin. Elements inside that lose marks are watched: if an
/// element gives each frame at once, in the same thread and with the same timestamp, frames without
/// a mark are known too. After an element has left out or delayed a frame, they stay unknown. Any
/// thread may call the functions.
class FrameIdentity {
public:
  FrameIdentity ();

  /// Watches an element for lost marks as long as it lives, if it has one sink pad and one src pad.
  void watch (GstElement *element);
  void forget_elements ();
  /// Forgets the frames in watched elements, and trusts all elements again, at the end of a stream.
  void reset ();

  /// Marks a buffer (transfer full) as part of a frame, and returns the buffer or a marked copy.
  GstBuffer *mark (GstBuffer *buffer, FrameMetasRef frame);
  /// Removes the marks from a buffer that leaves the GstBin; a shared buffer is copied. Returns the
  /// buffer's frame, which watched elements forget; null if unknown.
  FrameMetasRef take (GstBuffer **buffer);

  /// Returns the name of the first element that lost track of frames; empty if there is none.
  std::string losing_element () const;

private:
  struct Watches;
  struct Probe;

  const std::shared_ptr<Watches>
      watches_;  // shared with the pad probes, which may outlive the GstBin
};

}  // namespace integralhist
