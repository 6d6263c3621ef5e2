// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A case with its pixels and the truth about them, and the same on a device, ready for a strategy.
#pragma once

#include "cases.hpp"
#include "truth.hpp"

namespace inthist::check {

struct Input {
  const Case c;
  const Bytes image, pixels;
  const Truth truth;

  explicit Input (const Case &what)
      : c (what), image (image_of (c)), pixels (pixels_of (c)), truth (c.shape, pixels, c.stride ())
  {
  }
};

class Frame {
public:
  Frame (Device device, const Input &first, bool guard_behind)
      : image (device, first.image.size (), first.c.input_shift (), guard_behind),
        pixels (device, first.pixels.size (), first.c.input_shift (), guard_behind),
        tensor (device, tensor_bytes (first.c.shape, first.c.layout ()), first.c.shift,
                guard_behind)
  {
    image.poison ();
    pixels.poison ();
    use (first);
  }

  /// Takes other pixels of the same shape and layout.
  void use (const Input &other)
  {
    input = &other;
    image.put (other.image.data (), other.image.size ());
    pixels.put (other.pixels.data (), other.pixels.size ());
    poison ();
  }

  void poison () { tensor.poison (poison_of (input->c.shape.counter)); }

  Job job (const Block &workspace, const Queue &queue, const Tuning &tuning = {}) const
  {
    return { input->c.shape, input->c.layout (), { pixels.data, input->c.stride () },
             tensor.data,    workspace.data,     queue.stream,
             tuning };
  }

  /// Returns how the image's pixels become the bins of `pixels`.
  Binning binning () const
  {
    return { { image.data, input->c.shape.width, {} },
             input->c.lut.value_or (uniform_lut (input->c.shape.bins)) };
  }

  /// Says what is wrong; empty if the tensor is right and nothing else was written.
  std::string wrong () const
  {
    const Bytes got = tensor.get ();
    return input->truth.difference ({ got, tensor.front, input->c.layout () },
                                    poison_of (input->c.shape.counter));
  }

  bool pixels_are_untouched () const
  {
    const auto is_untouched = [] (const Block &block, const Bytes &source) {
      const Bytes now = block.get ();
      return block.guards_hold ()
             && std::equal (source.begin (), source.end (),
                            now.begin () + std::ptrdiff_t (block.front));
    };
    return is_untouched (pixels, input->pixels) && is_untouched (image, input->image);
  }

  const Input *input;
  Block image, pixels, tensor;
};

}  // namespace inthist::check
