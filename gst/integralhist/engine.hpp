// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The engines behind the C API and the producer element: tensors with a fence, a pool of tensors,
// and engines that fill them. No .hpp file of this folder is installed.
//
//   Engine::submit (frame) ──► Tensor, returned at once; the engine fills it later
//   Tensor::wait, ask, host     wait for the fence; submit waits only for a slot and a tensor
//
// An engine has `async-depth` slots, one for each frame in flight. A tensor stays out of the pool
// while somebody holds it; only a tensor may outlive its engine. A PartEngine also computes some of
// a frame's bins or rows. A sharded engine distributes frames over several part engines, or
// computes in rounds what does not fit one device. Failures are returned as an Error (error.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <query.hpp>

#include "error.hpp"
#include "gstintegralhistogram.h"
#include "host_memory.hpp"
#include "thread.hpp"
#include "tuning_cache.hpp"

namespace integralhist {

using inthist::Query;

class CudaContext;
struct Shard;

/// Some of a frame's bins in some of its rows.
struct Part {
  int first_bin = 0, bins = 0, first_row = 0, rows = 0;
};

inline inthist::Shape part_of (inthist::Shape shape, int bins, int rows)
{
  shape.bins = bins;
  shape.height = rows;
  return shape;
}

/// A host destination: a part's place in a frame's host tensor. u16-anchored parts have all rows.
struct Landing {
  std::byte *tensor = nullptr;
  inthist::Shape shape;  // of the whole frame
  Part part;

  /// Calls `copy (to, to_pitch, from, from_pitch, bytes, n)` for each block of n pieces of a part's
  /// tensor; `from` is an offset in that tensor.
  template <class Copy>
  void for_blocks (Copy &&copy) const
  {
    const inthist::Shape own = part_of (shape, part.bins, part.rows);
    const inthist::Layout all = inthist::layout_of (shape), piece = inthist::layout_of (own);
    std::byte *const to =
        tensor + part.first_bin * all.plane_pitch + part.first_row * all.row_pitch;
    const std::size_t planes = part.bins * piece.plane_pitch;
    if (part.rows == shape.height)
      copy (to, planes, 0, planes, planes, 1);
    else
      copy (to, all.plane_pitch, 0, piece.plane_pitch, piece.plane_pitch, part.bins);
    if (const std::size_t anchors = inthist::tensor_bytes (own, piece) - planes; anchors > 0)
      copy (tensor + shape.bins * all.plane_pitch + part.first_bin * (anchors / part.bins), anchors,
            planes, anchors, anchors, 1);
  }

  void copy (const std::byte *from) const
  {
    for_blocks ([from] (std::byte *to, std::size_t to_pitch, std::size_t offset, std::size_t pitch,
                        std::size_t bytes, int n) {
      for (int i = 0; i < n; i++)
        std::memcpy (to + i * to_pitch, from + offset + i * pitch, bytes);
    });
  }
};

/// What CUDA callers need; all null for a tensor in host memory.
struct CudaView {
  guint64 pointer = 0;
  void *event = nullptr, *context = nullptr;
  int device = -1;
};

/// One frame's tensor. Any thread may query it; queries wait for the fence.
class Tensor {
public:
  inthist::Shape shape;
  inthist::Layout layout;

  explicit Tensor (const inthist::Shape &of) : shape (of), layout (inthist::layout_of (of)) {}
  virtual ~Tensor () = default;
  Tensor (const Tensor &) = delete;
  Tensor &operator= (const Tensor &) = delete;

  /// Takes a shape that fits the memory. Part engines call this before anybody else has the tensor.
  void become (const inthist::Shape &of)
  {
    shape = of;
    layout = inthist::layout_of (of);
  }

  /// Waits at most `timeout` nanoseconds, then returns an Error::Kind::timeout.
  virtual Expected<> wait (GstClockTime timeout) = 0;
  /// Waits until a part is in its host destination, too.
  virtual Expected<> wait_for_landing (GstClockTime timeout) { return wait (timeout); }
  /// Answers into host memory, where carried values lie, too. Null `answers` ask for the best only.
  virtual Expected<> ask (std::span<const Query> queries) = 0;
  /// Enqueues queries on `stream`, which is of the tensor's context. Answers and carried values lie
  /// in device memory. The inputs lie in host memory and are read before this returns.
  virtual Expected<> ask_on (void * /*stream*/, std::span<const Query>)
  {
    return error (
        Error::Kind::failed,
        "the tensor is in host memory, where no stream orders anything: ask without a stream");
  }
  virtual Expected<const void *> host () = 0;
  virtual CudaView cuda () { return {}; }
  /// Waits for the shards and returns them in the order of bins; none where the tensor is whole.
  virtual Expected<std::span<const Shard>> shards () { return std::span<const Shard> (); }
  /// Keeps the tensor as it is until the work enqueued on `stream`, of its context, is done.
  virtual Expected<> add_reader (void * /*stream*/)
  {
    return error (Error::Kind::failed, "the tensor is in host memory, which no stream reads: keep "
                                       "a reference for as long as it is read");
  }

