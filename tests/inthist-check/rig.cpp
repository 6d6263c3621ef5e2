// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rig.hpp"

#include <cmath>

#include <unistd.h>

#include <kernels/clock.hpp>

namespace inthist::check {
namespace {

constexpr long kMinRing = 64 << 20;          // bytes
constexpr std::size_t kLargeSlot = 1 << 30;  // bytes: with larger buffers only one is compared

/// Bytes that the ring must exceed. A CPU's last cache is shared, and much larger than its L2.
std::size_t ring_bytes (Device device)
{
#if INTHIST_CUDA
  if (device == Device::cuda) {
    int now = 0, l2 = 0;
    CHECK_CUDA (cudaGetDevice (&now));
    CHECK_CUDA (cudaDeviceGetAttribute (&l2, cudaDevAttrL2CacheSize, now));
    return 4 * std::size_t (l2);
  }
#endif
  (void) device;
  const long l2 = sysconf (_SC_LEVEL2_CACHE_SIZE), l3 = sysconf (_SC_LEVEL3_CACHE_SIZE);
  return std::size_t (std::max ({ 4 * l2, 2 * l3, kMinRing }));  // unknown sizes are 0 or -1
}

/// Notes when each stage begins: an event on the stream, or the time.
class Marks : public StageListener {
public:
  explicit Marks (const Slot &slot) : stream_ (slot.stream) {}

  void begin (const char *stage) override
  {
    names.push_back (stage);
    mark ();
  }

  void mark ()
  {
#if INTHIST_CUDA
    if (stream_) {
      events_.push_back (must (cuda::make_event (cudaEventDefault)));
      CHECK_CUDA (cudaEventRecord (events_.back ().get (), stream_));
      return;
    }
#endif
    times_.push_back (Clock::now ());
  }

  /// Returns the time of stage i, once the device has passed the last mark.
  double seconds (std::size_t i) const
  {
#if INTHIST_CUDA
    if (stream_) {
      float milliseconds = 0;
      CHECK_CUDA (cudaEventElapsedTime (&milliseconds, events_[i].get (), events_[i + 1].get ()));
      return milliseconds / 1e3;
    }
#endif
    return std::chrono::duration<double> (times_[i + 1] - times_[i]).count ();
  }

