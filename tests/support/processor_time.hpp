// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The processor time of a benchmark.
#pragma once

#include <sys/resource.h>

/// Returns the seconds that all threads of this process have run.
inline double processor_seconds ()
{
  rusage usage;
  getrusage (RUSAGE_SELF, &usage);
  const auto seconds = [] (const timeval &t) {
    return double (t.tv_sec) + double (t.tv_usec) / 1e6;
  };
  return seconds (usage.ru_utime) + seconds (usage.ru_stime);
}
