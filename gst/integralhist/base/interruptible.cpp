// SPDX-License-Identifier: LGPL-2.1-or-later
#include "interruptible.hpp"

#include <utility>

namespace integralhist {

static thread_local const std::atomic<bool> *current = nullptr;

Interruptible::Interruptible (const std::atomic<bool> &flag)
    : outer_ (std::exchange (current, &flag))
{
}

Interruptible::~Interruptible ()
{
  current = outer_;
}

const std::atomic<bool> *Interruptible::flag ()
{
  return current;
}

}  // namespace integralhist
