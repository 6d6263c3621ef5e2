// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tasks.hpp"

#include <optional>
#include <vector>

#include <kernels/cpu/in_parallel.hpp>

#include "interruptible.hpp"

namespace integralhist {

Expected<> in_parallel (int n, const std::function<Expected<> (int)> &body)
{
  if (n == 1)
    return body (0);
  const std::atomic<bool> *const flag = Interruptible::flag ();
  std::vector<Expected<>> outcomes (n > 0 ? std::size_t (n) : 0);
  TRY (check_host (inthist::cpu::in_parallel (n, [&] (int i) {
    std::optional<Interruptible> its;
    if (flag)
      its.emplace (*flag);
    outcomes[std::size_t (i)] =
        Interruptible::is_interrupted () ? error (Error::Kind::flushing, "flushing") : body (i);
  })));
  for (Expected<> &outcome : outcomes)
    TRY (std::move (outcome));
  return {};
}

}  // namespace integralhist
