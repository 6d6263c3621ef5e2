// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The state of a running producer, and how a flush or a stop ends the work of its engine.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include <gst/integralhist/base/cancel.hpp>
#include <gst/integralhist/engine/destroy_engine.hpp>
#include <gst/integralhist/engine/part.hpp>

#include "clipped_regions.hpp"
#include "compute_devices.hpp"
#include "gstcudaintegral.hpp"
#include "load_shedder.hpp"
#include "producer_properties.hpp"
#include "region_reporter.hpp"
#include "score_table.hpp"

namespace integralhist {

struct ProducerState {
  std::shared_ptr<const ProducerProperties> properties = std::make_shared<ProducerProperties> ();

  // Set when the element starts and stops, used by the streaming thread. While the element runs,
  // only the properties sync, interval, regions, qos and cudaintegralimage's lut change.
  ProducerProperties settings;
  BinRange range;               // the bins that are computed
  inthist::Lut lut;             // LUT from values of pixels to bins or scores
  ScoreTable scores;            // of a summed-area table
  inthist::Shape shape;         // frame size and planes; 0x0 before the first frame
  FrameFormat input;            // of the frames
  inthist::PixelFormat format;  // how the kernels read pixels
  guint64 frames = 0;
  std::atomic<int> feature = -1;  // feature of the running element; -1 if stopped
  bool live = false;              // by the last latency query
  ClippedRegions regions;
  ComputeDevices devices;
  LoadShedder shedder;
  std::atomic<bool> is_shed = false;              // the last frame passed without a tensor
  std::shared_ptr<GstCudaIntegral> leader;        // decides which frames are shed, if not null
  GstPadChainFunction transform_chain = nullptr;  // the base class's chain function
  std::atomic<GstClockTime> latency = 0;          // the pipeline's latency by the last event
  std::atomic<bool> error_posted = false;         // an error of the element was posted
  bool gray_warned = false;                       // since the start, of a feature of colours
  std::atomic<guint64> attached = 0, n_shed = 0;  // counts: frames with a tensor, shed frames
  CancelSource cancel;                            // ends all waits on a flush or a stop
  std::unique_ptr<RegionReporter> reporter;       // from start to stop

  std::mutex mutex;  // guards the engine pointer; always locked last
  std::shared_ptr<Engine> engine;

  std::shared_ptr<Engine> engine_in_use ()
  {
    const std::lock_guard lock (mutex);
    return engine;
  }

  /// Lets the engine finish its frames, and drops it; the next frame gets a new engine.
  void drop_engine ()
  {
    std::shared_ptr<Engine> last;
    {
      const std::lock_guard lock (mutex);
      last = std::exchange (engine, nullptr);
    }
    const CancelScope scope (cancel.flag ());
    destroy_engine (std::move (last));
  }

  /// Waits until all frames are computed, and all messages about regions are posted.
  Expected<> finish ()
  {
    const CancelScope scope (cancel.flag ());
    if (reporter)
      reporter->drain ();
    const auto used = engine_in_use ();
    return used ? used->finish () : Expected<> ();
  }

  /// Ends a flush: drops frames and messages that still wait, and forgets failures.
  void flush ()
  {
    cancel.set_flushing (true);  // in case no FLUSH_START came before FLUSH_STOP
    if (reporter)
      reporter->flush ();
    (void) finish ();  // forgets failures; does not wait during a flush
    if (auto used = engine_in_use (); used && used->has_failed ()) {
      used.reset ();  // drop_engine () must have the last reference, which waits for work
      drop_engine ();
    }
    cancel.set_flushing (false);
    error_posted = false;
    shedder.reset ();
  }

  void forget_frame_size ()
  {
    drop_engine ();
    shape.width = shape.height = 0;
    error_posted = false;
    regions.forget_size ();
  }
};

}  // namespace integralhist
