// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The interface of a tensor for its engine and for the pool of tensors, which use the tensor's
// memory for one frame after another.
#pragma once

#include <cstring>
#include <functional>

#include <gst/integralhist/memory/part.hpp>

#include "tensor.hpp"

namespace integralhist {

/// The place of a part of a frame (some bins and rows) in the whole frame's tensor in host memory.
struct HostDestination {
  std::byte *tensor = nullptr;
  inthist::Shape shape;  // of the whole frame
  Part part;

  /// Calls `copy (to, to_pitch, from, from_pitch, bytes, n)` for blocks that make up the part's
  /// tensor. A block is `n` pieces of `bytes` bytes, every `from_pitch` bytes from offset `from` of
  /// that tensor on. They go to the address `to`, every `to_pitch` bytes.
  template <class Copy>
  void for_blocks (Copy &&copy) const
  {
    const inthist::Shape own = shape_of_part (shape, part.bins, part.rows);
    const inthist::Layout all = inthist::layout_of (shape), piece = inthist::layout_of (own);
    std::byte *const to =
        tensor + part.first_bin * all.plane_pitch + part.first_row * all.row_pitch;
    const std::size_t planes = part.bins * piece.plane_pitch;
    if (part.rows == shape.height)
      copy (to, planes, 0, planes, planes, 1);
    else
      copy (to, all.plane_pitch, 0, piece.plane_pitch, piece.plane_pitch, part.bins);
  }

  void copy (const std::byte *from) const
  {
    for_blocks ([from] (std::byte *to, std::size_t to_pitch, std::size_t offset, std::size_t pitch,
                        std::size_t bytes, int n) {
      for (int i = 0; i < n; i++)
        std::memcpy (to + i * to_pitch, from + offset + i * pitch, bytes);
    });
  }
};

class EngineTensor : public Tensor {
public:
  using Tensor::Tensor;

  /// Sets the shape of the next frame or part, which must fit the tensor's memory.
  void set_shape (const inthist::Shape &next)
  {
    shape = next;
    layout = inthist::layout_of (next);
  }

  /// Starts copying the tensor to host memory. The returned function waits until the copy is done.
  virtual Expected<std::function<Expected<> ()>> start_copy (const HostDestination &to)
  {
    to.copy (static_cast<const std::byte *> (TRY (host ())));
    return [] { return Expected<> (); };
  }
  /// Waits until the tensor is computed and, if its engine downloads it, is in host memory.
  virtual Expected<> wait_for_copy (GstClockTime timeout) { return wait (timeout); }

  /// Returns whether the device has done its work on the tensor, so that a new frame need not wait.
  virtual bool is_idle () { return true; }
  /// Called when the last owner has dropped the tensor, before the pool keeps or frees it.
  virtual void on_released () {}
};

}  // namespace integralhist
