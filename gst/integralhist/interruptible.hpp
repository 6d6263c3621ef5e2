// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>

namespace integralhist {

/// Lets a flag end what this thread's questions compute, as long as this lives. Such a question
/// returns an Error::Kind::flushing soon after the flag is set. The inner of two counts.
class Interruptible {
public:
  explicit Interruptible (const std::atomic<bool> &flag);
  ~Interruptible ();
  Interruptible (const Interruptible &) = delete;
  Interruptible &operator= (const Interruptible &) = delete;

  /// Returns this thread's flag, or null.
  static const std::atomic<bool> *flag ();
  static bool is_interrupted () { return flag () && flag ()->load (std::memory_order_relaxed); }

private:
  const std::atomic<bool> *const outer_;
};

}  // namespace integralhist