  /// Starts the copy to a host destination. The function that it returns waits for that.
  virtual Expected<std::function<Expected<> ()>> start_landing (const Landing &landing)
  {
    landing.copy (static_cast<const std::byte *> (TRY (host ())));
    return [] { return Expected<> (); };
  }

  /// Returns whether all work on the tensor is done; one that nobody holds can then be written.
  virtual bool at_rest () { return true; }
  /// Tells the tensor that nobody holds it any more.
  virtual void released () {}

  std::size_t bytes () const { return inthist::tensor_bytes (shape, layout); }

  /// Whether the engine holds the buffer (Engine::hold), and whether somebody has copied that
  /// buffer with the same memory.
  std::atomic<bool> lent = false, copied = false;
  /// Whether Options::failed has been called for this tensor's failure.
  std::atomic<bool> failure_told = false;
};

enum class Download { lazy, eager, never };

struct Options {
  const inthist::Strategy *strategy = nullptr;  // null for the fastest
  unsigned tuning_time = 200;                   // milliseconds
  unsigned async_depth = 3, max_tensors = 0;
  guint64 max_device_memory = 0;  // bytes of a device; 0 for all free
  int task_bins = 0;              // most bins of a task; 0 for what suits the devices
  Download download = Download::lazy;
  // Called once by an engine that is of no more use, maybe from its own thread.
  std::function<void (const Error &)> failed;
  // Called once for a frame that has waited a second for one of at most so many tensors.
  std::function<void (unsigned most)> still_waiting;
  Cancelled cancelled;  // set from a flush or a stop on: nothing may take long
};

/// A pool of tensors of one shape. It outlives its engine while tensors are out.
class TensorPool : public std::enable_shared_from_this<TensorPool> {
public:
  using Make = std::function<Expected<std::unique_ptr<Tensor>> (unsigned alive)>;

  /// Makes the first tensor at once, so that a shape that does not fit fails now. At most
  /// options.max_tensors exist. The pool makes another where none is left. Up to
  /// options.async_depth it also makes one where none is at rest, so that frames in flight do not
  /// wait for each other's memory. It keeps as many for reuse as were out at once of late.
  static Expected<std::shared_ptr<TensorPool>> create (Make make, const Options &options);

  /// Returns a tensor. At the limit it waits for one; an Error::Kind::flushing ends that.
  Expected<std::shared_ptr<Tensor>> acquire ();
  /// Returns how many tensors are held.
  unsigned n_out ();
  /// Returns whether acquire would wait; false when flushing.
  bool is_exhausted ();
  void set_flushing (bool flushing);
  /// Ends reuse: tensors that come back from now on are freed at once.
  void close ();

private:
  static constexpr unsigned kMemory = 256;

  TensorPool (Make make, const Options &options);

  void give_back (Tensor *tensor);

  const Make make_;
  const unsigned limit_;  // 0 for none
  const std::function<void (unsigned)> still_waiting_;
  std::mutex mutex_;  // guards all below
  std::condition_variable returned_;
  std::deque<std::unique_ptr<Tensor>> idle_;  // the longest idle in front
  unsigned alive_ = 0;
  const unsigned least_kept_;
  unsigned wanted_, kept_;
  unsigned acquired_ = 0, most_out_ = 0;  // most of the last kMemory calls of acquire
  bool flushing_ = false;
};

/// Where a frame's pixels lie. Pixels in host memory are copied before submit returns. Pinned host
/// memory and device memory are read later, in place.
enum class Place { host, pinned, device };

struct Frame {
  inthist::Image image;
  Place place = Place::host;
  // On the device: the stream that writes the pixels; null when they are written.
  inthist::Stream producer = nullptr;
  // For parts of a frame: its number from 1 on, the context of the pixels where another device may
  // have them, and a CUDA event that reads of them wait for.
  guint64 number = 0;
  std::shared_ptr<CudaContext> context = nullptr;
  void *there = nullptr;
};

struct Duration {
  guint64 sum = 0, max = 0, count = 0;  // nanoseconds
  void add (guint64 nanoseconds) { add (Duration{ nanoseconds, nanoseconds, 1 }); }
  void add (const Duration &other)
  {
    sum += other.sum;
    max = std::max (max, other.max);
    count += other.count;
  }
};

struct Stats {
  const char *backend = "none";
  int device = -1;
  guint64 frames = 0, in_flight = 0;
  guint64 bytes_up = 0, bytes_down = 0;
  guint64 bytes_staged = 0;  // of bytes_up, from unpinned memory
  Duration upload, compute, download;

  struct Share {
    int device;
    guint64 parts;
  };
  std::vector<Share> shares;  // parts that each device of a sharded engine computed
};

class Engine {
public:
  virtual ~Engine () = default;

