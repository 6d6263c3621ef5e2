// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>

#include <kernels/rounding.hpp>

namespace integralhist {

/// Assigns offsets in one block of memory to arrays. Each is aligned to 16 bytes, because kernels
/// read words.
class Packing {
public:
  std::size_t add (std::size_t bytes)
  {
    const std::size_t offset = bytes_;
    bytes_ += inthist::round_up (bytes, 16);
    return offset;
  }
  std::size_t bytes () const { return bytes_; }

private:
  std::size_t bytes_ = 0;
};

}  // namespace integralhist
