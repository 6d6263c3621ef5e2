// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The two ends of a measured pipeline, which cost as little as an element can: a source of
// ready-made frames, and a sink that may ask each frame's tensor for its copy on the host.
#pragma once

#include <atomic>
#include <deque>

#include <gst/base/gstbasesink.h>
#include <gst/base/gstpushsrc.h>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/video/video.h>

/// Frames of noise, in buffers of the pool that downstream offers, or of one of its own. Each
/// buffer is filled the first time that it is seen, and pushed as it is from then on.
struct ReadySource {
  GstPushSrc parent;
  GstVideoInfo info;
  bool own_pool;                // of plain memory
  std::atomic<bool> *finished;  // then comes EOS
};

/// Counts frames, and keeps the last `kept` of their histograms.
struct CountingSink {
  GstBaseSink parent;
  std::atomic<guint64> frames;
  guint kept;
  bool map;  // the one that is kept longest, before it is let go of
  std::deque<GstIntegralHistogram *> *histograms;
};

ReadySource *new_ready_source (bool own_pool, std::atomic<bool> *finished);
CountingSink *new_counting_sink (guint kept, bool map);
