// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The interface of a tensor for its engine and for the pool of tensors, which use the tensor's
// memory for one frame after another.
#pragma once

#include <cstring>
#include <functional>

#include "part.hpp"
#include "tensor.hpp"

namespace integralhist {

/// `n` pieces of memory, each of `bytes` bytes. They lie one after another in a part's tensor, and
/// go to the address `to`, every `to_pitch` bytes.
struct Pieces {
  std::byte *to;
  std::size_t to_pitch, bytes;
  int n;
};

/// The place of a part of a frame (some bins and rows) in the whole frame's tensor in host memory.
struct HostDestination {
  std::byte *tensor = nullptr;
  Shape shape;  // of the whole frame
  Part part;

  /// Returns the pieces that make up the part's tensor: all of it if the part has all rows.
  Pieces pieces () const
  {
    const inthist::Layout all = inthist::layout_of (shape),
                          own = inthist::layout_of (shape_of_part (shape, part.bins, part.rows));
    std::byte *const to =
        tensor + part.first_bin * all.plane_pitch + part.first_row * all.row_pitch;
    const std::size_t bytes = part.bins * own.plane_pitch;
    return part.rows == shape.height ? Pieces{ to, bytes, bytes, 1 }
                                     : Pieces{ to, all.plane_pitch, own.plane_pitch, part.bins };
  }

  void copy (const std::byte *from) const
  {
    const auto [to, to_pitch, bytes, n] = pieces ();
    for (int i = 0; i < n; i++)
      std::memcpy (to + i * to_pitch, from + i * bytes, bytes);
  }
};

class EngineTensor : public Tensor {
public:
  using Tensor::Tensor;

  /// Sets the shape of the next frame or part, which must fit the tensor's memory.
  void set_shape (const Shape &next)
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
