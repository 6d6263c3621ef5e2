// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What stands behind the C API and the producer element: tensors with a fence, a pool of them, and
// engines that fill them. Not installed.
//
//   Engine::submit (frame) ──► Tensor, at once: the promise; the engine goes on filling it
//   Tensor::wait, ask, host           here, and only here, somebody waits
//
// An engine has `async-depth` lanes, each with what one frame in the making needs; a tensor is out
// of the pool for as long as somebody holds it, and is the only thing that may outlive the engine.
// A PartEngine also computes some bins, or some rows, of a frame; a sharded engine shares frames
// out over several of them, or computes in rounds what does not fit one. What goes wrong is an
// Error (error.hpp).
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

/// Some of a frame's bins, in some of its rows.
struct Part {
  int first_bin = 0, bins = 0, first_row = 0, rows = 0;
};

/// Of a part's tensor.
inline inthist::Shape part_of (inthist::Shape shape, int bins, int rows)
{
  shape.bins = bins;
  shape.height = rows;
  return shape;
}

/// A part's place in a whole frame's tensor in host memory. A u16-anchored tensor is made of parts
/// with all rows.
struct Landing {
  std::byte *tensor = nullptr;
  inthist::Shape shape;  // of the whole
  Part part;

  /// Calls `copy (to, to_pitch, from, from_pitch, bytes, n)` for each block of n pieces of a part's
  /// tensor, `from` being its offset.
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

  /// From host memory.
  void copy (const std::byte *from) const
  {
    for_blocks ([from] (std::byte *to, std::size_t to_pitch, std::size_t offset, std::size_t pitch,
                        std::size_t bytes, int n) {
      for (int i = 0; i < n; i++)
        std::memcpy (to + i * to_pitch, from + offset + i * pitch, bytes);
    });
  }
};

/// For CUDA callers; all null in host memory.
struct CudaView {
  guint64 pointer = 0;
  void *event = nullptr, *context = nullptr;
  int device = -1;
};

/// One frame's tensor. Any thread may ask; the answers wait for the fence.
class Tensor {
public:
  inthist::Shape shape;
  inthist::Layout layout;

  explicit Tensor (const inthist::Shape &of) : shape (of), layout (inthist::layout_of (of)) {}
  virtual ~Tensor () = default;
  Tensor (const Tensor &) = delete;
  Tensor &operator= (const Tensor &) = delete;

  /// For an engine of parts, before anybody else has it: it has room for this shape.
  void become (const inthist::Shape &of)
  {
    shape = of;
    layout = inthist::layout_of (of);
  }

  /// Waits at most `timeout` nanoseconds, after which it is an Error::Kind::timeout.
  virtual Expected<> wait (GstClockTime timeout) = 0;
  /// Waits for the part's way to its landing, too.
  virtual Expected<> wait_for_landing (GstClockTime timeout) { return wait (timeout); }
  /// Answers into host memory, where also lies what is carried; where `answers` is null only the
  /// best is wanted.
  virtual Expected<> ask (std::span<const Query> queries) = 0;
  /// On a GPU: answers into memory of the device, by the time that `stream`, of the same context,
  /// has done what is enqueued here. What is asked lies in host memory and has been read, what is
  /// carried in the device's.
  virtual Expected<> ask_on (void * /*stream*/, std::span<const Query>)
  {
    return error (
        Error::Kind::failed,
        "the tensor is in host memory, where no stream orders anything: ask without a stream");
  }
  /// The tensor in host memory.
  virtual Expected<const void *> host () = 0;
  virtual CudaView cuda () { return {}; }
  /// Where the tensor is in parts, in the order of bins; waits for them.
  virtual Expected<std::span<const Shard>> shards () { return std::span<const Shard> (); }
  /// Records what `stream`, of the tensor's context, has enqueued: the tensor's memory is not
  /// written again before that is done.
  virtual Expected<> add_reader (void * /*stream*/)
  {
    return error (Error::Kind::failed, "the tensor is in host memory, which no stream reads: keep "
                                       "a reference for as long as it is read");
  }

  /// Starts to copy it to its place in a whole tensor; what comes back waits for that.
  virtual Expected<std::function<Expected<> ()>> start_landing (const Landing &landing)
  {
    landing.copy (static_cast<const std::byte *> (TRY (host ())));
    return [] { return Expected<> (); };
  }

