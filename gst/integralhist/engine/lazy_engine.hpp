// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "engine.hpp"
#include "retire.hpp"

namespace integralhist {

/// An engine that is made when it is first needed, and again after it was dropped. Counts persist.
class LazyEngine {
public:
  using Make = std::function<Expected<std::shared_ptr<Engine>> ()>;

  explicit LazyEngine (Make make) : make_ (std::move (make)) {}

  /// Returns the engine, and makes it if necessary. One thread at a time calls this.
  Expected<std::shared_ptr<Engine>> get ()
  {
    if (const auto engine = this->engine ())
      return engine;
    const std::shared_ptr<Engine> made = TRY (make_ ());
    const std::lock_guard lock (mutex_);
    engine_ = made;
    return made;
  }
  /// Drops the engine as an element does (retire.hpp); a cancelled thread waits less.
  void drop ()
  {
    std::unique_lock lock (mutex_);
    if (!engine_)
      return;
    Stats last = engine_->stats ();
    last.in_flight = 0;
    before_.add (last);  // with the same lock, so that no frame is counted twice, or not at all
    std::shared_ptr<Engine> engine = std::exchange (engine_, nullptr);
    lock.unlock ();
    retire (std::move (engine));
  }

  // Any thread may call these.

  /// Returns the engine; null if it does not exist.
  std::shared_ptr<Engine> engine () const
  {
    const std::lock_guard lock (mutex_);
    return engine_;
  }
  /// Returns the counts of all engines so far.
  Stats stats ()
  {
    const std::lock_guard lock (mutex_);
    Stats stats = before_;
    if (engine_)
      stats.add (engine_->stats ());
    return stats;
  }

private:
  const Make make_;
  mutable std::mutex mutex_;  // guards all below
  std::shared_ptr<Engine> engine_;
  Stats before_;  // of engines that were dropped
};

}  // namespace integralhist
