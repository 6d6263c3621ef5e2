// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Histograms and tables on a GPU, several frames in flight. Poostchi et al. (2017, section 4.4, Algorithm 6) upload one image while they compute another; here each frame
// has a slot, of which there are `async-depth`, and streams do all but the first step:
//
//   streaming thread   copies the picture to pinned memory, if it does not lie there; enqueues the rest; returns
//   upload             the picture, to the device, if it does not lie there                  ──► event: it is there
//   compute            waits for that; the strategy. A stream for each slot, as the small passes of one frame hide behind the writes of another
//   download           waits for that; the tensor, to pinned memory, if it is wanted early   ──► event: the slot is free
//
// Events order them. The streaming thread waits only for the frame that had the slot before, `async-depth` frames ago. Several parts of one frame read the same picture, each from a slot of its own.
#include <cstring>

#include "cuda_rows.hpp"
#include "loans.hpp"
#include "trace.hpp"

namespace integralhist {
namespace {

using namespace inthist::cuda;

class CudaEngine final : public PartEngine {
public:
  CudaEngine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options, Context context, const Portion &portion)
      : shape_ (shape), most_ (portion.of (shape)), lut_ (lut), download_ (options.download), context_ (std::move (context)),
        queries_ (std::make_shared<Queries> (context_)), slots_ (options.async_depth),
        pictures_ (options.async_depth + (portion.bins > 0 ? 1 : 0))
  {
    on (*context_, [&] {
      try {
        allocate (options);
      } catch (...) {
        release ();
        throw;
      }
    });
    loans_ = std::make_unique<Loans> (context_);
  }

  ~CudaEngine () override
  {
    const CudaContext::Scope scope (*context_);
    for (const Slot &slot : slots_)
      settle (slot);
    loans_.reset ();
    release ();
  }

  std::shared_ptr<Tensor> submit (const Frame &frame) override
  {
    return submit_part (frame, { 0, shape_.bins, 0, shape_.height }, nullptr);
  }

  bool is_free () override
  {
    return on (*context_, [&] {
      const std::lock_guard lock (mutex_);
      const Slot &slot = slots_[stats_.frames % slots_.size ()];
      return (!slot.busy || has_fired (done (slot))) && !pool_->is_exhausted ();
    });
  }

  void expect (const Frame &frame) override
  {
    on (*context_, [&] {
      const std::lock_guard lock (mutex_);
      const Picture *const next = &pictures_[brought_ % pictures_.size ()];
      const auto is_read = [&] (const Slot &slot) { return slot.busy && slot.picture == next && !has_fired (done (slot)); };
      if (!is_here (frame) && !known (frame, 0) && std::ranges::none_of (slots_, is_read))
        fetch (frame.image, { 0, shape_.bins, 0, shape_.height }, frame, measure_now ());
    });
  }

  bool has_brought (const Frame &frame) override
  {
    return on (*context_, [&] {
      const std::lock_guard lock (mutex_);
      const Picture *const picture = known (frame, 0);
      return !picture || has_fired (picture->there.get ());
    });
  }

  std::shared_ptr<Tensor> submit_part (const Frame &frame, const Part &part, std::byte *landing) override
  {
    const TraceRange range ("integral histogram: submit");
    return on (*context_, [&] {
      Slot &slot = next_slot ();
      loans_->give_back ();  // outside of the lock: what comes back may be the last of its buffer
      const auto tensor = next_tensor ();
      if (!tensor)
        return tensor;
      tensor->become (part_of (shape_, part.bins, part.rows));
      const std::lock_guard lock (mutex_);
      try {
        slot.measured = measure_now ();
        const inthist::Image image = bring (frame, part, slot);
        compute (image, part, *tensor, slot);
        slot.downloads = landing || download_ == Download::eager;
        if (slot.downloads)
          download (*tensor, { landing, shape_, part }, slot);
      } catch (...) {
        settle (slot);  // part of it may be under way
        throw;
      }
      slot.busy = true;
      last_read_ = frame.place == Place::host ? nullptr : frame.place == Place::pinned ? slot.picture->there.get () : slot.computed.get ();
      last_computed_ = slot.computed.get ();
      stats_.frames++;
      return tensor;
    });
  }

  void hold (GstBuffer *buffer, Tensor &tensor) override
  {
    if (last_read_)
      on (*context_, [&] {
        if (loans_->are_in_the_way ())
          await (last_read_);
        else if (!has_fired (last_read_))
          loans_->add (buffer, tensor, last_read_);
      });
  }

