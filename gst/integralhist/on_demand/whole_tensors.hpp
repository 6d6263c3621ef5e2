// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>

#include <gst/integralhist/base/cancel.hpp>

#include "lazy_engine.hpp"

namespace integralhist {

/// Computes whole tensors of frames on demand, one at a time, for calls from any thread. No call
/// waits until another thread releases a tensor.
class WholeTensors {
public:
  /// Takes a function that makes an engine which does not wait for tensors in use.
  WholeTensors (LazyEngine::Make make, Device device) : device (device), engine_ (std::move (make))
  {
  }

  const Device device;

  /// Computes a frame's tensor and returns the finished tensor, or an error if this thread is
  /// cancelled first. If the engine fails, it is dropped, and the next call makes another.
  Expected<std::shared_ptr<Tensor>> compute (const Image &image)
  {
    const auto lock = TRY (mutex_.lock ());
    auto tensor = submit_and_await (image);
    const bool failed = !tensor && tensor.error ().kind == Error::Kind::failed;
    if (failed || has_failed () || ended_)
      engine_.drop ();
    return tensor;
  }
  /// Drops the engine, as the stream has ended. Later calls of compute () make an engine each.
  void end ()
  {
    ended_ = true;  // set first, so that an engine that compute () now makes is also dropped
    engine_.drop ();
  }
  Stats stats () { return engine_.stats (); }

private:
  Expected<std::shared_ptr<Tensor>> submit_and_await (const Image &image)
  {
    const auto engine = TRY (engine_.ensure ());
    const auto tensor = TRY (engine->submit ({ image })).tensor;
    TRY (await (*tensor));
    return tensor;
  }
  bool has_failed () const
  {
    const auto engine = engine_.engine ();
    return engine && engine->has_failed ();
  }

  LazyEngine engine_;
  std::atomic<bool> ended_ = false;
  CancellableMutex mutex_;  // held while a tensor is computed
};

}  // namespace integralhist
