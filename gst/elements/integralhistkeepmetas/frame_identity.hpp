// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which frame a buffer is of, behind elements that make new buffers. Each buffer has a mark, a meta
// without tags, which GStreamer's elements copy with the frame.
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

/// The marks of one bin. Elements inside that lose marks are watched: an element that gives each
/// frame at once, in the thread that hands it over and with the frame's timestamp, keeps its mark.
/// An element that once left a frame out, or gave one late, no longer does: which frames come out
/// of it is then unknown. Functions may be called in any thread.
class FrameIdentity {
public:
  FrameIdentity ();

  /// Watches an element, if it has one sink pad and one src pad. The watch ends with the element.
  void watch (GstElement *element);
  /// Forgets the elements that were watched.
  void forget_elements ();
  /// Lets the elements lose their frames, and trusts all of them again, at the end of a stream.
  void reset ();

  /// Marks the buffer (transfer full) as one of the frame, and returns it or a copy.
  GstBuffer *mark (GstBuffer *buffer, FrameMetasRef frame);
  /// Takes the marks off a buffer that leaves the bin, which becomes a copy if it is shared.
  /// Returns its frame; null if that is unknown. The elements hold that frame no longer.
  FrameMetasRef take (GstBuffer **buffer);

  /// Returns the name of the first element that made frames unknown; empty if none did.
  std::string losing_element () const;

private:
  struct Watches;
  struct Probe;

  const std::shared_ptr<Watches> watches_;  // shared with the probes, which may outlive the bin
};

}  // namespace integralhist
