// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <cstdint>

#include "host_device.hpp"
#include "shape.hpp"
#include "tiles.hpp"

namespace inthist {

/// Reads the elements of a plane that lie in rows; `row` is the stride of the rows, in elements.
template <class T>
struct Elements2d {
  const T *plane;
  std::size_t row;

  HOST_DEVICE T operator() (int y, int x) const { return plane[y * row + x]; }
};

/// A view of a tensor of u16, u32 or tiles, in memory of the host or of a device. It owns nothing,
/// and is passed by value, also to kernels.
struct TensorView {
  const std::uint8_t *bytes;
  Shape shape;
  Layout layout;

  TensorView (const Shape &shape, const Layout &layout, const void *tensor)
      : bytes (static_cast<const std::uint8_t *> (tensor)), shape (shape), layout (layout)
  {
  }

  /// Calls the function `body` with this tensor as a TensorInTiles or a TensorInRows, so that a
  /// kernel is compiled for one arrangement of elements only.
  template <class Body>
  auto with_arrangement (Body &&body) const;

  /// Calls the function `body` with an accessor, which returns the elements of a plane by its
  /// number, also if they lie in tiles.
  template <class Body>
  auto with_planes (Body &&body) const;
};

struct TensorInRows : TensorView {
  explicit TensorInRows (const TensorView &tensor) : TensorView (tensor) {}

  template <class Body>
  HOST_DEVICE auto with_planes (Body &&body) const
  {
    if (shape.counter == Type::u16)
      return body ([view = *this] (int p) { return view.elements<std::uint16_t> (p); });
    else
      return body ([view = *this] (int p) { return view.elements<std::uint32_t> (p); });
  }

private:
  template <class T>
  HOST_DEVICE Elements2d<T> elements (int p) const
  {
    return { reinterpret_cast<const T *> (bytes + p * layout.plane_pitch),
             layout.row_pitch / sizeof (T) };
  }
};

struct TensorInTiles : TensorView {
  Tiles tiles;

  explicit TensorInTiles (const TensorView &tensor)
      : TensorView (tensor), tiles (tiles_of (tensor.shape))
  {
  }

  template <class Body>
  HOST_DEVICE auto with_planes (Body &&body) const
  {
    const auto with_width = [&] (bool wide) {
      return body ([view = *this, wide] (int p) { return view.elements (p, wide); });
    };
    return tiles.wide ? with_width (true) : with_width (false);  // compiled for either width
  }

private:
  HOST_DEVICE TiledElements elements (int p, bool wide) const
  {
    return { bytes + p * layout.plane_pitch, layout.row_pitch,
             Tiles{ tiles.columns, tiles.rows, wide } };
  }
};

template <class Body>
auto TensorView::with_arrangement (Body &&body) const
{
  return shape.counter == Type::u8_tiled ? body (TensorInTiles (*this))
                                         : body (TensorInRows (*this));
}

template <class Body>
auto TensorView::with_planes (Body &&body) const
{
  return with_arrangement ([&] (const auto &tensor) { return tensor.with_planes (body); });
}

}  // namespace inthist
