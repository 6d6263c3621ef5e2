// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace integralhist {

/// Keeps idle resources, such as memory or CUDA streams, for the next user, at most `most` of them.
/// A T owns one resource, or is null. Any thread may use the list.
template <class T>
class IdleList {
public:
  explicit IdleList (std::size_t most = SIZE_MAX) : most_ (most) {}

  /// Takes the longest idle resource that `fits` accepts out of the list; null if there is none.
  template <class Fits>
  T take (Fits &&fits)
  {
    const std::lock_guard lock (mutex_);
    const auto found = std::ranges::find_if (idle_, fits);
    if (found == idle_.end ())
      return T ();
    T taken = std::move (*found);
    idle_.erase (found);
    return taken;
  }
  /// Takes the resource that became idle last out of the list; null if the list is empty.
  T take ()
  {
    const std::lock_guard lock (mutex_);
    if (idle_.empty ())
      return T ();
    T taken = std::move (idle_.back ());
    idle_.pop_back ();
    return taken;
  }

  /// Adds an idle resource. If the list then has too many, returns the resource that was idle
  /// longest, so that the caller destroys it without holding the list's mutex.
  T give_back (T one)
  {
    const std::lock_guard lock (mutex_);
    idle_.push_back (std::move (one));
    if (idle_.size () <= most_)
      return T ();
    T oldest = std::move (idle_.front ());
    idle_.erase (idle_.begin ());
    return oldest;
  }

  std::vector<T> take_all ()
  {
    const std::lock_guard lock (mutex_);
    return std::exchange (idle_, {});
  }
  /// Returns all idle resources. From then on the list keeps no resource that is given back.
  std::vector<T> close ()
  {
    const std::lock_guard lock (mutex_);
    most_ = 0;
    return std::exchange (idle_, {});
  }

private:
  std::mutex mutex_;  // guards all below
  std::size_t most_;
  std::vector<T> idle_;  // longest idle first
};

}  // namespace integralhist
