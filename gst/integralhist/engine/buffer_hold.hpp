// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>
#include <utility>

#include "tensor.hpp"

namespace integralhist {

/// A reference to a GstBuffer whose pixels an engine still reads after the buffer has left the
/// element. It keeps the buffer out of its pool and unwritable, so elements downstream copy the
/// buffer before they write. If a copy shares the memory, the pool allocates another buffer.
class BufferHold {
public:
  BufferHold () = default;
  BufferHold (GstBuffer *buffer, std::shared_ptr<Tensor> tensor)
      : tensor_ (std::move (tensor)), buffer_ (gst_buffer_ref (buffer))
  {
    tensor_->flags->buffer_copied = false;
    tensor_->flags->buffer_held = true;
  }

  /// Marks the buffer as no longer held, but keeps the reference to it until destruction. Returns
  /// whether an element downstream copied the buffer because it was held.
  bool end ()
  {
    if (!buffer_)
      return false;
    tensor_->flags->buffer_held = false;
    return tensor_->flags->buffer_copied;
  }

private:
  struct Unref {
    void operator() (GstBuffer *buffer) const { gst_buffer_unref (buffer); }
  };

  std::shared_ptr<Tensor> tensor_;
  std::unique_ptr<GstBuffer, Unref> buffer_;  // released before the tensor
};

}  // namespace integralhist
