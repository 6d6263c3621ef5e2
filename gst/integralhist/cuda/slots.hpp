// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames in flight on a device. A slot holds the resources that one frame needs besides its tensor,
// and is free once the frame is done.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include <gst/integralhist/cuda/pictures/picture_cache.hpp>
#include <gst/integralhist/engine/engine.hpp>
#include <gst/integralhist/engine/part.hpp>

namespace integralhist {

struct Slot {
  inthist::cuda::StreamOwner stream;
  inthist::cuda::DeviceMemory pixels, workspace;
  std::optional<Shape> workspace_shape;                   // the shape that last used the workspace
  inthist::cuda::EventOwner ready, computed, downloaded;  // each event fires after its step
  inthist::cuda::EventOwner compute_started, download_started;  // only in measured frames
  const Picture *picture = nullptr;                             // null: pixels read in place
  bool busy = false, measured = false, upload_measured = false, downloads = false;

  cudaEvent_t done () const { return downloads ? downloaded.get () : computed.get (); }
};

/// Only one thread takes slots; any thread may call stats (). The CUDA context is current.
class Slots {
public:
  Slots (ContextRef context, unsigned n) : slots_ (std::move (context), n) {}
  CudaExpected<> open (const PartMemory &memory);

  CudaExpected<Slot *> next ();
  bool is_next_free ();
  CudaExpected<> await_readers (const Picture &picture);
  bool has_readers (const Picture &picture);
  void start (Slot &slot, guint64 bytes_down);

  Stats stats ();

  auto begin () { return slots_->begin (); }
  auto end () { return slots_->end (); }

private:
  Slot &at_turn () { return (*slots_)[stats_.frames % slots_->size ()]; }
  CudaExpected<> make_free (Slot &slot);

  std::mutex mutex_;  // guards stats_ and Slot::busy; never held during a wait
  Stats stats_;
  InContext<std::vector<Slot>> slots_;  // while a slot is busy, none of its other members changes
};

}  // namespace integralhist
