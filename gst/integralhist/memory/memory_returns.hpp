// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// A source of memory that frames in flight return when they are done.
class MemoryReturns {
public:
  virtual ~MemoryReturns () = default;
  /// Returns how often memory has been returned so far.
  virtual guint64 n_returned () = 0;
  /// Waits until n_returned () is more than `before`. Returns false if no memory can be returned.
  virtual Expected<bool> await_more (guint64 before) = 0;
};

}  // namespace integralhist
