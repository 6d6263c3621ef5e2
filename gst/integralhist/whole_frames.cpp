// SPDX-License-Identifier: LGPL-2.1-or-later
#include "whole_frames.hpp"

#include <utility>

namespace integralhist {

Expected<SubmittedFrame> WholeFrames::submit (const Frame &frame)
{
  const std::lock_guard submitting (submitting_);
  std::shared_ptr<Engine> engine = this->engine ();
  if (!engine) {
    engine = TRY (make_ ());
    const std::lock_guard lock (mutex_);
    engine->set_flushing (flushing_);
    engine_ = engine;
  }
  return engine->submit (frame);
}

void WholeFrames::set_flushing (bool flushing)
{
  const std::lock_guard lock (mutex_);
  flushing_ = flushing;
  if (engine_)
    engine_->set_flushing (flushing);
}

std::shared_ptr<Engine> WholeFrames::engine ()
{
  const std::lock_guard lock (mutex_);
  return engine_;
}

Expected<Stats> WholeFrames::drop ()
{
  const std::lock_guard submitting (submitting_);
  const std::shared_ptr<Engine> engine = this->engine ();  // the last, which goes without the lock
  if (!engine)
    return Stats ();
  TRY (engine->finish ());
  Stats stats = engine->stats ();
  const std::lock_guard lock (mutex_);
  engine_ = nullptr;
  return stats;
}

}  // namespace integralhist
