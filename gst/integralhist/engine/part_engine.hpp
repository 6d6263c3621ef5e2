// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An engine that also computes parts of frames: some of the bins in some of the rows (part.hpp). A
// sharded engine distributes parts of frames over several such engines.
#pragma once

#include "engine.hpp"
#include "engine_tensor.hpp"

namespace integralhist {

struct PartFrame : Frame {
  guint64 number = 0;           // from 1 on
  CudaEvent arrived = nullptr;  // after it the pixels can be read; null: at once
};

/// Only one thread may call a part engine.
class PartEngine : public Engine {
public:
  /// Starts to compute a part and returns its tensor. If `host`, the whole frame's tensor in host
  /// memory, is not null, the engine copies the part to it. Strips of rows of the same bins must
  /// come from the top down. If this thread is cancelled, the error is `flushing`.
  virtual Expected<std::shared_ptr<EngineTensor>>
  submit_part (const PartFrame &frame, const Part &part, std::byte *host) = 0;
  /// Lets the engine start to fetch the pixels of a frame whose parts come next.
  virtual void fetch (const PartFrame &) {}
  virtual bool has_fetched (const PartFrame &) { return true; }
  virtual bool is_free () = 0;
};

}  // namespace integralhist
