// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame's tensor that is not computed before somebody asks. It keeps the frame's values, a byte
// a pixel, and answers in the cheapest way, always with the same numbers:
//
//   pixels   few and small windows are counted as they are
//   box      windows near each other have a tensor of the box around them, which is kept for the
//            next question
//   whole    all else, and everything afterwards
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "engine.hpp"
#include "engine_tensor.hpp"
#include "host_memory.hpp"
#include "plan.hpp"

namespace integralhist {

/// What the tensors of an engine share, and what the engine hears of them. It outlives the engine
/// while tensors are out.
class OnDemandFrames {
public:
  OnDemandFrames (const inthist::Shape &shape, const inthist::Lut &lut, const Plan &plan)
      : shape (shape), lut (lut), plan (plan)
  {
  }

  const inthist::Shape shape;
  const inthist::Lut lut;
  const Plan plan;

  std::atomic<guint64> pixels = 0, boxes = 0, wholes = 0;  // questions, and tensors computed
  std::atomic<unsigned> computing = 0;                     // tensors, now

  void note_computed (bool whole, guint64 nanoseconds);
  Duration computed ();

  /// Hears whether a frame that nobody holds any more was computed whole.
  void note (bool whole)
  {
    last_whole_ = whole;
    wholes_in_a_row_ = whole ? wholes_in_a_row_ + 1 : 0;
  }
  bool last_whole () const { return last_whole_; }
  unsigned wholes_in_a_row () const { return wholes_in_a_row_; }

  /// Returns memory that it or an earlier tensor of a box or frame had, so that its pages are there
  /// already.
  Expected<HostMemory> take (std::size_t bytes, const NoMemoryMessage &message);
  /// Takes it back. Few pieces are kept.
  void give_back (HostMemory memory, std::size_t bytes);

private:
  struct Piece {
    HostMemory memory;
    std::size_t bytes;
  };

  std::atomic<bool> last_whole_ = false;
  std::atomic<unsigned> wholes_in_a_row_ = 0;
  std::mutex mutex_;  // guards all below
  std::vector<Piece> idle_;
  Duration computed_;
};

class OnDemandTensor final : public EngineTensor {
public:
  /// Allocates the memory of the values; `alive` other tensors exist.
  static Expected<std::unique_ptr<EngineTensor>>
  create (const std::shared_ptr<OnDemandFrames> &frames, unsigned alive,
          const Cancelled &cancelled);

  Expected<> wait (GstClockTime) override { return {}; }
  Expected<> ask (std::span<const Query> queries) override;
  Expected<const void *> host () override;
  void released () override;

  /// Copies the frame's values. The engine calls this before anybody else has the tensor.
  Expected<> keep (const inthist::Image &image);

private:
  /// A tensor of a part of the frame.
  struct Box {
    inthist::Region region;
    inthist::Shape shape;
    inthist::Layout layout;
    std::size_t bytes = 0;
    HostMemory memory;

    bool contains (const inthist::Region &other) const
    {
      return memory && other.x >= region.x && other.y >= region.y
             && other.x + other.width <= region.x + region.width
             && other.y + other.height <= region.y + region.height;
    }
  };

  OnDemandTensor (std::shared_ptr<OnDemandFrames> frames, HostMemory values)
      : EngineTensor (frames->shape), frames_ (std::move (frames)), values_ (std::move (values))
  {
  }

  /// Returns the values from a region's first pixel on, and their bins.
  inthist::Binning binning (const inthist::Region &region) const;
  Expected<> ask_one (const Query &query);
  Expected<std::shared_ptr<const Box>> box_around (const inthist::Region &region, bool movable);
  Expected<std::shared_ptr<const Box>> compute (const inthist::Region &region);

  const std::shared_ptr<OnDemandFrames> frames_;
  const HostMemory values_;  // rows lie one behind the other

  std::mutex mutex_;  // guards all below; held while a box is computed
  std::shared_ptr<const Box> box_;
  // Windows that were counted from pixels since: what is around them, and their cost.
  inthist::Region asked_;
  double spent_ = 0;
};

}  // namespace integralhist
