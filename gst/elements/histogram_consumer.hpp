// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What consumers share: waits, which a flush or a stop ends, and a limit on frames without a
// histogram.
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/integralhist/gstintegralhistogram.h>

#include <gst/integralhist/error.hpp>
#include <gst/integralhist/interruptible.hpp>

#include "refusal.hpp"

namespace integralhist {

class HistogramConsumer {
public:
  /// Resets the counts at the start of a stream.
  void start ();
  /// Notes an event from upstream before it is handled, or a change of state. Warns at the end of a
  /// stream that wanted histograms and had none.
  void take_event (GstBaseTransform *element, GstEvent *event);
  void take_transition (GstStateChange transition);

  /// Waits for the tensor. Returns an Error::Kind::flushing after a flush or a stop.
  Expected<> await (GstIntegralHistogram *histogram);
  /// Lets a flush or a stop end what this thread asks, as long as the result lives.
  Interruptible interruptible () const { return Interruptible (*refusal_.flag ()); }

  /// Counts a frame that has no histogram and is no gap. Returns an error, with `usage` as a launch
  /// line, unless frames had one before or a producer upstream leaves frames out. A frame whose
  /// histogram is of weights is an error.
  Expected<> note_missing (GstBaseTransform *element, GstBuffer *buffer, const char *usage);

private:
  Refusal refusal_;
  bool found_ = false;
  guint missing_ = 0;  // frames since the start
};

}  // namespace integralhist
