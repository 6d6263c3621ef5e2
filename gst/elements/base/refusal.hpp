// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

namespace integralhist {

/// A flag that a flush or a stop sets, to end what the streaming thread waits for or computes. Any
/// thread may set either.
class Refusal {
public:
  void set_flushing (bool value) { set (flushing_, value); }
  void set_stopping (bool value) { set (stopping_, value); }

  bool is_set () const { return *flag_; }
  const std::shared_ptr<std::atomic<bool>> &flag () const { return flag_; }

private:
  void set (bool &reason, bool value)
  {
    const std::lock_guard lock (mutex_);
    reason = value;
    *flag_ = flushing_ || stopping_;
  }

  const std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>> (false);
  std::mutex mutex_;  // guards all below
  bool flushing_ = false, stopping_ = false;
};

}  // namespace integralhist
