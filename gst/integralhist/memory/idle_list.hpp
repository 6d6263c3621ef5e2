// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace integralhist {

/// Things that serve one user after another, such as memory and streams: a returned thing is kept
/// for the next user. Any thread may use the list. T owns a thing, or is null.
template <class T>
class IdleList {
public:
  /// Keeps `most` at most.
  explicit IdleList (std::size_t most = SIZE_MAX) : most_ (most) {}

  /// Removes and returns the thing that fits and was idle longest; null if none fits.
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
  /// Removes and returns the thing that was returned last. Returns null if the list is empty.
  T take ()
  {
    const std::lock_guard lock (mutex_);
    if (idle_.empty ())
      return T ();
    T taken = std::move (idle_.back ());
    idle_.pop_back ();
    return taken;
  }

  /// Keeps a thing for the next user. If there are then too many, returns the one that was idle
  /// longest; otherwise null. The caller destroys the result, without the lock.
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

  /// Removes and returns all.
  std::vector<T> take_all ()
  {
    const std::lock_guard lock (mutex_);
    return std::exchange (idle_, {});
  }
  /// Removes and returns all things. From then on the list keeps none.
  std::vector<T> close ()
  {
    const std::lock_guard lock (mutex_);
    most_ = 0;
    return std::exchange (idle_, {});
  }

private:
  std::mutex mutex_;  // guards all below
  std::size_t most_;
  std::vector<T> idle_;  // the longest idle in front
};

}  // namespace integralhist
