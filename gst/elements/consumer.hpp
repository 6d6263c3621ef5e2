// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the elements share that ask the histogram of a frame: they wait for it, but not past a flush
// or a stop, and they know how long frames without one may go on.
#pragma once

#include <atomic>

#include <gst/base/gstbasetransform.h>
#include <gst/integralhist/gstintegralhistogram.h>

#include <gst/integralhist/error.hpp>

namespace integralhist {

class HistogramConsumer {
public:
  /// At the start of a stream.
  void start ();
  /// To be called with each event from upstream, before it is handled, and each change of state.
  void take_event (GstEvent *event);
  void take_transition (GstStateChange transition);

  /// Waits for the tensor. An error of the kind flushing where a flush or a stop ended that.
  Expected<> await (GstIntegralHistogram *histogram);

  /// A frame has none, and is no gap. Nothing where others may have one: after frames that had, or
  /// where a producer upstream leaves frames out. Else an error that says so; `usage` is a launch
  /// line.
  Expected<> note_missing (GstBaseTransform *element, const char *usage);

private:
  bool is_refusing () const { return flushing_ || stopping_; }

  std::atomic<bool> flushing_ = false, stopping_ = false;
  bool found_ = false;
  guint missing_ = 0;  // frames since the start
};

}  // namespace integralhist