  void set_flushing (bool flushing) override { pool_->set_flushing (flushing); }

  Stats stats () override
  {
    const std::lock_guard lock (mutex_);
    const CudaContext::Scope scope (*context_);
    Stats stats = stats_;
    stats.backend = "cuda";
    stats.device = context_->device ();
    for (Slot &slot : slots_)
      if (slot.busy && cudaEventQuery (done (slot)) == cudaErrorNotReady)
        stats.in_flight++;
      else
        note_times (slot, stats);
    return stats;
  }

  const Plan &plan () const override { return plan_; }

private:
  template <class Memory>
  struct Sized {
    Memory memory;
    std::size_t bytes = 0;
  };

  /// A frame's pixels, or those of a strip of its rows, on their way to the device and there.
  struct Picture {
    Sized<PinnedMemory> staging;
    Sized<DeviceMemory> image;
    EventOwner upload_started, there;
    guint64 frame = 0;
    int first_row = -1;  // none yet
    bool timed = false;  // and not counted yet
    std::size_t pitch = 0;
  };

  /// What a frame needs until its tensor is done.
  struct Slot {
    StreamOwner stream;
    DeviceMemory pixels, workspace;
    EventOwner ready, computed, downloaded;                                    // end of a stream's part
    EventOwner compute_started, download_started;                              // recorded where the frame is measured
    const Picture *picture = nullptr;                                          // that it reads; null where pixels are read where they lie
    bool busy = false, measured = false, uploaded = false, downloads = false;  // uploaded: timed
  };

  void allocate (const Options &options)
  {
    const auto make = [shape = most_, context = context_, queries = queries_, download = download_] (unsigned alive) {
      try {
        return std::make_unique<CudaTensor> (shape, alive, context, queries, download);
      } catch (const CudaError &error) {
        fail (error);
      }
    };
    pool_ = std::make_shared<TensorPool> (make, options);
    plan_ = plan_for (inthist::Device::cuda, most_, options.strategy, options.tuning_time, int (options.async_depth),
                      static_cast<CudaTensor &> (*pool_->acquire ()).data ());
    const std::size_t workspace = std::max<std::size_t> (plan_.choice.strategy->workspace_bytes (most_, plan_.choice.tuning), 1);
    upload_stream_ = make_stream ();
    download_stream_ = make_stream ();
    trace_name (upload_stream_.get (), "integral histogram: upload");
    trace_name (download_stream_.get (), "integral histogram: download");
    for (Slot &slot : slots_) {
      slot.stream = make_stream ();
      trace_name (slot.stream.get (), "integral histogram: compute");
      slot.pixels = make_device_memory (inthist::bin_stride (most_.width) * most_.height);
      slot.workspace = make_device_memory (workspace);
      for (EventOwner *event : { &slot.ready, &slot.computed, &slot.downloaded, &slot.compute_started, &slot.download_started })
        *event = make_event (cudaEventBlockingSync);
    }
    for (Picture &picture : pictures_)
      for (EventOwner *event : { &picture.upload_started, &picture.there })
        *event = make_event (cudaEventBlockingSync);
    if (most_.height < shape_.height)
      above_ = make_device_memory (above_bytes ());
  }

  std::size_t above_bytes () const { return sizeof (std::uint32_t) * most_.bins * most_.width; }

  void release ()
  {
    slots_.clear ();
    pictures_.clear ();
    above_.reset ();
    upload_stream_.reset ();
    download_stream_.reset ();
    if (pool_)
      pool_->close ();
  }

  static cudaEvent_t done (const Slot &slot) { return slot.downloads ? slot.downloaded.get () : slot.computed.get (); }

  /// Waits until the slot's last frame is done.
  void make_free (Slot &slot)
  {
    if (!slot.busy)
      return;
    await (done (slot));
    note_times (slot, stats_);
    slot.busy = false;
  }

  /// Free.
  Slot &next_slot ()
  {
    const TraceRange range ("integral histogram: wait for a slot");
    const std::lock_guard lock (mutex_);
    Slot &slot = slots_[stats_.frames % slots_.size ()];
    make_free (slot);
    return slot;
  }

  /// Null when flushing. A buffer that is lent has its tensor, too, so where there is no other those are waited for.
  std::shared_ptr<CudaTensor> next_tensor ()
  {
    const TraceRange range ("integral histogram: wait for a tensor");
    for (;;) {
      const guint64 given_back = loans_->given_back ();
      try {
        while (pool_->is_exhausted () && loans_->settle_oldest ()) {
        }
        return std::static_pointer_cast<CudaTensor> (pool_->acquire ());
      } catch (const Error &error) {
        // one that came back meanwhile may have been the one that was missing
        if (error.code != GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY || (!loans_->settle_oldest () && loans_->given_back () == given_back))
          throw;
      }
    }
  }

