// SPDX-License-Identifier: LGPL-2.1-or-later
#include "on_demand_tensor.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include <kernels/cpu/in_parallel.hpp>
#include <kernels/registry.hpp>
#include <kernels/window.hpp>

#include <gst/integralhist/host/cpu_tensor.hpp>
#include <gst/integralhist/base/interruptible.hpp>
#include <gst/integralhist/base/log.hpp>
#include <gst/integralhist/memory/memory_messages.hpp>
#include <gst/integralhist/engine/picture_planes.hpp>
#include <gst/integralhist/base/tasks.hpp>

namespace integralhist {
namespace {

/// A part's tensor in host memory, computed.
class HostBox final : public Tensor {
public:
  HostBox (const inthist::Shape &of, HostMemory memory) : Tensor (of), memory_ (std::move (memory))
  {
  }

  void *data () { return memory_.get (); }
  Expected<> wait (GstClockTime) override { return {}; }
  Expected<> ask (std::span<const Query> queries) override
  {
    return answer_on_host ({ shape, layout, memory_.get () }, queries);
  }
  Expected<const void *> host () override { return memory_.get (); }

private:
  const HostMemory memory_;
};

/// Returns whether the CPU computes what an engine could not.
bool is_mended_here (const Error &error)
{
  return error.kind == Error::Kind::failed || error.kind == Error::Kind::no_memory;
}

void note_failure (const Error &error)
{
  GST_WARNING ("the CPU computes a frame instead: %s", error.message.c_str ());
}

}  // namespace

Expected<std::unique_ptr<DeviceValues>> OnDemandContext::values_for (const Frame &frame)
{
  std::unique_ptr<DeviceValues> values;
  {
    const std::lock_guard lock (mutex_);
    if (!free_values_.empty ()) {
      values = std::move (free_values_.back ());
      free_values_.pop_back ();
    }
  }
  if (!values) {
    values = TRY (assist->make (shape, device_answers));
    value_bytes += values->bytes ();
  }
  const auto kept = values->keep_in_place (
      { frame.image, frame.image.format.is_weighted () ? lut : kept_by (frame) }, frame.producer);
  if (kept)
    return values;
  drop (std::move (values));
  return tl::make_unexpected (kept.error ());
}

void OnDemandContext::drop (std::unique_ptr<DeviceValues> values)
{
  value_bytes -= values->bytes ();
}

void OnDemandContext::give_back (std::unique_ptr<DeviceValues> values)
{
  const std::lock_guard lock (mutex_);
  free_values_.push_back (std::move (values));
}

void OnDemandContext::add_time (guint64 nanoseconds)
{
  const std::lock_guard lock (mutex_);
  time_.add (nanoseconds);
}

Duration OnDemandContext::time ()
{
  const std::lock_guard lock (mutex_);
  return time_;
}

void OnDemandContext::note_released (bool for_all)
{
  const std::lock_guard lock (mutex_);
  streak_ = for_all ? Streak{ streak_.all + 1, 0 } : Streak{ 0, streak_.less + 1 };
}

OnDemandContext::Streak OnDemandContext::streak ()
{
  const std::lock_guard lock (mutex_);
  return streak_;
}

/// Moves a query from the frame to a part of it that has all of its windows. `list` keeps a list
/// of them.
Expected<Query> OnDemandTensor::moved (Query query, const Region &to, const inthist::Shape &frame,
                                       std::unique_ptr<Region[]> &list)
{
  if (query.windows.list) {
    list.reset (new (std::nothrow) Region[query.windows.n]);
    if (!list)
      return error (Error::Kind::no_memory, "the host has no memory for ", query.windows.n,
                    " windows: ask in parts");
    for (int i = 0; i < query.windows.n; i++) {
      list[i] = window_of (query.windows, i, frame);
      list[i].x -= to.x, list[i].y -= to.y;
    }
    query.windows.list = list.get ();
  } else {
    query.windows.grid.x -= to.x, query.windows.grid.y -= to.y;
  }
  return query;
}

inthist::Shape OnDemandTensor::shape_of (const Region &region) const
{
  inthist::Shape of = shape;
  of.width = region.width;
  of.height = region.height;
  if (!is_whole (region))
    of.counter = inthist::Type::u32;  // small anyway
  return of;
}

void OnDemandTensor::released ()
{
  frames_->note_released (demand_.is_for_all ());
  box_ = nullptr;
  demand_.forget ();
}

Expected<std::unique_lock<std::mutex>> OnDemandTensor::lock ()
{
  std::unique_lock lock (mutex_);
  TRY (Interruptible::wait (changed_, lock, [this] { return !computing_; }));
  return lock;
}

Expected<std::shared_ptr<const OnDemandTensor::Box>>
OnDemandTensor::box_of (std::unique_lock<std::mutex> &lock, const Region &part)
{
  if (box_ && is_within (part, box_->region))
    return box_;
  box_ = std::make_shared<const Box> (
      Box{ part, TRY (unlocked (lock, [&] { return compute (part); })) });
  demand_.note_computed (part);
  return box_;
}

Expected<std::unique_ptr<EngineTensor>>
HostOnDemandTensor::create (const std::shared_ptr<OnDemandContext> &frames, unsigned,
                            const Cancelled &cancelled)
{
  const std::size_t bytes = value_bytes (frames->shape);
  const auto message = [bytes] (const Available &available) {
    return no_memory ("the pixels of a frame", bytes, available) + ": lower max-tensors";
  };
  // a GPU reads the values of a table, else the picture
  HostMemory values = TRY (frames->shape.content == inthist::Content::powers
                               ? frames->allocate (bytes, message, cancelled)
                               : allocate_on_host (bytes, message, cancelled));
  return std::unique_ptr<EngineTensor> (
      new HostOnDemandTensor (frames, std::move (values), cancelled));
}

Expected<> HostOnDemandTensor::keep (const Frame &frame)
{
  const inthist::Image &image = frame.image;
  const inthist::Lut &lut = frames_->kept_by (frame);
  auto *const to = reinterpret_cast<std::uint8_t *> (values_.get ());
  const std::size_t width = shape.width;
  source_.reset ();
  on_device_ = false;
  if (image.format.is_weighted () || !image.format.reads_pixels ())
    return keep_picture (frame);
  if (!image.format.is_plain () || lut != frames_->identity)
    return check_host (
        inthist::cpu::bin_image ({ image, lut }, shape.width, shape.height, { to, width }));
  for (int y = 0; y < shape.height; y++)
    std::memcpy (to + y * width, static_cast<const std::byte *> (image.data) + y * image.stride,
                 width);
  return {};
}

Expected<> HostOnDemandTensor::keep_picture (const Frame &frame)
{
  const PicturePlanes planes (frame.image, shape.width, shape.height);
  const std::size_t bytes = planes.size ();
  if (bytes > picture_bytes_) {
    frames_->value_bytes -= std::exchange (picture_bytes_, 0);
    picture_ = nullptr;
    picture_ = TRY (frames_->allocate (
        bytes,
        [bytes] (const Available &available) {
          return no_memory ("the picture of a frame", bytes, available) + ": lower max-tensors";
        },
        cancelled_));
    frames_->value_bytes += picture_bytes_ = bytes;
  }
  source_ = { planes.stage (picture_.get ()).image_in (picture_.get ()),
              frame.image.format.is_weighted () ? frames_->lut : frames_->kept_by (frame) };
  made_.assign (std::size_t (inthist::divide_up (shape.width, kTileColumns))
                    * inthist::divide_up (shape.height, kTileRows),
                false);
  return {};
}

template <class RegionOf, class See>
void HostOnDemandTensor::each_missing_tile (int n, RegionOf &&region, See &&see) const
{
  if (!source_)
    return;
  const int columns = inthist::divide_up (shape.width, kTileColumns);
  for (int i = 0; i < n; i++) {
    const Region r = region (i);
    if (r.width == 0 || r.height == 0)
      continue;
    const int first = r.x / kTileColumns, last = (r.x + r.width - 1) / kTileColumns;
    for (int y = r.y / kTileRows; y <= (r.y + r.height - 1) / kTileRows; y++)
      for (int tile = y * columns + first; tile <= y * columns + last; tile++)
        if (!made_[tile])
          see (tile);
  }
}

template <class RegionOf>
Expected<> HostOnDemandTensor::need_values (std::unique_lock<std::mutex> &lock, int n,
                                            RegionOf &&region)
{
  bool some = false;
  each_missing_tile (n, region, [&] (int) { some = true; });
  return some ? unlocked (lock, [&] { return make_values (n, region); }) : Expected<> ();
}

template <class RegionOf>
Expected<> HostOnDemandTensor::make_values (int n, RegionOf &&region)
{
  const int columns = inthist::divide_up (shape.width, kTileColumns);
  std::vector<int> tiles;
  each_missing_tile (n, region, [&] (int tile) {
    made_[tile] = true;
    tiles.push_back (tile);
  });
  if (tiles.empty ())
    return {};
  std::ranges::sort (tiles);
  std::vector<Region> runs;  // of tiles in a row
  for (std::size_t i = 0; i < tiles.size (); i++) {
    const int x = tiles[i] % columns * kTileColumns, y = tiles[i] / columns * kTileRows,
              width = std::min (kTileColumns, shape.width - x);
    if (i > 0 && tiles[i] == tiles[i - 1] + 1 && x > 0)
      runs.back ().width += width;
    else
      runs.push_back ({ x, y, width, std::min (kTileRows, shape.height - y) });
  }
  auto *const to = reinterpret_cast<std::uint8_t *> (values_.get ());
  auto made = check_host (inthist::cpu::bin_regions (
      *source_, shape.width, shape.height, runs,
      { to, std::size_t (shape.width) * inthist::bytes_of (shape.pixel) }, Interruptible::flag ()));
  if (!made)
    for (const int tile : tiles)
      made_[tile] = false;
  return made;
}

void HostOnDemandTensor::released ()
{
  whole_ = nullptr;
  OnDemandTensor::released ();
}

inthist::Binning HostOnDemandTensor::binning (const Region &region) const
{
  const std::size_t bytes = inthist::bytes_of (shape.pixel), stride = shape.width * bytes;
  return { { values_.get () + region.y * stride + region.x * bytes, std::ptrdiff_t (stride), {} },
           frames_->lut };
}

Expected<> HostOnDemandTensor::ask (std::span<const Query> queries)
{
  for (const Query &query : queries)
    TRY (ask_one (query));
  return {};
}

/// Answers a query without the lock, once the values of its windows are there.
Expected<> HostOnDemandTensor::answer_from_pixels (std::unique_lock<std::mutex> locked,
                                                   const Query &query)
{
  TRY (need_values (locked, query.windows.size (),
                    [&] (int i) { return window_of (query.windows, i, shape); }));
  locked.unlock ();
  frames_->pixel_answers++;
  return check_host (inthist::cpu::answer_pixels (binning ({}), shape, query));
}

Expected<DeviceValues *> HostOnDemandTensor::prepare (std::span<const Region> regions)
{
  if (frames_->assist && TRY (prepare_on_device (regions)))
    return device_values_.get ();
  if (regions.size () > 1) {
    auto locked = TRY (lock ());
    TRY (need_values (locked, int (regions.size ()), [&] (int i) { return regions[i]; }));
  }
  return nullptr;
}

/// Makes the values on the GPU, if that is worth it. Returns whether they are there.
Expected<bool> HostOnDemandTensor::prepare_on_device (std::span<const Region> regions)
{
  // Pixels that are asked for: in all, and of those of a frame, which are all uploaded; half of
  // that where the last frame was there, so that targets stay. Measured on an H100 with one target
  // of 352x288 and 100 of 1920x1080, and judged between.
  constexpr double kEnough = 8000, kEnoughOfFrame = 1.0 / 8;
  double pixels = 0;
  for (const Region &region : regions)
    pixels += double (region.width) * region.height;
  const double enough = std::max (kEnough, kEnoughOfFrame * double (shape.width) * shape.height);
  auto locked = TRY (lock ());
  if (on_device_)
    return true;
  if (frames_->assist_failed || pixels < (frames_->assist_was_used ? enough / 2 : enough)) {
    frames_->assist_was_used = false;
    return false;
  }
  const auto kept = unlocked (locked, [&] () -> Expected<> {
    if (!device_values_)
      device_values_ = TRY (frames_->assist->make (shape, frames_->device_answers));
    return device_values_->keep (
        source_ ? *source_ : inthist::Binning{ binning ({}).image, frames_->identity });
  });
  const std::size_t bytes = device_values_ ? device_values_->bytes () : 0;
  frames_->value_bytes += bytes - std::exchange (device_bytes_, bytes);
  frames_->assist_was_used = on_device_ = kept.has_value ();
  if (!kept && !is_mended_here (kept.error ()))
    return tl::make_unexpected (kept.error ());
  if (!kept) {
    frames_->assist_failed = true;
    note_failure (kept.error ());
  }
  return on_device_;
}

/// Counts cells from pixels where that costs less than a tensor.
Expected<> HostOnDemandTensor::ask_cells (std::span<const CellsQuery> queries)
{
  auto locked = TRY (lock ());
  if (on_device_ && device_values_->takes (queries)) {
    locked.unlock ();
    const auto added = device_values_->add_up_cells (queries, frames_->lut);
    if (added || !is_mended_here (added.error ()))
      return added;
    note_failure (added.error ());
    locked = TRY (lock ());
    on_device_ = false;
  }
  if (!demand_.counts_cells (queries)) {
    locked.unlock ();
    return Tensor::ask_cells (queries);
  }
  struct Part {
    const inthist::Cells &cells;
    inthist::Scores scores;
    std::int64_t *sums;
  };
  std::vector<Part> parts;
  double pixels = 0;
  for (const CellsQuery &query : queries) {
    std::int64_t *to = query.sums;
    for (const inthist::Cells &cells : query.grids) {
      parts.push_back ({ cells, query.scores, to });
      to += cells.size () * (query.scores.empty () ? std::size_t (shape.bins) : 1);
      pixels += double (cells.around ().width) * cells.around ().height;
    }
  }
  const int n = int (parts.size ());
  TRY (need_values (locked, n, [&] (int i) { return parts[std::size_t (i)].cells.around (); }));
  locked.unlock ();
  frames_->pixel_answers++;

  const inthist::Binning binning = this->binning ({});
  // small grids share a task, and a large one is cut into several by add_up_cells
  const int tasks = std::clamp (int (pixels / inthist::cpu::kPixelsOfATask), 1, std::max (n, 1));
  return in_parallel (n, tasks, [&] (int i) -> Expected<> {
    const Part &part = parts[std::size_t (i)];
    return check_host (
        inthist::cpu::add_up_cells (binning, shape, part.cells, part.scores, part.sums));
  });
}

Expected<> HostOnDemandTensor::ask_one (const Query &query)
{
  auto locked = TRY (lock ());
  if (on_device_) {
    locked.unlock ();
    const auto counted = count_windows (*device_values_, shape, frames_->lut, query);
    if (counted ? *counted : !is_mended_here (counted.error ()))
      return counted ? Expected<> () : tl::make_unexpected (counted.error ());
    locked = TRY (lock ());
    if (!counted) {
      note_failure (counted.error ());
      on_device_ = false;
    }
  }
  const std::optional<Region> part = demand_.tensor_for (query);
  if (!part)
    return answer_from_pixels (std::move (locked), query);
  if (is_whole (*part))
    if (const auto all = TRY (try_behind (locked))) {
      locked.unlock ();
      auto answered = all->ask ({ &query, 1 });
      if (answered || answered.error ().kind != Error::Kind::failed)
        return answered;
      note_failure (answered.error ());
      locked = TRY (lock ());
    }
  const auto found = box_of (locked, *part);
  locked.unlock ();
  if (!found && adds_up (query) && found.error ().kind == Error::Kind::no_memory)
    return answer_from_pixels (TRY (lock ()), query);
  return ask_box (*TRY (found), query, [] (Tensor &tensor, std::span<const Query> queries) {
    return tensor.ask (queries);
  });
}

Expected<std::shared_ptr<Tensor>> HostOnDemandTensor::compute (const Region &region)
{
  const auto start = std::chrono::steady_clock::now ();
  TRY (make_values (1, [&] (int) { return region; }));
  const inthist::Shape of = shape_of (region);
  const inthist::Layout layout = inthist::layout_of (of);
  const inthist::Strategy *strategy = frames_->plan.choice.strategy;
  inthist::Tuning tuning = frames_->plan.choice.tuning;
  if (!inthist::accepts (*strategy, of, tuning)) {
    strategy = inthist::preferred_strategy (inthist::Device::cpu, of);
    tuning = {};
  }

  const bool bins = of.content == inthist::Content::bins;
  const std::size_t tensor_bytes = inthist::tensor_bytes (of, layout),
                    stride = inthist::bin_stride (of.width),
                    pixel_bytes = bins ? stride * of.height : 0,
                    workspace_bytes = strategy->workspace_bytes (of, tuning);
  const auto message = [&] (const Available &available) {
    return no_memory_for_tensor (of, tensor_bytes, available, 0);
  };
  const auto take = [&] (std::size_t bytes) -> Expected<HostMemory> {
    return bytes > 0 ? frames_->memory->take (bytes, message) : HostMemory ();
  };
  auto box = std::make_shared<HostBox> (of, TRY (take (tensor_bytes)));
  const HostMemory pixels = TRY (take (pixel_bytes)), workspace = TRY (take (workspace_bytes));
  const inthist::Binning binning = this->binning (region);
  frames_->computing++;
  const auto outcome = check_host (inthist::run (
      *strategy,
      { .shape = of,
        .layout = layout,
        .pixels =
            bins ? inthist::PixelPlane{ reinterpret_cast<std::uint8_t *> (pixels.get ()), stride }
                 : inthist::plane_of (binning.image),
        .tensor = box->data (),
        .workspace = workspace.get (),
        .tuning = tuning,
        .binning = bins ? &binning : nullptr,
        .cancelled = Interruptible::flag () }));
  frames_->computing--;
  TRY (outcome);
  frames_->count (is_whole (region));
  frames_->add_time (std::chrono::nanoseconds (std::chrono::steady_clock::now () - start).count ());
  return box;
}

/// Returns the whole tensor of the engine behind. Has it computed without the lock, if it must.
Expected<std::shared_ptr<Tensor>>
HostOnDemandTensor::whole_behind (std::unique_lock<std::mutex> &lock)
{
  if (whole_)
    return whole_;
  auto computed = unlocked (lock, [&] () -> Expected<std::shared_ptr<Tensor>> {
    TRY (make_values (1, [&] (int) { return demand_.frame (); }));
    return frames_->whole_engine->compute (binning ({}).image);
  });
  whole_ = TRY (std::move (computed));
  demand_.note_computed (demand_.frame ());
  frames_->count (true);
  return whole_;
}

/// Does the same; returns null where there is no engine, where it has failed, and where a whole
/// tensor is here already.
Expected<std::shared_ptr<Tensor>>
HostOnDemandTensor::try_behind (std::unique_lock<std::mutex> &lock)
{
  std::shared_ptr<Tensor> none;
  if (!frames_->whole_engine || (box_ && is_whole (box_->region)))
    return none;
  auto all = whole_behind (lock);
  if (all || !is_mended_here (all.error ()))
    return all;
  note_failure (all.error ());
  return none;
}

Expected<const void *> HostOnDemandTensor::host ()
{
  auto locked = TRY (lock ());
  if (const auto all = TRY (try_behind (locked))) {
    locked.unlock ();
    auto data = all->host ();
    if (data || data.error ().kind != Error::Kind::failed)
      return data;
    note_failure (data.error ());
    locked = TRY (lock ());
  }
  return TRY (box_of (locked, demand_.frame ()))->tensor->host ();
}

Expected<std::span<const Shard>> HostOnDemandTensor::shards ()
{
  auto locked = TRY (lock ());
  const auto all = TRY (try_behind (locked));
  locked.unlock ();
  return all ? all->shards () : Tensor::shards ();
}

// What only a tensor on a GPU has.

/// Returns the whole tensor of a GPU; null where no GPU computes.
Expected<std::shared_ptr<Tensor>> HostOnDemandTensor::on_gpu ()
{
  if (!frames_->whole_engine || frames_->whole_engine->device != inthist::Device::cuda)
    return std::shared_ptr<Tensor> ();
  auto locked = TRY (lock ());
  return whole_behind (locked);
}

CudaView HostOnDemandTensor::cuda ()
{
  const auto all = on_gpu ();
  return all && *all ? (*all)->cuda () : CudaView ();
}

Expected<> HostOnDemandTensor::ask_on (inthist::Stream stream, std::span<const Query> queries)
{
  const auto all = TRY (on_gpu ());
  return all ? all->ask_on (stream, queries) : Tensor::ask_on (stream, queries);
}

Expected<> HostOnDemandTensor::add_reader (inthist::Stream stream)
{
  const auto all = TRY (on_gpu ());
  return all ? all->add_reader (stream) : Tensor::add_reader (stream);
}

void HostOnDemandTensor::add_all_readers ()
{
  if (const auto all = on_gpu (); all && *all)
    (*all)->add_all_readers ();
}

Expected<> HostOnDemandTensor::wait_on (inthist::Stream stream)
{
  const auto all = TRY (on_gpu ());
  return all ? all->wait_on (stream) : Tensor::wait_on (stream);
}

}  // namespace integralhist
