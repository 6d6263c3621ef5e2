// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cancel.hpp"

#include <utility>

namespace integralhist {

static thread_local const std::atomic<bool> *current = nullptr;

CancelScope::CancelScope (const std::atomic<bool> &flag) : outer_ (std::exchange (current, &flag))
{
}

CancelScope::~CancelScope ()
{
  current = outer_;
}

const std::atomic<bool> *CancelScope::flag ()
{
  return current;
}

Expected<> CancelScope::check ()
{
  if (is_cancelled ())
    return error (Error::Kind::flushing, "flushing");
  return {};
}

}  // namespace integralhist