  /// Whatever became of its frame.
  void settle (const Slot &slot)
  {
    for (cudaStream_t stream : { upload_stream_.get (), slot.stream.get (), download_stream_.get () })
      cudaStreamSynchronize (stream);
  }

  /// At most once a millisecond: a frame at 30 a second is measured, and where tens of thousands come, one of them in tens, so that the others need not pay for it.
  bool measure_now ()
  {
    const gint64 now = g_get_monotonic_time ();
    if (now - last_measured_ < 1000)
      return false;
    last_measured_ = now;
    return true;
  }

  void note_times (const Slot &slot, Stats &stats) const
  {
    if (!slot.busy)
      return;
    const auto add = [] (Duration &duration, const EventOwner &from, const EventOwner &to) {
      float milliseconds;
      if (cudaEventElapsedTime (&milliseconds, from.get (), to.get ()) == cudaSuccess)
        duration.add (guint64 (milliseconds * 1e6));
    };
    if (slot.uploaded)
      add (stats.upload, slot.picture->upload_started, slot.picture->there);
    if (slot.measured)
      add (stats.compute, slot.compute_started, slot.computed);
    if (slot.measured && slot.downloads)
      add (stats.download, slot.download_started, slot.downloaded);
  }

  /// The part's rows on the device, for the slot's stream.
  inthist::Image bring (const Frame &frame, const Part &part, Slot &slot)
  {
    slot.picture = nullptr;
    slot.uploaded = false;
    inthist::Image rows = frame.image;
    rows.data = static_cast<const std::byte *> (rows.data) + part.first_row * rows.stride;
    if (is_here (frame)) {
      if (frame.producer) {
        check (cudaEventRecord (slot.ready.get (), frame.producer));
        check (cudaStreamWaitEvent (slot.stream.get (), slot.ready.get (), 0));
      }
      if (frame.there)
        check (cudaStreamWaitEvent (slot.stream.get (), static_cast<cudaEvent_t> (frame.there), 0));
      return rows;
    }
    Picture *picture = frame.number > 0 ? known (frame, part.first_row) : nullptr;
    if (!picture)
      picture = &fetch (rows, part, frame, slot.measured);
    slot.uploaded = std::exchange (picture->timed, false);
    check (cudaStreamWaitEvent (slot.stream.get (), picture->there.get (), 0));
    slot.picture = picture;
    return { picture->image.memory.get (), picture->pitch, frame.image.format };
  }

  bool is_here (const Frame &frame) const
  {
    return frame.place == Place::device && (!frame.context || frame.context->handle () == context_->handle ());
  }

  /// Null where it is not on the device, nor on its way.
  Picture *known (const Frame &frame, int first_row)
  {
    const auto found =
        std::ranges::find_if (pictures_, [&] (const Picture &p) { return p.first_row == first_row && p.frame == frame.number; });
    return found == pictures_.end () ? nullptr : &*found;
  }

  /// That nobody reads.
  Picture &next_picture ()
  {
    Picture &picture = pictures_[brought_++ % pictures_.size ()];
    picture.first_row = -1;
    for (Slot &slot : slots_)
      if (slot.picture == &picture)
        make_free (slot);
    return picture;
  }

  /// Has a part's rows copied from wherever they are.
  Picture &fetch (const inthist::Image &image, const Part &part, const Frame &frame, bool measured)
  {
    const bool on_host = frame.place != Place::device;
    Picture &picture = next_picture ();
    Rows from = rows_of (image, shape_.width, part.rows);
    if (frame.place == Place::host)
      from = stage (from, picture);
    picture.pitch = on_host ? from.pitch : image.stride;
    reserve (&Picture::image, make_device_memory, picture.pitch * part.rows);
    if (measured)
      check (cudaEventRecord (picture.upload_started.get (), upload_stream_.get ()));
    cudaStream_t stream = upload_stream_.get ();
    if (on_host) {
      upload (from, picture.image.memory.get (), stream);
      stats_.bytes_up += from.bytes * from.n;
    } else {
      if (frame.there)
        check (cudaStreamWaitEvent (stream, static_cast<cudaEvent_t> (frame.there), 0));
      context_->copy_from (*frame.context, image.data, picture.image.memory.get (), image.stride * (part.rows - 1) + from.bytes, stream);
    }
    check (cudaEventRecord (picture.there.get (), upload_stream_.get ()));
    picture.frame = frame.number;
    picture.first_row = part.first_row;
    picture.timed = measured;
    return picture;
  }

