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

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

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

  /// How many frames in a row, of those that nobody holds any more, were computed whole, or were
  /// not. One of the two is 0.
  struct Row {
    unsigned whole = 0, less = 0;
  };
  void note (bool whole);
  Row last ();

  struct Piece {
    HostMemory memory;
    std::size_t bytes = 0;  // at least those that were asked for
  };
  /// Returns memory, of an earlier tensor if it can, so that its pages are there already.
  Expected<Piece> take (std::size_t bytes, const NoMemoryMessage &message);
  /// Takes it back. Few pieces are kept.
  void give_back (Piece piece);
  void free_idle ();

private:
  static constexpr std::size_t kMostIdle = 4;

  std::mutex mutex_;  // guards all below
  Row last_;
  std::array<Piece, kMostIdle> idle_;
  std::size_t next_idle_ = 0;  // the longest idle
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
    OnDemandFrames::Piece piece;

    const void *data () const { return piece.memory.get (); }
    bool contains (const inthist::Region &other) const
    {
      return other.x >= region.x && other.y >= region.y
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
  bool is_whole (const inthist::Region &region) const
  {
    return region.width == shape.width && region.height == shape.height;
  }
  Expected<> ask_one (const Query &query);
  /// Locks, and waits while another thread computes; a flush or a stop ends that.
  Expected<std::unique_lock<std::mutex>> lock ();
  Expected<std::shared_ptr<const Box>> box_around (std::unique_lock<std::mutex> &lock,
                                                   const inthist::Region &region, bool movable);
  Expected<std::shared_ptr<const Box>> compute (const inthist::Region &region);

  const std::shared_ptr<OnDemandFrames> frames_;
  const HostMemory values_;  // rows lie one behind the other

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool computing_ = false;  // a box, without the lock; nobody touches the rest meanwhile
  std::shared_ptr<const Box> box_;
  // Windows that were counted from pixels since: what is around them, and their cost.
  inthist::Region asked_;
  double spent_ = 0;
  double spent_in_all_ = 0;  // on pixels and boxes of this frame
};

}  // namespace integralhist
