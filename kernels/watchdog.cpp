// SPDX-License-Identifier: LGPL-2.1-or-later
#include "watchdog.hpp"

#include <chrono>
#include <system_error>

#include "inthist.hpp"

namespace inthist {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds (4);

}  // namespace

std::unique_ptr<Watchdog> Watchdog::make (const std::atomic<bool> *cancelled)
{
  std::unique_ptr<Watchdog> made (new Watchdog (cancelled));
  try {
    made->thread_ =
        std::jthread ([watchdog = made.get ()] (std::stop_token quit) { watchdog->watch (quit); });
  } catch (const std::system_error &) {
    return nullptr;
  }
  return made;
}

Watchdog::Watchdog (const std::atomic<bool> *cancelled) : theirs_ (cancelled)
{
  allow (kForEver);
}

void Watchdog::allow (double seconds)
{
  const std::lock_guard lock (mutex_);
  begun_ = Clock::now ();
  limit_ = seconds;
  stop_ = is_cancelled ();
}

bool Watchdog::is_cancelled ()
{
  if (is_set (theirs_))
    cancelled_ = true;
  return cancelled_;
}

void Watchdog::watch (const std::stop_token &quit)
{
  std::unique_lock lock (mutex_);
  while (!quitting_.wait_for (lock, quit, kPeriod, [&] { return quit.stop_requested (); }))
    if (is_cancelled () || seconds_since (begun_) > limit_)
      stop_ = true;
}

}  // namespace inthist
