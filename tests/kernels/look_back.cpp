// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tiles of look-back wait for each other. These tests run it while other kernels hold the GPU: on a
// single free processor, next to kernels that fill the chip, and in several streams at once. Small
// tables, which clusters compute (cluster_table.cuh), take part where no processor is held.
//
// Environment: devices.hpp
#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include <kernels/registry.hpp>

#include "devices.hpp"
#if INTHIST_CUDA
#include "busy.hpp"
#endif
#include "test.hpp"

namespace {

#if INTHIST_CUDA
using Clock = std::chrono::steady_clock;

Case table (int width, int height, Type pixel, Type counter, int planes = 1)
{
  return case_of (Shape{ width, height, planes, counter, Content::sums, pixel }, Pattern::noise);
}

const Strategy &look_back ()
{
  return *find_strategy ("look-back");
}

/// Returns the cases that look-back takes; it takes floats only in builds with published
/// strategies.
std::vector<Case> taken (std::vector<Case> cases)
{
  std::erase_if (cases, [] (const Case &c) { return !accepts (look_back (), c.shape); });
  return cases;
}

int attribute (cudaDeviceAttr what)
{
  int device = 0, value = 0;
  CHECK_CUDA (cudaGetDevice (&device));
  CHECK_CUDA (cudaDeviceGetAttribute (&value, what, device));
  return value;
}

long long cycles (double seconds)
{
  return static_cast<long long> (seconds * 1e3 * attribute (cudaDevAttrClockRate));
}

/// A table that is computed again and again on a stream of its own.
class TableStream {
public:
  explicit TableStream (const Case &c)
      : input_ (c), frame_ (Device::cuda, input_, true),
        workspace_ (Device::cuda, look_back ().workspace_bytes (c.shape, {})), queue_ (Device::cuda)
  {
    workspace_.poison ();
  }

  void run ()
  {
    Job job = frame_.job (workspace_, queue_);
    job.workspace_kept = std::exchange (kept_, true);
    fail_unless_equals_int (inthist::run (look_back (), job), 0);
  }

  bool is_done () const { return cudaStreamQuery (queue_.stream) == cudaSuccess; }

  Bytes tensor ()
  {
    queue_.wait ();
    return frame_.tensor.get ();
  }

  void check ()
  {
    queue_.wait ();
    expect_none (frame_.wrong (), input_.c.name ());
  }

private:
  const Input input_;
  Frame frame_;
  Block workspace_;
  Queue queue_;
  bool kept_ = false;
};

/// Memory that the host and the device see.
class SharedBusy {
public:
  SharedBusy ()
  {
    CHECK_CUDA (
        cudaHostAlloc (reinterpret_cast<void **> (&busy_), sizeof (Busy), cudaHostAllocMapped));
    std::memset (busy_, 0, sizeof *busy_);
  }
  ~SharedBusy () { cudaFreeHost (busy_); }
  SharedBusy (const SharedBusy &) = delete;
  SharedBusy &operator= (const SharedBusy &) = delete;

  Busy *operator->() const { return busy_; }
  Busy *get () const { return busy_; }

private:
  Busy *busy_ = nullptr;
};

std::vector<Case> tables ()
{
  return taken ({ table (1500, 1100, Type::u8, Type::u32), table (4100, 3400, Type::u8, Type::u32),
                  table (1400, 500, Type::u8, Type::u32, 2),
                  table (1500, 1100, Type::f32, Type::f32), table (900, 700, Type::f64, Type::f64),
                  table (300, 500, Type::f32x4, Type::f32x4) });
}

/// Holds all processors but one, so that only a few tiles run at a time.
void run_one_processor ()
{
  constexpr auto kPatience = std::chrono::seconds (20);
  const int held = attribute (cudaDevAttrMultiProcessorCount) - 1;
  SharedBusy busy;
  Queue other (Device::cuda);
  std::vector<std::unique_ptr<TableStream>> streams;
  for (const Case &c : tables ())
    streams.push_back (std::make_unique<TableStream> (c));
  for (auto &stream : streams) {  // loads the kernels
    stream->run ();
    stream->check ();
  }
  fail_unless_equals_int (keep_busy (busy.get (), held,
                                     attribute (cudaDevAttrMaxSharedMemoryPerBlockOptin),
                                     cycles (4 * kPatience.count ()), other.stream),
                          0);
  const auto end = Clock::now () + kPatience;
  const auto is_late = [&] { return Clock::now () > end; };
  const auto all_started = [&] {
    return std::count (busy->started, busy->started + held, 1) == held;
  };
  while (!all_started () && !is_late ())
    std::this_thread::yield ();
  const bool all_run = all_started ();
  for (auto &stream : streams)
    stream->run ();
  bool done = false;
  while (!done && !is_late ())
    done = std::ranges::all_of (streams, [] (const auto &stream) { return stream->is_done (); });
  busy->done = 1;
  other.wait ();
  fail_unless (all_run, "the other processors are not held");
  fail_unless (done, "look-back did not end on one processor");
  for (auto &stream : streams)
    stream->check ();
}

/// Floating sums depend on the order of additions, so an order that depends on which tile comes
/// first shows as other bits.
void run_beside ()
{
  const int runs = small_cases () ? 5 : 1000,
            blocks = 4 * attribute (cudaDevAttrMultiProcessorCount);
  SharedBusy busy;
  Queue other (Device::cuda);
  for (const Case &c :
       taken ({ table (700, 500, Type::f32, Type::f32), table (500, 400, Type::f64, Type::f64),
                table (300, 200, Type::f32x4, Type::f32x4) })) {
    TableStream stream (c);
    stream.run ();
    const Bytes first = stream.tensor ();
    for (int i = 0; i < runs; i++) {
      fail_unless_equals_int (keep_busy (busy.get (), blocks, 0, cycles (20e-6), other.stream), 0);
      stream.run ();
      fail_unless (stream.tensor () == first, "%s: other bits in run %d", c.name ().c_str (), i);
    }
    stream.check ();
  }
}

void run_at_once ()
{
  const int rounds = small_cases () ? 10 : 25000;
  std::vector<std::unique_ptr<TableStream>> streams;
  for (const Case &c :
       taken ({ table (300, 200, Type::u8, Type::u32), table (400, 300, Type::u8, Type::u32, 2),
                table (1300, 260, Type::u8, Type::u32), table (1300, 140, Type::u8, Type::u32, 2),
                table (260, 200, Type::f32, Type::f32), table (200, 150, Type::f64, Type::f64) }))
    streams.push_back (std::make_unique<TableStream> (c));
  for (int i = 0; i < rounds; i++)
    for (auto &stream : streams)
      stream->run ();
  for (auto &stream : streams)
    stream->check ();
}
#else
void run_one_processor () {}
void run_beside () {}
void run_at_once () {}
#endif

}  // namespace

TEST (one_processor)
{
  if (have (Device::cuda, "one_processor"))
    run_one_processor ();
}

TEST (beside)
{
  if (have (Device::cuda, "beside"))
    run_beside ();
}

TEST (at_once)
{
  if (have (Device::cuda, "at_once"))
    run_at_once ();
}
