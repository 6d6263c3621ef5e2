// SPDX-License-Identifier: LGPL-2.1-or-later
#include "on_demand_tensor.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include <kernels/registry.hpp>
#include <kernels/window.hpp>

#include "answer_cost.hpp"
#include "cpu_tensor.hpp"
#include "interruptible.hpp"
#include "log.hpp"
#include "memory_messages.hpp"

namespace integralhist {
namespace {

using inthist::Query;
using inthist::Question;
using inthist::Region;

/// The pixels from the first to before the last, anywhere.
struct Extent {
  std::int64_t x0 = INT64_MAX, y0 = INT64_MAX, x1 = INT64_MIN, y1 = INT64_MIN;

  void add (std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height)
  {
    x0 = std::min (x0, x), x1 = std::max (x1, x + width);
    y0 = std::min (y0, y), y1 = std::max (y1, y + height);
  }
  bool is_empty () const { return x1 <= x0 || y1 <= y0; }
};

/// Returns the part of the frame around all windows of a query; of one pixel if they all lie
/// outside.
Region around (const Query &query, const inthist::Shape &shape)
{
  const inthist::Windows &windows = query.windows;
  Extent patches, all;
  for (int p = 0; p < query.n_patches; p++) {
    const Region &patch = query.patches[p];
    patches.add (patch.x, patch.y, patch.width, patch.height);
  }
  const auto add = [&] (const inthist::Corner &corner, int width, int height) {
    if (query.question != Question::votes)
      all.add (corner.x, corner.y, width, height);
    else if (!patches.is_empty ())
      all.add (corner.x + patches.x0, corner.y + patches.y0, patches.x1 - patches.x0,
               patches.y1 - patches.y0);
  };
  if (windows.list) {
    for (int i = 0; i < windows.n; i++)
      add (corner_of (windows, i), windows.list[i].width, windows.list[i].height);
  } else {
    const inthist::Grid &grid = windows.grid;
    for (const int i : { 0, windows.size () - 1 })
      add (corner_of (windows, i), grid.window_width, grid.window_height);
  }
  if (all.is_empty ())
    return { 0, 0, 1, 1 };
  const int x0 = inthist::between (0, all.x0, shape.width - 1),
            y0 = inthist::between (0, all.y0, shape.height - 1);
  return { x0, y0, inthist::between (1, all.x1 - x0, shape.width - x0),
           inthist::between (1, all.y1 - y0, shape.height - y0) };
}

Region both (const Region &a, const Region &b)
{
  if (a.width == 0)
    return b;
  const int x0 = std::min (a.x, b.x), y0 = std::min (a.y, b.y);
  return { x0, y0, std::max (a.x + a.width, b.x + b.width) - x0,
           std::max (a.y + a.height, b.y + b.height) - y0 };
}

/// Returns the pixels of all windows, as often as they are in one.
double pixels_of (const Query &query, const inthist::Shape &shape)
{
  double pixels = 0;
  for (int i = 0; i < query.windows.size (); i++) {
    const Region window = window_of (query.windows, i, shape);
    pixels += double (window.width) * window.height;
  }
  return pixels;
}

/// Moves a query from the frame to a part of it that has all of its windows. `list` keeps a list
/// of them.
Expected<Query> moved (Query query, const Region &to, const inthist::Shape &frame,
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

/// Tells whether a query can be moved. A vote's window counts before it is clipped.
bool can_move (const Query &query, const Region &to)
{
  const inthist::Grid &grid = query.windows.grid;
  return query.windows.list
             ? query.question != Question::votes
             : std::int64_t (grid.x) - to.x >= INT_MIN && std::int64_t (grid.y) - to.y >= INT_MIN;
}

}  // namespace

void OnDemandFrames::note_computed (bool whole, guint64 nanoseconds)
{
  (whole ? wholes : boxes)++;
  const std::lock_guard lock (mutex_);
  computed_.add (nanoseconds);
}

Duration OnDemandFrames::computed ()
{
  const std::lock_guard lock (mutex_);
  return computed_;
}

void OnDemandFrames::note (bool whole)
{
  const std::lock_guard lock (mutex_);
  last_ = whole ? Row{ last_.whole + 1, 0 } : Row{ 0, last_.less + 1 };
}

OnDemandFrames::Row OnDemandFrames::last ()
{
  const std::lock_guard lock (mutex_);
  return last_;
}

Expected<OnDemandFrames::Piece> OnDemandFrames::take (std::size_t bytes,
                                                      const NoMemoryMessage &message)
{
  {
    const std::lock_guard lock (mutex_);
    for (Piece &piece : idle_)
      if (piece.memory && piece.bytes >= bytes && piece.bytes / 4 <= bytes)
        return std::exchange (piece, {});
  }
  const Cancelled cancelled (Cancelled (), Interruptible::flag ());  // which outlives the call
  auto memory = allocate_on_host (bytes, message, cancelled);
  if (!memory && memory.error ().kind == Error::Kind::no_memory) {
    free_idle ();
    memory = allocate_on_host (bytes, message, cancelled);
  }
  return Piece{ TRY (std::move (memory)), bytes };
}

void OnDemandFrames::give_back (Piece piece)
{
  const std::lock_guard lock (mutex_);
  next_idle_ = (next_idle_ + 1) % kMostIdle;
  std::swap (idle_[next_idle_], piece);
}

void OnDemandFrames::free_idle ()
{
  std::array<Piece, kMostIdle> freed;  // outside of the lock
  const std::lock_guard lock (mutex_);
  freed.swap (idle_);
}

Expected<std::unique_ptr<EngineTensor>>
OnDemandTensor::create (const std::shared_ptr<OnDemandFrames> &frames, unsigned,
                        const Cancelled &cancelled)
{
  const std::size_t bytes = std::size_t (frames->shape.width) * frames->shape.height;
  HostMemory values = TRY (allocate_on_host (
      bytes,
      [bytes] (const Available &available) {
        return no_memory ("the pixels of a frame", bytes, available) + ": lower max-tensors";
      },
      cancelled));
  return std::unique_ptr<EngineTensor> (new OnDemandTensor (frames, std::move (values)));
}

Expected<> OnDemandTensor::keep (const inthist::Image &image)
{
  static const inthist::Lut kIdentity = inthist::uniform_lut (256);
  auto *const to = reinterpret_cast<std::uint8_t *> (values_.get ());
  const std::size_t width = shape.width;
  if (image.format.bytes > 1)
    return check_host (
        inthist::cpu::bin_image ({ image, kIdentity }, shape.width, shape.height, { to, width }));
  for (int y = 0; y < shape.height; y++)
    std::memcpy (to + y * width, static_cast<const std::byte *> (image.data) + y * image.stride,
                 width);
  return {};
}

void OnDemandTensor::released ()
{
  frames_->note (box_ && is_whole (box_->region));
  box_ = nullptr;
  asked_ = {};
  spent_ = spent_in_all_ = 0;
}

inthist::Binning OnDemandTensor::binning (const Region &region) const
{
  return { { values_.get () + std::size_t (region.y) * shape.width + region.x, shape.width, {} },
           frames_->lut };
}

Expected<> OnDemandTensor::ask (std::span<const Query> queries)
{
  for (const Query &query : queries)
    TRY (ask_one (query));
  return {};
}

Expected<std::unique_lock<std::mutex>> OnDemandTensor::lock ()
{
  std::unique_lock lock (mutex_);
  while (!changed_.wait_for (lock, std::chrono::milliseconds (20), [this] { return !computing_; }))
    if (Interruptible::is_interrupted ())
      return error (Error::Kind::flushing, "flushing");
  return lock;
}

Expected<> OnDemandTensor::ask_one (const Query &query)
{
  const bool adds_up =
      (query.question == Question::counts || query.question == Question::sums) && query.answers;
  const auto answer_from_pixels = [&] {
    frames_->pixels++;
    return check_host (inthist::cpu::answer_pixels (binning ({}), shape, query));
  };
  const Region asked = around (query, shape), frame = { 0, 0, shape.width, shape.height };
  auto locked = TRY (lock ());
  if (adds_up && !(box_ && box_->contains (asked))) {
    const Region all = both (asked_, asked);
    const double cost =
        AnswerCost::kPixel * pixels_of (query, shape) + AnswerCost::kWindow * query.windows.size ();
    if (spent_ + cost < AnswerCost::of_tensor (all, shape.bins)
        && spent_in_all_ + cost < AnswerCost::of_tensor (frame, shape.bins)) {
      spent_ += cost;
      spent_in_all_ += cost;
      asked_ = all;
      locked.unlock ();
      return answer_from_pixels ();
    }
  }
  const auto found = box_around (locked, asked, can_move (query, asked));
  locked.unlock ();
  if (!found && adds_up && found.error ().kind == Error::Kind::no_memory)
    return answer_from_pixels ();
  const std::shared_ptr<const Box> box = TRY (found);
  std::unique_ptr<Region[]> list;
  const Query there =
      is_whole (box->region) ? query : TRY (moved (query, box->region, shape, list));
  return answer_on_host ({ box->shape, box->layout, box->data () }, { &there, 1 });
}

/// Returns a tensor that has all of a region. Computes it without the lock, if it must.
Expected<std::shared_ptr<const OnDemandTensor::Box>>
OnDemandTensor::box_around (std::unique_lock<std::mutex> &lock, const Region &region, bool movable)
{
  const Region frame = { 0, 0, shape.width, shape.height };
  const auto cost = [this] (const Region &of) { return AnswerCost::of_tensor (of, shape.bins); };
  if (box_ && box_->contains (movable ? region : frame))
    return box_;
  Region wanted = both (asked_, region);
  if (box_)
    wanted = both (wanted, box_->region);
  // far from what was asked before, unless all of that is worth as much
  if (cost (wanted) > 2 * cost (region) + (box_ ? cost (box_->region) : 0))
    wanted = region;
  // so that what a frame costs in all is at most twice what its tensor costs
  if (!movable || cost (wanted) > 0.7 * cost (frame)
      || spent_in_all_ + cost (wanted) > cost (frame))
    wanted = frame;
  computing_ = true;
  lock.unlock ();
  auto computed = compute (wanted);
  lock.lock ();
  computing_ = false;
  changed_.notify_all ();
  box_ = TRY (std::move (computed));
  asked_ = {};
  spent_ = 0;
  spent_in_all_ += cost (wanted);
  return box_;
}

Expected<std::shared_ptr<const OnDemandTensor::Box>> OnDemandTensor::compute (const Region &region)
{
  const auto start = std::chrono::steady_clock::now ();
  const bool whole = is_whole (region);
  inthist::Shape of = shape;
  of.width = region.width;
  of.height = region.height;
  if (!whole)
    of.counter = inthist::Type::u32;  // small anyway
  const inthist::Layout layout = inthist::layout_of (of);
  const inthist::Strategy *strategy = frames_->plan.choice.strategy;
  inthist::Tuning tuning = frames_->plan.choice.tuning;
  if (!inthist::accepts (*strategy, of, tuning)) {
    strategy = inthist::preferred_strategy (inthist::Device::cpu, of);
    tuning = {};
  }

  const bool bins = of.content == inthist::Content::bins;
  const std::size_t tensor_bytes = inthist::tensor_bytes (of, layout),
                    stride = bins ? inthist::bin_stride (of.width) : shape.width,
                    pixel_bytes = bins ? stride * of.height : 0,
                    workspace_bytes = strategy->workspace_bytes (of, tuning);
  const auto message = [&] (const Available &available) {
    return no_memory_for_tensor (of, tensor_bytes, available, 0);
  };
  const auto take = [&] (std::size_t bytes) -> Expected<OnDemandFrames::Piece> {
    return bytes > 0 ? frames_->take (bytes, message) : OnDemandFrames::Piece ();
  };
  OnDemandFrames::Piece tensor = TRY (take (tensor_bytes));
  auto box = std::shared_ptr<Box> (new Box{ region, of, layout, std::move (tensor) },
                                   [frames = frames_] (Box *old) {
                                     frames->give_back (std::move (old->piece));
                                     delete old;
                                   });
  OnDemandFrames::Piece pixels = TRY (take (pixel_bytes)), workspace = TRY (take (workspace_bytes));
  const inthist::Binning binning = this->binning (region);
  frames_->computing++;
  const auto outcome = check_host (inthist::run (
      *strategy,
      { .shape = of,
        .layout = layout,
        .pixels = { reinterpret_cast<std::uint8_t *> (
                        bins ? pixels.memory.get ()
                             : static_cast<std::byte *> (const_cast<void *> (binning.image.data))),
                    stride },
        .tensor = box->piece.memory.get (),
        .workspace = workspace.memory.get (),
        .tuning = tuning,
        .binning = bins ? &binning : nullptr,
        .cancelled = Interruptible::flag () }));
  frames_->computing--;
  for (OnDemandFrames::Piece *piece : { &pixels, &workspace })
    if (piece->memory)
      frames_->give_back (std::move (*piece));
  TRY (outcome);
  frames_->note_computed (
      whole, std::chrono::nanoseconds (std::chrono::steady_clock::now () - start).count ());
  return box;
}

Expected<const void *> OnDemandTensor::host ()
{
  auto locked = TRY (lock ());
  return TRY (box_around (locked, { 0, 0, shape.width, shape.height }, false))->data ();
}

}  // namespace integralhist
