// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "engine.hpp"

namespace integralhist {

/// An engine of whole frames behind frames on demand. It is made when it is first needed: for a
/// frame that is computed at once, or for a tensor of which somebody asks all. Any thread may call.
class WholeFrames {
public:
  using Make = std::function<Expected<std::shared_ptr<Engine>> ()>;

  explicit WholeFrames (Make make) : make_ (std::move (make)) {}

  /// Submits a frame, whose pixels have been read when this returns if they are in host memory.
  Expected<SubmittedFrame> submit (const Frame &frame);
  void set_flushing (bool flushing);
  /// Returns the engine; null where there is none.
  std::shared_ptr<Engine> engine ();
  /// Frees the engine once its frames are done. Returns what it has counted.
  Expected<Stats> drop ();

private:
  const Make make_;
  std::mutex submitting_;  // taken first; an engine has one thread at a time
  std::mutex mutex_;       // guards all below
  std::shared_ptr<Engine> engine_;
  bool flushing_ = false;
};

}  // namespace integralhist
