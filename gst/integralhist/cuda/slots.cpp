// SPDX-License-Identifier: LGPL-2.1-or-later
#include "slots.hpp"

#include <algorithm>

#include <gst/integralhist/base/log.hpp>
#include <gst/integralhist/base/trace.hpp>
#include <gst/integralhist/cuda/base/cuda_event.hpp>

namespace integralhist {

using namespace inthist::cuda;

static void note_times (const Slot &slot, Stats &stats)
{
  const auto add = [] (Duration &duration, const EventOwner &from, const EventOwner &to) {
    float milliseconds;
    if (cudaEventElapsedTime (&milliseconds, from.get (), to.get ()) == cudaSuccess)
      duration.add (guint64 (milliseconds * 1e6));
  };
  if (slot.upload_measured)
    add (stats.upload, slot.picture->upload_started, slot.picture->arrived);
  if (slot.measured)
    add (stats.compute, slot.compute_started, slot.computed);
  if (slot.measured && slot.downloads)
    add (stats.download, slot.download_started, slot.downloaded);
}

CudaExpected<> Slots::open (const PartMemory &memory)
{
  for (Slot &slot : *slots_) {
    slot.stream = TRY (make_stream ());
    trace_name (slot.stream.get (), "integral histogram: compute");
    slot.pixels = TRY (make_device_memory (memory.pixels));
    slot.workspace = TRY (make_device_memory (memory.workspace));
    for (EventOwner *event : { &slot.ready, &slot.computed, &slot.downloaded, &slot.compute_started,
                               &slot.download_started })
      *event = TRY (make_event (cudaEventBlockingSync));
  }
  return {};
}

CudaExpected<Slot *> Slots::next ()
{
  const TraceRange range ("integral histogram: wait for a slot");
  Slot &slot = at_turn ();
  TRY (make_free (slot));
  return &slot;
}

bool Slots::is_next_free ()
{
  const Slot &slot = at_turn ();
  return !slot.busy || has_fired (slot.done ());
}

CudaExpected<> Slots::await_readers (const Picture &picture)
{
  for (Slot &slot : *slots_)
    if (slot.picture == &picture)
      TRY (make_free (slot));
  return {};
}

bool Slots::has_readers (const Picture &picture)
{
  return std::ranges::any_of (*slots_, [&] (const Slot &slot) {
    return slot.busy && slot.picture == &picture && !has_fired (slot.done ());
  });
}

void Slots::start (Slot &slot, guint64 bytes_down)
{
  const std::lock_guard lock (mutex_);
  slot.busy = true;
  stats_.frames++;
  stats_.bytes_down += bytes_down;
}

Stats Slots::stats ()
{
  const std::lock_guard lock (mutex_);
  Stats stats = stats_;
  for (const Slot &slot : *slots_)
    if (slot.busy && !has_fired (slot.done ()))
      stats.in_flight++;
    else if (slot.busy)
      note_times (slot, stats);
  return stats;
}

/// Waits until the last frame of a slot is done, without holding the lock.
CudaExpected<> Slots::make_free (Slot &slot)
{
  if (!slot.busy)
    return {};
  GST_LOG ("slot %td: waiting for its last frame", &slot - slots_->data ());
  TRY (await (slot.done ()));
  const std::lock_guard lock (mutex_);
  note_times (slot, stats_);
  slot.busy = false;
  return {};
}

}  // namespace integralhist
