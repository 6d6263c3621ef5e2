// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lazy_engine.hpp"

#include <utility>

#include "retire.hpp"

namespace integralhist {

Expected<std::shared_ptr<Engine>> LazyEngine::get ()
{
  if (const auto engine = this->engine ())
    return engine;
  const std::shared_ptr<Engine> made = TRY (make_ ());
  const std::lock_guard lock (mutex_);
  engine_ = made;
  return made;
}

void LazyEngine::drop ()
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

std::shared_ptr<Engine> LazyEngine::engine () const
{
  const std::lock_guard lock (mutex_);
  return engine_;
}

Stats LazyEngine::stats ()
{
  const std::lock_guard lock (mutex_);
  Stats stats = before_;
  if (engine_)
    stats.add (engine_->stats ());
  return stats;
}

}  // namespace integralhist
