// SPDX-License-Identifier: LGPL-2.1-or-later
#include "in_parallel.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include <kernels/cpu/in_parallel.hpp>

#include "cancel.hpp"

namespace integralhist {

Expected<> in_parallel (int n, const std::function<Expected<> (int)> &body)
{
  if (n == 1)
    return body (0);
  const std::atomic<bool> *const flag = CancelScope::flag ();
  std::vector<Expected<>> outcomes (n > 0 ? std::size_t (n) : 0);
  TRY (check_host (inthist::cpu::in_parallel (n, [&] (int i) {
    std::optional<CancelScope> scope;
    if (flag)
      scope.emplace (*flag);
    const auto may_run = CancelScope::check ();
    outcomes[std::size_t (i)] = may_run ? body (i) : may_run;
  })));
  for (Expected<> &outcome : outcomes)
    TRY (std::move (outcome));
  return {};
}

Expected<> in_parallel (int n, int tasks, const std::function<Expected<> (int)> &body)
{
  return in_parallel (tasks, [&] (int task) -> Expected<> {
    for (int i = task * n / tasks; i < (task + 1) * n / tasks; i++)
      TRY (body (i));
    return {};
  });
}

Expected<> copy_in_parallel (std::span<const Copy> copies)
{
  constexpr std::size_t kOfATask = 1 << 17;  // bytes
  std::size_t bytes = 0;
  for (const Copy &copy : copies)
    bytes += copy.bytes;
  const int n = int (copies.size ()), most = std::max (n, 1),
            tasks = int (std::clamp<std::size_t> (bytes / kOfATask, 1, std::size_t (most)));
  return in_parallel (n, tasks, [&] (int i) -> Expected<> {
    const Copy &copy = copies[std::size_t (i)];
    if (copy.bytes)  // without bytes, the pointers may be null
      std::memcpy (copy.to, copy.from, copy.bytes);
    return {};
  });
}

}  // namespace integralhist