  std::vector<std::string> names;

private:
  const Stream stream_;
  std::vector<Clock::time_point> times_;
#if INTHIST_CUDA
  std::vector<cuda::EventOwner> events_;
#endif
};

}  // namespace

double percentile (std::vector<double> values, double share)
{
  std::ranges::sort (values);
  return values[std::size_t (std::lround (share * double (values.size () - 1)))];
}

Rig::Rig (Device d, const Input &in, int buffers)
    : device (d), input (in), shape (in.c.shape), layout (in.c.layout ()),
      slot_bytes_ (
          std::max (tensor_bytes (shape, layout),
                    layout_with_border ().plane_pitch
                        * (shape.content == Content::sums && shape.bins == 2 ? 3 : shape.bins)))
{
  const Bytes &source = shape.content == Content::bins ? *input.c.video : input.pixels;
  std::size_t count = ring_bytes (device) / tensor_bytes (shape, layout) + 1;
  if (buffers > 0) {
    count = buffers;
  } else if (device == Device::cpu) {
    count = std::max<std::size_t> (2, count);
  } else {
    for (const int most : { kLanes, 2 })
      if (const std::size_t even = (count + most - 1) / most * most;
          even * slot_bytes_ <= free_bytes (device) / 2) {
        count = even;  // so that a buffer always meets the same lane
        lanes = most;
        break;
      }
  }
  for (std::size_t i = 0; i < count; i++) {
    ring_.push_back (memory (slot_bytes_));
    fill (device, ring_.back ().get (), poison_of (shape.counter), slot_bytes_);
  }
  for (int i = 0; i < lanes; i++) {
    images.push_back (memory (source.size ()));
    copy (device, images.back ().get (), source.data (), source.size ());
    bins.push_back (memory (padded_columns (shape.width) * shape.height));
#if INTHIST_CUDA
    if (device == Device::cuda) {
      streams_.push_back (must (cuda::make_stream ()));
      done_.push_back (must (cuda::make_event (cudaEventDisableTiming)));
    }
#endif
  }
#if INTHIST_CUDA
  if (device == Device::cuda) {
    start_ = must (cuda::make_event (cudaEventDefault));
    stop_ = must (cuda::make_event (cudaEventDefault));
  }
#endif
}

void Rig::make_workspaces (std::size_t first, std::size_t others)
{
  for (std::size_t lane = 0; lane < bins.size (); lane++)
    workspaces.push_back (memory (lane == 0 ? first : others));
}

Layout Rig::layout_with_border () const
{
  const std::size_t row = (std::size_t (shape.width + 1) * bytes_of (shape.counter) + 63) / 64 * 64;
  return { row, row * (shape.height + 1) };
}

Slot Rig::slot (int index, int lanes) const
{
  const int lane = index % lanes;
  Slot slot = { index, ring_[index].get (), lane, nullptr };
#if INTHIST_CUDA
  if (device == Device::cuda)
    slot.stream = streams_[lane].get ();
#endif
  return slot;
}

double Rig::lap (const Candidate &candidate)
{
  const auto frames = [&] {
    for (int i = 0; i < candidate.frames; i++)
      candidate.frame (slot (turn_++ % size (), candidate.lanes));
  };
#if INTHIST_CUDA
  if (device == Device::cuda) {
    CHECK_CUDA (cudaEventRecord (start_.get (), streams_[0].get ()));
    for (int i = 1; i < candidate.lanes; i++)
      CHECK_CUDA (cudaStreamWaitEvent (streams_[i].get (), start_.get (), 0));
    frames ();
    for (int i = 1; i < candidate.lanes; i++) {
      CHECK_CUDA (cudaEventRecord (done_[i].get (), streams_[i].get ()));
      CHECK_CUDA (cudaStreamWaitEvent (streams_[0].get (), done_[i].get (), 0));
    }
    CHECK_CUDA (cudaEventRecord (stop_.get (), streams_[0].get ()));
    CHECK_CUDA (cudaEventSynchronize (stop_.get ()));
    float milliseconds = 0;
    CHECK_CUDA (cudaEventElapsedTime (&milliseconds, start_.get (), stop_.get ()));
    return milliseconds / 1e3 / candidate.frames;
  }
#endif
  const auto start = Clock::now ();
  if (candidate.arena)
    candidate.arena->execute (frames);
  else
    frames ();
  return seconds_since (start) / candidate.frames;
}

std::string Rig::verify (const Candidate &candidate)
{
  for (const Memory &buffer : ring_)
    fill (device, buffer.get (), poison_of (shape.counter), slot_bytes_);
  if (candidate.poison)
    candidate.poison ();
  const int first = turn_;
  lap (candidate);
  got_.resize (slot_bytes_);
  const int most = slot_bytes_ > kLargeSlot ? 1 : size ();
  for (int i = first; i < std::min (turn_, first + most); i++) {
    copy (device, got_.data (), ring_[i % size ()].get (), slot_bytes_);
    const std::string wrong = candidate.wrong (got_);
    if (!wrong.empty ())
      return wrong;
  }
  return "";
}

std::vector<std::pair<std::string, double>> Rig::stages (const Candidate &candidate, int frames)
{
  std::vector<Marks> marks;
  for (int i = 0; i < frames; i++) {
    Slot to = slot (turn_++ % size (), 1);
    marks.emplace_back (to);
    to.listener = &marks.back ();
    candidate.frame (to);
    marks.back ().mark ();
  }
#if INTHIST_CUDA
  if (device == Device::cuda)
    CHECK_CUDA (cudaStreamSynchronize (streams_[0].get ()));
#endif
  std::vector<std::pair<std::string, double>> list;
  for (const std::string &name : marks.front ().names) {
    if (std::ranges::find (list, name, &std::pair<std::string, double>::first) != list.end ())
      continue;
    std::vector<double> sums;
    for (const Marks &frame : marks) {
      double sum = 0;
      for (std::size_t i = 0; i < frame.names.size (); i++)
        sum += frame.names[i] == name ? frame.seconds (i) : 0;
      sums.push_back (sum);
    }
    list.push_back ({ name, percentile (sums, 0.5) });
  }
  return list;
}

}  // namespace inthist::check