  /// Whether nothing is left to do with it: of one that nobody holds, whether it can be written at
  /// once.
  virtual bool at_rest () { return true; }
  /// Nobody holds it any more.
  virtual void released () {}

  std::size_t bytes () const { return inthist::tensor_bytes (shape, layout); }

  /// Whether the frame that carries it is lent (Engine::hold), and has been copied meanwhile, with
  /// the same memory.
  std::atomic<bool> lent = false, copied = false;
  /// Whether Options::failed was told why it could not be computed.
  std::atomic<bool> failure_told = false;
};

enum class Download { lazy, eager, never };

struct Options {
  const inthist::Strategy *strategy = nullptr;  // null for the fastest
  unsigned tuning_time = 200;                   // milliseconds
  unsigned async_depth = 3, max_tensors = 0;
  guint64 max_device_memory = 0;  // bytes of a device, 0 for what is free
  int task_bins = 0;  // most bins of a task of a sharded engine, 0 for what suits the devices
  Download download = Download::lazy;
  std::function<void (const Error &)>
      failed;  // called once by an engine that is of no more use, maybe by a thread of its own
  std::function<void (unsigned most)>
      still_waiting;  // called when a frame has waited a second for one of at most so many tensors,
                      // once for each frame
  Cancelled cancelled;  // set while nothing may take long: from a flush or a stop on
};

/// Tensors of one shape. It outlives its engine for as long as tensors are out.
class TensorPool : public std::enable_shared_from_this<TensorPool> {
public:
  using Make = std::function<Expected<std::unique_ptr<Tensor>> (unsigned alive)>;

  /// At most options.max_tensors exist at once. The first is made here, so that a shape that does
  /// not fit fails now; others where none is left or, up to options.async_depth, where none is at
  /// rest, so that frames in flight need not wait for each other's memory. As many stay for reuse
  /// as were out at once of late.
  static Expected<std::shared_ptr<TensorPool>> create (Make make, const Options &options);

  /// Waits at the limit until a tensor comes back; when flushing that is an error of this kind.
  Expected<std::shared_ptr<Tensor>> acquire ();
  /// Tensors that somebody holds.
  unsigned n_out ();
  /// Whether acquire would wait; false when flushing.
  bool is_exhausted ();
  void set_flushing (bool flushing);
  /// No more reuse: what comes back from now on is freed at once.
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
  std::deque<std::unique_ptr<Tensor>> idle_;  // the one that has waited longest in front
  unsigned alive_ = 0;
  const unsigned least_kept_;
  unsigned wanted_, kept_;
  unsigned acquired_ = 0, most_out_ = 0;  // most at once, of each kMemory calls of acquire
  bool flushing_ = false;
};

/// Where a frame's pixels lie. Those in host memory are copied before submit returns; pinned host
/// memory and the engine's device are read later, where they are.
enum class Place { host, pinned, device };

/// One frame's pixels.
struct Frame {
  inthist::Image image;
  Place place = Place::host;
  inthist::Stream producer =
      nullptr;  // on the device: the stream that writes the pixels, or null when they are there
  // for parts of a frame: its number, from 1 on, the context of pixels that another device may
  // have, and a CUDA event to wait for before they are read there
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
  guint64 bytes_staged = 0;  // of those up, from memory that was not pinned
  Duration upload, compute, download;

  struct Share {
    int device;
    guint64 parts;
  };
  std::vector<Share> shares;  // of frames that are shared out: what each device has computed
};

class Engine {
public:
  virtual ~Engine () = default;

