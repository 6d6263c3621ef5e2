// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// A source of memory that comes back while frames are in flight.
class MemoryReturns {
public:
  virtual ~MemoryReturns () = default;
  /// Returns how often memory has come back so far.
  virtual guint64 n_returned () = 0;
  /// Waits until that is more than `before`. Returns false if nothing can come back.
  virtual Expected<bool> await_more (guint64 before) = 0;
};

}  // namespace integralhist
