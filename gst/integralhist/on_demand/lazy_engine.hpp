// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <gst/integralhist/engine/destroy_engine.hpp>
#include <gst/integralhist/engine/engine.hpp>

namespace integralhist {

/// Makes an engine when first needed, and another after a drop. Adds up all engines' statistics.
class LazyEngine {
public:
  using Make = std::function<Expected<std::shared_ptr<Engine>> ()>;

  explicit LazyEngine (Make make) : make_ (std::move (make)) {}

  /// Returns the engine, made if there is none. Only one thread at a time may call this.
  Expected<std::shared_ptr<Engine>> ensure ()
  {
    if (const auto engine = this->engine ())
      return engine;
    const std::shared_ptr<Engine> made = TRY (make_ ());
    const std::lock_guard lock (mutex_);
    engine_ = made;
    return made;
  }
  /// Drops the engine and waits for its end (destroy_engine.hpp), at most 100 ms if cancelled.
  void drop ()
  {
    std::unique_lock lock (mutex_);
    if (!engine_)
      return;
    Stats last = engine_->stats ();
    last.in_flight = 0;
    // in the lock that resets engine_, so that stats () counts no frame twice
    dropped_stats_.add (last);
    std::shared_ptr<Engine> engine = std::exchange (engine_, nullptr);
    lock.unlock ();
    destroy_engine (std::move (engine));
  }

  // Any thread may call these.

  std::shared_ptr<Engine> engine () const
  {
    const std::lock_guard lock (mutex_);
    return engine_;
  }
  Stats stats ()
  {
    const std::lock_guard lock (mutex_);
    Stats stats = dropped_stats_;
    if (engine_)
      stats.add (engine_->stats ());
    return stats;
  }

private:
  const Make make_;
  mutable std::mutex mutex_;  // guards all below
  std::shared_ptr<Engine> engine_;
  Stats dropped_stats_;  // statistics of the engines that were dropped
};

}  // namespace integralhist