  /// Promises the frame's tensor. When flushing that is an error of this kind.
  virtual Expected<std::shared_ptr<Tensor>> submit (const Frame &frame) = 0;
  /// Behind submit, with the frame's buffer and its tensor, before anybody else may write to it: it
  /// stays as it is until its pixels have been read. A reference that the engine takes makes it
  /// unwritable meanwhile.
  virtual Expected<> hold (GstBuffer *, Tensor &) { return {}; }
  /// Ends a wait for a tensor, and refuses new ones.
  virtual void set_flushing (bool flushing) = 0;
  /// Waits until all frames are computed, unless flushing, where what goes wrong would not be told
  /// otherwise.
  virtual Expected<> finish () { return {}; }
  /// Whether it is of no more use.
  virtual bool has_failed () { return false; }
  /// Gives up the frames whose tensors nobody holds, and calls nothing of the options any more. The
  /// last call before the engine is dropped.
  virtual void abandon () {}
  virtual Stats stats () = 0;
  virtual const Plan &plan () const = 0;
  /// For the log: how frames are computed.
  virtual std::string story () const { return plan ().story; }
};

/// Called by one thread.
class PartEngine : public Engine {
public:
  /// Promises the tensor of a part, with its bins and rows only, and with a `landing` copies it
  /// there as soon as it is there. Of a frame's bins, strips of rows come one after another, from
  /// the first row on. When flushing that is an error of this kind.
  virtual Expected<std::shared_ptr<Tensor>> submit_part (const Frame &frame, const Part &part,
                                                         std::byte *landing) = 0;
  /// Parts of this frame come next: its pixels may be brought while others are computed.
  virtual void expect (const Frame &) {}
  /// Whether they are there, or never will be.
  virtual bool has_brought (const Frame &) { return true; }
  /// Whether submit_part would not wait.
  virtual bool is_free () = 0;
};

/// What an engine of parts is made for: at most so many bins and rows at once, 0 for all.
struct Portion {
  int bins = 0, rows = 0;

  inthist::Shape of (const inthist::Shape &shape) const
  {
    return part_of (shape, bins ? bins : shape.bins, rows ? rows : shape.height);
  }
};

/// The bins of a part, numbered from 0.
inthist::Lut lut_of_part (const inthist::Lut &lut, const inthist::Shape &shape, const Part &part);

/// An engine of parts, of portions where they are given. Measures strategies, maybe (plan_for). The
/// one that the options name, if any, must take the shape.
Expected<std::unique_ptr<PartEngine>> make_cpu_engine (const inthist::Shape &shape,
                                                       const inthist::Lut &lut,
                                                       const Options &options,
                                                       const Portion &portion = {});

/// Asks a tensor in host memory.
Expected<> answer_on_host (const Tensor &tensor, const void *data, std::span<const Query> queries);

GstIntegralHistogram *new_histogram (std::shared_ptr<Tensor> tensor);
Tensor &tensor_of (GstIntegralHistogram *histogram);

#if INTHIST_CUDA
/// A CUDA context, the primary one of a device or an application's. Scope makes it current for a
/// few calls.
class CudaContext {
public:
  /// Number of devices, or 0 with the reason.
  static int device_count (std::string *why);

  static Expected<std::shared_ptr<CudaContext>> primary (int device);
  /// `owner` keeps the context alive.
  static Expected<std::shared_ptr<CudaContext>> wrap (void *handle, int device,
                                                      std::shared_ptr<void> owner);
  ~CudaContext ();

  void *handle () const { return handle_; }
  int device () const { return device_; }
  /// Bytes that are free on the device.
  std::size_t free_memory () const;
  Expected<> synchronize (inthist::Stream stream) const;
  /// Enqueues a copy from memory of another context to this one's, which is current; directly from
  /// device to device where they can.
  Expected<> copy_from (const CudaContext &other, const void *from, void *to, std::size_t bytes,
                        inthist::Stream stream) const;

  class Scope {
  public:
    explicit Scope (const CudaContext &context);
    ~Scope ();
    Scope (const Scope &) = delete;
    Scope &operator= (const Scope &) = delete;
    /// False where the context is gone, which it only is when the process ends.
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

/// Pinned, for all devices.
Expected<HostMemory> allocate_pinned (std::shared_ptr<CudaContext> context, std::size_t bytes,
                                      const NoMemoryMessage &message);
/// Makes memory that a device reads and writes without a copy on the way; plain memory where no
/// more can be pinned. (transfer full)
GstAllocator *new_pinned_allocator (std::shared_ptr<CudaContext> context);
/// Whether the bytes lie in memory of such an allocator.
bool is_pinned (GstMemory *memory, const void *data, std::size_t bytes);
#endif

}  // namespace integralhist
