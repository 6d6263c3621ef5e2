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
  Expected<std::shared_ptr<Tensor>> compute (const inthist::Image &image)
  {
    std::unique_lock lock (mutex_);
    TRY (CancelScope::wait (changed_, lock, [this] { return !computing_; }));
    computing_ = true;
    lock.unlock ();

    const auto compute = [&] () -> Expected<std::shared_ptr<Tensor>> {
      const auto engine = TRY (engine_.get ());
      const auto tensor = TRY (engine->submit ({ image })).tensor;
      TRY (await (*tensor));
      return tensor;
    };
    auto tensor = compute ();
    const auto has_failed = [&] {
      const auto engine = engine_.engine ();
      return engine && engine->has_failed ();
    };
    const bool failed = (!tensor && tensor.error ().kind == Error::Kind::failed) || has_failed ();

    if (failed || ended_)
      engine_.drop ();
    lock.lock ();
    computing_ = false;
    changed_.notify_one ();
    return tensor;
  }
  /// Says that nothing streams any more. Who still asks makes an engine for that question alone.
  void end ()
  {
    ended_ = true;  // first: who makes an engine meanwhile drops it
    engine_.drop ();
  }
  Stats stats () { return engine_.stats (); }

private:
  LazyEngine engine_;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool computing_ = false;
};

}  // namespace integralhist
