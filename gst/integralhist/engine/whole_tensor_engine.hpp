// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>
#include <condition_variable>

#include "lazy_engine.hpp"

namespace integralhist {

/// Computes whole tensors of frames on demand, with an engine of its own, one frame at a time. No
/// caller waits for a tensor that another one holds. Any thread may call.
class WholeTensorEngine {
public:
  /// `make` makes an engine that waits for no tensors, on devices of that kind.
  WholeTensorEngine (LazyEngine::Make make, inthist::Device device)
      : device (device), engine_ (std::move (make))
  {
  }

  const inthist::Device device;

  /// Returns a frame's tensor, computed, unless this thread is cancelled. Where
  /// the engine fails, the next frame gets another.
  Expected<std::shared_ptr<Tensor>> compute (const inthist::Image &image);
  /// Says that nothing streams any more. Who still asks makes an engine for that question alone.
  void end ();
  Stats stats () { return engine_.stats (); }

private:
  LazyEngine engine_;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool computing_ = false;
};

}  // namespace integralhist
