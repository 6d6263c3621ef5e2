// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "engine.hpp"
#include "retire.hpp"

namespace integralhist {

/// Makes an engine when it is first needed, and makes another if that one was dropped. The counts
/// of all these engines are added up.
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
  /// Drops the engine by retire () (retire.hpp). A cancelled thread waits only a moment.
  void drop ()
  {
    std::unique_lock lock (mutex_);
    if (!engine_)
      return;
    Stats last = engine_->stats ();
    last.in_flight = 0;
    before_.add (last);  // under one lock, so that stats () counts each frame once
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
