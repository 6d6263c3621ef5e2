// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "engine.hpp"

namespace integralhist {

/// An engine that is made when it is first needed, and again after it was dropped. Its counts stay.
class LazyEngine {
public:
  using Make = std::function<Expected<std::shared_ptr<Engine>> ()>;

  explicit LazyEngine (Make make) : make_ (std::move (make)) {}

  /// Returns the engine, and makes it if there is none. One thread at a time calls this.
  Expected<std::shared_ptr<Engine>> get ();
  /// Drops the engine as an element does (retire.hpp); a cancelled thread hurries that.
  void drop ();

  // Any thread may call these.

  /// Returns the engine; null where there is none.
  std::shared_ptr<Engine> engine () const;
  /// Returns what all engines so far have counted.
  Stats stats ();

private:
  const Make make_;
  mutable std::mutex mutex_;  // guards all below
  std::shared_ptr<Engine> engine_;
  Stats before_;  // of engines that were dropped
};

}  // namespace integralhist
