// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An engine that also computes parts of frames. A sharded engine distributes parts to such engines.
#pragma once

#include "engine.hpp"
#include "engine_tensor.hpp"

namespace integralhist {

/// A frame that is computed in parts.
struct PartFrame : Frame {
  guint64 number = 0;       // from 1 on
  void *arrived = nullptr;  // a CUDA event that reads of the pixels wait for, or null
};

/// An engine for parts of frames, which one thread calls.
class PartEngine : public Engine {
public:
  /// Returns a part's tensor, with its bins and rows only, before it is computed, or an
  /// Error::Kind::flushing. The engine copies it to the host tensor `host`, if any. Strips of the
  /// same bins come in order, from the first row on.
  virtual Expected<std::shared_ptr<EngineTensor>>
  submit_part (const PartFrame &frame, const Part &part, std::byte *host) = 0;
  /// Announces that parts of this frame come next, so that the upload of its pixels can start.
  virtual void expect (const PartFrame &) {}
  /// Returns whether the pixels of that frame are on the device, or never will be.
  virtual bool has_fetched (const PartFrame &) { return true; }
  /// Returns whether submit_part would not wait.
  virtual bool is_free () = 0;
};

}  // namespace integralhist
