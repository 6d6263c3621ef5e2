// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tensor as its engine and the pool see it: its memory serves one frame after another.
#pragma once

#include <functional>

#include "host_destination.hpp"
#include "tensor.hpp"

namespace integralhist {

class EngineTensor : public Tensor {
public:
  using Tensor::Tensor;

  /// Takes a shape that fits the memory. Engines call this before anybody else has the tensor.
  void set_shape (const inthist::Shape &of)
  {
    shape = of;
    layout = inthist::layout_of (of);
  }

  /// Starts the copy to a host destination. The function that it returns waits for that.
  virtual Expected<std::function<Expected<> ()>> start_copy (const HostDestination &to)
  {
    to.copy (static_cast<const std::byte *> (TRY (host ())));
    return [] { return Expected<> (); };
  }
  /// Waits until a part is computed and in its host destination, if it has one.
  virtual Expected<> wait_for_copy (GstClockTime timeout) { return wait (timeout); }

  /// Returns whether all work on the tensor is done. The tensor remembers that it is: the next
  /// frame need not wait for that work then.
  virtual bool check_idle () { return true; }
  /// Tells the tensor that nobody holds it any more.
  virtual void released () {}
};

}  // namespace integralhist