  /// Copies them to pinned memory.
  Rows stage (const Rows &rows, Picture &picture)
  {
    const TraceRange range ("integral histogram: copy to pinned memory");
    reserve (&Picture::staging, make_pinned_memory, rows.size ());
    std::byte *const to = picture.staging.memory.get ();
    if (rows.are_close ())
      std::memcpy (to, rows.data, rows.pitch * (rows.n - 1) + rows.bytes);
    else
      for (int y = 0; y < rows.n; y++)
        std::memcpy (to + y * rows.pitch, rows.data + y * rows.stride, rows.bytes);
    stats_.bytes_staged += rows.bytes * rows.n;
    return { to, rows.n, rows.bytes, rows.pitch, rows.pitch };
  }

  /// For all pictures at once, so that one frame pays for all.
  template <class Memory>
  void reserve (Sized<Memory> Picture::*which, Memory (*make) (std::size_t), std::size_t bytes)
  {
    for (Picture &picture : pictures_)
      if (auto &has = picture.*which; has.bytes < bytes) {
        picture.first_row = -1;
        for (Slot &slot : slots_)
          if (slot.picture == &picture)
            make_free (slot);
        has.bytes = 0;
        has.memory = make (bytes);
        has.bytes = bytes;
      }
  }

  void compute (const inthist::Image &image, const Part &part, CudaTensor &tensor, Slot &slot)
  {
    cudaStream_t stream = slot.stream.get ();
    tensor.reuse (stream);
    if (slot.measured)
      check (cudaEventRecord (slot.compute_started.get (), stream));
    const inthist::Binning binning = { image, lut_of_part (lut_, shape_, part) };
    check (inthist::run (*plan_.choice.strategy, { tensor.shape,
                                                   tensor.layout,
                                                   { reinterpret_cast<guint8 *> (slot.pixels.get ()), inthist::bin_stride (shape_.width) },
                                                   tensor.data (),
                                                   slot.workspace.get (),
                                                   stream,
                                                   plan_.choice.tuning,
                                                   nullptr,
                                                   &binning }));
    if (part.rows < shape_.height) {
      // one strip after another, whatever their streams
      if (last_computed_)
        check (cudaStreamWaitEvent (stream, last_computed_, 0));
      if (part.first_row == 0)
        check (cudaMemsetAsync (above_.get (), 0, above_bytes (), stream));
      check (inthist::cuda::add_above (tensor.shape, tensor.layout, tensor.data (), reinterpret_cast<std::uint32_t *> (above_.get ()),
                                       stream));
    }
    tensor.set_computed (stream);
    check (cudaEventRecord (slot.computed.get (), stream));
  }

  /// To its landing, or to pinned memory of its own.
  void download (CudaTensor &tensor, const Landing &landing, Slot &slot)
  {
    cudaStream_t stream = download_stream_.get ();
    check (cudaStreamWaitEvent (stream, slot.computed.get (), 0));
    if (slot.measured)
      check (cudaEventRecord (slot.download_started.get (), stream));
    if (landing.tensor)
      tensor.land (landing, stream);
    else
      tensor.start_download (stream);
    check (cudaEventRecord (slot.downloaded.get (), stream));
    stats_.bytes_down += tensor.bytes ();
  }

  const inthist::Shape shape_, most_;  // of the frame, and of the largest part
  const inthist::Lut lut_;
  const Download download_;
  const Context context_;
  const std::shared_ptr<Queries> queries_;
  std::shared_ptr<TensorPool> pool_;
  Plan plan_;
  StreamOwner upload_stream_, download_stream_;
  DeviceMemory above_;  // H in the row above the next strip
  std::unique_ptr<Loans> loans_;

  // of the frame that was submitted last
  cudaEvent_t last_read_ = nullptr;  // for hold (); null where nothing is read later
  cudaEvent_t last_computed_ = nullptr;

  std::mutex mutex_;  // guards all below
  std::vector<Slot> slots_;
  std::vector<Picture> pictures_;
  std::size_t brought_ = 0;
  gint64 last_measured_ = 0;
  Stats stats_;
};

}  // namespace

std::unique_ptr<PartEngine>
make_cuda_engine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options, std::shared_ptr<CudaContext> context,
                  const Portion &portion)
{
  return std::make_unique<CudaEngine> (shape, lut, options, std::move (context), portion);
}

}  // namespace integralhist
