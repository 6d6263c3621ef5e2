// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An engine that also computes parts of frames. A sharded engine distributes parts to such engines.
#pragma once

#include "engine.hpp"
#include "engine_tensor.hpp"

namespace integralhist {

/// A frame that a sharded engine computes in parts (part.hpp).
struct PartFrame : Frame {
  guint64 number = 0;       // from 1 on
  void *arrived = nullptr;  // a CUDA event after which the pixels can be read, or null
};

/// An engine that also computes parts of frames (part.hpp). Only one thread calls it.
class PartEngine : public Engine {
public:
  /// Returns the tensor of a part's bins and rows before it is computed, or an
  /// Error::Kind::flushing. If `host` is not null, the engine copies the part to this tensor of the
  /// frame. Strips of the same bins come in order, from the first row on.
  virtual Expected<std::shared_ptr<EngineTensor>>
  submit_part (const PartFrame &frame, const Part &part, std::byte *host) = 0;
  /// Announces that parts of `frame` come next, so that the engine can start to upload its pixels.
  virtual void expect (const PartFrame &) {}
  /// Returns false while the device still uploads the pixels of the frame.
  virtual bool has_fetched (const PartFrame &) { return true; }
  /// Returns whether submit_part () would return without waiting.
  virtual bool is_free () = 0;
};

}  // namespace integralhist