  /// Returns the frame's tensor before it is computed, or an Error::Kind::flushing.
  virtual Expected<std::shared_ptr<Tensor>> submit (const Frame &frame) = 0;
  /// Holds the frame's buffer until its pixels have been read: the engine's reference makes the
  /// buffer unwritable. To be called after submit, before anybody else may write to the buffer.
  virtual Expected<> hold (GstBuffer *, Tensor &) { return {}; }
  /// Ends a wait for a tensor, and refuses new ones.
  virtual void set_flushing (bool flushing) = 0;
  /// Waits until all frames are computed or flushing starts. Engines that report failures need not.
  virtual Expected<> finish () { return {}; }
  /// Returns whether the engine is of no more use.
  virtual bool has_failed () { return false; }
  /// Drops frames whose tensors nobody holds, and calls none of the options' functions any more.
  /// This is the last call before the engine is dropped.
  virtual void abandon () {}
  virtual Stats stats () = 0;
  virtual const Plan &plan () const = 0;
  /// Returns how frames are computed, for the log.
  virtual std::string story () const { return plan ().story; }
};

/// An engine of parts of frames, which one thread calls.
class PartEngine : public Engine {
public:
  /// Returns a part's tensor, with its bins and rows only, before it is computed, or an
  /// Error::Kind::flushing. The engine copies it to the host tensor `landing`, if any. Strips of
  /// the same bins come in order, from the first row on.
  virtual Expected<std::shared_ptr<Tensor>> submit_part (const Frame &frame, const Part &part,
                                                         std::byte *landing) = 0;
  /// Announces that parts of this frame come next, so that its pixels can be uploaded meanwhile.
  virtual void expect (const Frame &) {}
  /// Returns whether those pixels are on the device, or never will be.
  virtual bool has_brought (const Frame &) { return true; }
  /// Returns whether submit_part would not wait.
  virtual bool is_free () = 0;
};

/// The largest part of a part engine: at most so many bins and rows, 0 for all.
struct Portion {
  int bins = 0, rows = 0;

  inthist::Shape of (const inthist::Shape &shape) const
  {
    return part_of (shape, bins ? bins : shape.bins, rows ? rows : shape.height);
  }
};

/// Returns a LUT with the bins of a part, numbered from 0.
inthist::Lut lut_of_part (const inthist::Lut &lut, const inthist::Shape &shape, const Part &part);

/// Makes a part engine on the CPU. It measures strategies (plan_for) unless the options name one,
/// which must take the shape.
Expected<std::unique_ptr<PartEngine>> make_cpu_engine (const inthist::Shape &shape,
                                                       const inthist::Lut &lut,
                                                       const Options &options,
                                                       const Portion &portion = {});

/// Answers queries from a tensor in host memory.
Expected<> answer_on_host (const Tensor &tensor, const void *data, std::span<const Query> queries);

GstIntegralHistogram *new_histogram (std::shared_ptr<Tensor> tensor);
Tensor &tensor_of (GstIntegralHistogram *histogram);

#if INTHIST_CUDA
/// A CUDA context: a device's primary one or an application's. A Scope makes it current.
class CudaContext {
public:
  /// Returns the number of devices, or 0 and the reason.
  static int device_count (std::string *why);

  static Expected<std::shared_ptr<CudaContext>> primary (int device);
  /// Wraps a context that `owner` keeps alive.
  static Expected<std::shared_ptr<CudaContext>> wrap (void *handle, int device,
                                                      std::shared_ptr<void> owner);
  ~CudaContext ();

  void *handle () const { return handle_; }
  int device () const { return device_; }
  std::size_t free_memory () const;
  Expected<> synchronize (inthist::Stream stream) const;
  /// Enqueues a copy from another context to this, the current one: a peer copy where possible.
  Expected<> copy_from (const CudaContext &other, const void *from, void *to, std::size_t bytes,
                        inthist::Stream stream) const;

  class Scope {
  public:
    explicit Scope (const CudaContext &context);
    ~Scope ();
    Scope (const Scope &) = delete;
    Scope &operator= (const Scope &) = delete;
    /// Returns false where the context is gone, which happens only when the process ends.
    explicit operator bool () const { return pushed_; }

  private:
    const bool pushed_;
  };

private:
  CudaContext (void *handle, int device, std::shared_ptr<void> owner)
      : handle_ (handle), device_ (device), owner_ (std::move (owner))
  {
  }

  void *handle_;
  int device_;
  std::shared_ptr<void> owner_;
};

Expected<std::unique_ptr<PartEngine>>
make_cuda_engine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options,
                  std::shared_ptr<CudaContext> context, const Portion &portion = {});

/// Allocates pinned memory for all devices.
Expected<HostMemory> allocate_pinned (std::shared_ptr<CudaContext> context, std::size_t bytes,
                                      const NoMemoryMessage &message);
/// Makes an allocator of pinned memory, which a device reads and writes in place. It makes plain
/// memory where no more can be pinned. (transfer full)
GstAllocator *new_pinned_allocator (std::shared_ptr<CudaContext> context);
/// Returns whether the bytes lie in memory of such an allocator.
bool is_pinned (GstMemory *memory, const void *data, std::size_t bytes);
#endif

}  // namespace integralhist
