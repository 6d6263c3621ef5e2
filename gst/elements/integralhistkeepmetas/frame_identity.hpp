// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Finds the frame that a buffer belongs to, after elements that make new buffers. Each buffer has a
// mark: a meta without tags, which GStreamer's elements copy with the frame.
#pragma once

#include <memory>
#include <string>

#include <gst/frame/video_formats.hpp>

namespace integralhist {

/// The format and the metas of a frame that went into a bin.
struct FrameMetas {
  FrameFormat format;
  std::unique_ptr<GstBuffer, void (*) (GstBuffer *)> metas;  // a buffer without memory
};

using FrameMetasRef = std::shared_ptr<const FrameMetas>;

/// The marks of one bin. Elements inside that lose marks are watched. Their frames stay known if
/// the element gives each frame at once: in the thread that brings the frame, and with the frame's
/// timestamp. After an element has once left a frame out, or given one late, the frames that come
/// out of it are unknown. Any thread may call the functions.
class FrameIdentity {
public:
  FrameIdentity ();

  /// Watches an element, if it has one sink pad and one src pad. The watch ends with the element.
  void watch (GstElement *element);
  /// Forgets the watched elements.
  void forget_elements ();
  /// Makes the elements forget their frames, and trusts all of them again, at the end of a stream.
  void reset ();

  /// Marks the buffer (transfer full) as part of the frame, and returns it or a copy.
  GstBuffer *mark (GstBuffer *buffer, FrameMetasRef frame);
  /// Removes the marks from a buffer that leaves the bin; a shared buffer is copied first. Returns
  /// the buffer's frame; null if unknown. The elements no longer hold that frame.
  FrameMetasRef take (GstBuffer **buffer);

  /// Returns the name of the first element that made frames unknown; empty if there was no such
  /// element.
  std::string losing_element () const;

private:
  struct Watches;
  struct Probe;

  const std::shared_ptr<Watches> watches_;  // shared with the probes, which may outlive the bin
};

}  // namespace integralhist
