// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <cstdint>

#include "anchors.hpp"
#include "host_device.hpp"
#include "shape.hpp"
#include "tiles.hpp"

namespace inthist {

/// Elements of a plane; `row` is their stride, in elements.
template <class T>
struct Elements2d {
  const T *plane;
  std::size_t row;

  INTHIST_HOST_DEVICE T operator() (int y, int x) const { return plane[y * row + x]; }
};

/// Elements of a plane with anchors: H in full.
struct AnchoredElements {
  Elements2d<std::uint16_t> elements;
  const std::uint32_t *values;
  Anchors anchors;
  int plane;

  INTHIST_HOST_DEVICE std::uint32_t operator() (int y, int x) const
  {
    const std::uint32_t anchor = values[anchors.index (plane, y, x)];
    return anchor + std::uint16_t (elements (y, x) - anchor);
  }
};

/// A tensor of u16, u32, s32 or tiles, with all that tells where its elements lie. It owns nothing,
/// may be in a device's memory, and is passed by value, to kernels too.
struct TensorView {
  const std::uint8_t *bytes;
  Shape shape;
  Layout layout;
  Anchors anchors;  // means something if the elements have them
  Tiles tiles;      // means something if elements lie in tiles

  TensorView (const Shape &shape, const Layout &layout, const void *tensor)
      : bytes (static_cast<const std::uint8_t *> (tensor)), shape (shape), layout (layout),
        anchors (anchors_of (shape)), tiles (tiles_of (shape))
  {
  }

  /// Calls `body` with a function from a plane's number to its elements: as they are, or H in full
  /// with anchors or in tiles.
  template <class Body>
  INTHIST_HOST_DEVICE auto with_planes (Body &&body) const
  {
    if (shape.counter == Type::u16_anchored)
      return body ([view = *this] (int p) { return view.anchored_elements (p); });
    else if (shape.counter == Type::u8_tiled)
      return body ([view = *this] (int p) { return view.tiled_elements (p); });
    else if (shape.counter == Type::u16)
      return body ([view = *this] (int p) { return view.elements<std::uint16_t> (p); });
    else
      return body ([view = *this] (int p) { return view.elements<std::uint32_t> (p); });
  }

private:
  template <class T>
  INTHIST_HOST_DEVICE Elements2d<T> elements (int p) const
  {
    return { reinterpret_cast<const T *> (bytes + p * layout.plane_pitch),
             layout.row_pitch / sizeof (T) };
  }

  INTHIST_HOST_DEVICE AnchoredElements anchored_elements (int p) const
  {
    return { elements<std::uint16_t> (p),
             reinterpret_cast<const std::uint32_t *> (bytes + shape.bins * layout.plane_pitch),
             anchors, p };
  }

  INTHIST_HOST_DEVICE TiledElements tiled_elements (int p) const
  {
    return { bytes + p * layout.plane_pitch, layout.row_pitch, tiles };
  }
};

}  // namespace inthist
