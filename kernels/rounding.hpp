// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <type_traits>

#include "host_device.hpp"

namespace inthist {

/// Returns a / b, rounded up; a is 0 or more.
template <class Int>
HOST_DEVICE constexpr Int divide_up (Int a, std::type_identity_t<Int> b)
{
  return a / b + (a % b != 0);
}

template <class Int>
HOST_DEVICE constexpr Int round_up (Int a, std::type_identity_t<Int> unit)
{
  return divide_up (a, unit) * unit;
}

}  // namespace inthist
