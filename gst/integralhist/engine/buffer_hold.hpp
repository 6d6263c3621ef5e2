// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>
#include <utility>

#include "tensor.hpp"

namespace integralhist {

/// A hold on an input buffer that is read after it has left the element: a reference, which keeps
/// the buffer out of its pool and makes it unwritable. An element downstream copies the buffer
/// before it writes to it; if the copy shares the memory, the buffer's pool must allocate another
/// buffer.
class BufferHold {
public:
  BufferHold () = default;
  /// Holds `buffer`, from which the tensor is computed.
  BufferHold (GstBuffer *buffer, std::shared_ptr<Tensor> tensor)
      : tensor_ (std::move (tensor)), buffer_ (gst_buffer_ref (buffer))
  {
    tensor_->flags->buffer_copied = false;
    tensor_->flags->buffer_held = true;
  }

  /// Ends the hold, but keeps the reference until destruction. Returns whether an element copied
  /// the buffer because it was held.
  bool end ()
  {
    if (!buffer_)
      return false;
    tensor_->flags->buffer_held = false;
    return tensor_->flags->buffer_copied;
  }

private:
  /// Drops the reference; the last one returns the buffer to its pool.
  struct Unref {
    void operator() (GstBuffer *buffer) const { gst_buffer_unref (buffer); }
  };

  std::shared_ptr<Tensor> tensor_;
  std::unique_ptr<GstBuffer, Unref> buffer_;  // released before the tensor
};

}  // namespace integralhist
