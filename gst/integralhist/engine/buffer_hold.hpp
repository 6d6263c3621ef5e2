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
  /// Holds the buffer that the tensor is computed from.
  BufferHold (GstBuffer *buffer, std::shared_ptr<Tensor> tensor)
      : tensor_ (std::move (tensor)), buffer_ (gst_buffer_ref (buffer))
  {
    tensor_->flags->buffer_copied = false;
    tensor_->flags->buffer_held = true;
  }

  /// Ends the hold except for the reference. Returns whether the buffer was copied because of it.
  bool end ()
  {
    if (!buffer_)
      return false;
    tensor_->flags->buffer_held = false;
    return tensor_->flags->buffer_copied;
  }

private:
  /// Returns the buffer to its pool if no one else holds it.
  struct Unref {
    void operator() (GstBuffer *buffer) const { gst_buffer_unref (buffer); }
  };

  std::shared_ptr<Tensor> tensor_;
  std::unique_ptr<GstBuffer, Unref> buffer_;  // released before the tensor
};

}  // namespace integralhist
