// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <cstdint>

#include "host_device.hpp"
#include "shape.hpp"
#include "tiles.hpp"

namespace inthist {

/// The elements of a plane in rows; `row` is the stride of the rows, in elements.
template <class T>
struct Elements2d {
  const T *plane;
  std::size_t row;

  INTHIST_HOST_DEVICE T operator() (int y, int x) const { return plane[y * row + x]; }
};

/// A tensor of u16, u32 or tiles, with its layout. It owns nothing, may be in a device's memory,
/// and is passed by value, also to kernels.
struct TensorView {
  const std::uint8_t *bytes;
  Shape shape;
  Layout layout;

  TensorView (const Shape &shape, const Layout &layout, const void *tensor)
      : bytes (static_cast<const std::uint8_t *> (tensor)), shape (shape), layout (layout)
  {
  }

  /// Calls `body` with this tensor as a TensorInTiles or a TensorInRows, so that a kernel has code
  /// for only one of them.
  template <class Body>
  auto with_arrangement (Body &&body) const;

  /// Calls `body` with a function that returns the elements of a plane, given the plane's number.
  /// Elements of tiles are converted to full values of H.
  template <class Body>
  auto with_planes (Body &&body) const;
};

/// A tensor whose elements lie in rows.
struct TensorInRows : TensorView {
  explicit TensorInRows (const TensorView &tensor) : TensorView (tensor) {}

  template <class Body>
  INTHIST_HOST_DEVICE auto with_planes (Body &&body) const
  {
    if (shape.counter == Type::u16)
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
};

/// A tensor whose elements lie in tiles.
struct TensorInTiles : TensorView {
  Tiles tiles;

  explicit TensorInTiles (const TensorView &tensor)
      : TensorView (tensor), tiles (tiles_of (tensor.shape))
  {
  }

  template <class Body>
  INTHIST_HOST_DEVICE auto with_planes (Body &&body) const
  {
    const auto with_width = [&] (bool wide) {
      return body ([view = *this, wide] (int p) { return view.elements (p, wide); });
    };
    return tiles.wide ? with_width (true) : with_width (false);  // a kernel is for one width
  }

private:
  INTHIST_HOST_DEVICE TiledElements elements (int p, bool wide) const
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
