// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// Lets an engine that has no free memory wait for memory that unfinished frames will return.
class MemoryReturns {
public:
  virtual ~MemoryReturns () = default;
  virtual guint64 n_returned () = 0;
  /// Waits until n_returned (), the number of times that frames have returned memory, exceeds
  /// `before`. Returns false if no unfinished frame holds memory.
  virtual Expected<bool> await_more (guint64 before) = 0;
};

}  // namespace integralhist
