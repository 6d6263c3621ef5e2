// SPDX-License-Identifier: LGPL-2.1-or-later
//
// For tests of time. Other work on this machine may make one attempt slow, but hardly three.
#pragma once

#include <functional>

inline bool one_of_three (const std::function<bool ()> &attempt)
{
  return attempt () || attempt () || attempt ();
}
