// SPDX-License-Identifier: LGPL-2.1-or-later
#include "in_parallel.hpp"

#include "parallel.hpp"

namespace inthist::cpu {

int in_parallel (int n, const std::function<void (int)> &body)
{
  return for_each (n, 1, nullptr, [&] (int i) noexcept { body (i); });
}

}  // namespace inthist::cpu
