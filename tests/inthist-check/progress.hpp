// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The progress of a long run, on stderr: a line that is overwritten on a terminal, a line for every
// tenth elsewhere.
#pragma once

#include <cstdio>
#include <string>

#include <unistd.h>

namespace inthist::check {

class Progress {
public:
  explicit Progress (std::string what) : what_ (std::move (what)) {}
  ~Progress ()
  {
    if (terminal_ && shown_ >= 0)
      std::fprintf (stderr, "\r\033[K");
  }
  Progress (const Progress &) = delete;

  void show (double share)
  {
    const int percent = share < 1 ? int (share * 100) : 100, step = terminal_ ? 1 : 10;
    if (shown_ >= 0 && percent / step == shown_ / step)
      return;
    shown_ = percent;
    std::fprintf (stderr,
                  terminal_ ? "\r\033[Kinthist-check: %s: %d %%" : "inthist-check: %s: %d %%\n",
                  what_.c_str (), percent);
  }

private:
  const std::string what_;
  const bool terminal_ = isatty (STDERR_FILENO);
  int shown_ = -1;
};

}  // namespace inthist::check
