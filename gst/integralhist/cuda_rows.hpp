// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A picture's way from host memory to a GPU. Not installed.
#pragma once

#include "engine.hpp"

#include <cuda/raii.hpp>

namespace integralhist {

/// Of a picture in host memory, and how they shall lie on the device.
struct Rows {
  const std::byte *data;
  int n;
  std::size_t bytes, stride, pitch;

  std::size_t size () const { return pitch * n; }
  bool are_close () const { return stride == pitch; }
};

/// Rows that lie close, and well for the kernels, are copied as one piece.
inline Rows
rows_of (const inthist::Image &image, int width, int n)
{
  constexpr std::size_t kAlignment = 256;
  const std::size_t row = std::size_t (width) * image.format.bytes, stride = image.stride,
                    aligned = (row + kAlignment - 1) / kAlignment * kAlignment;
  return { static_cast<const std::byte *> (image.data), n, row, stride, stride <= aligned && stride % 16 == 0 ? stride : aligned };
}

/// From pinned memory.
inline void
upload (const Rows &rows, std::byte *to, cudaStream_t stream)
{
  using inthist::cuda::check;
  if (rows.are_close ())
    check (cudaMemcpyAsync (to, rows.data, rows.pitch * (rows.n - 1) + rows.bytes, cudaMemcpyHostToDevice, stream));
  else
    check (cudaMemcpy2DAsync (to, rows.pitch, rows.data, rows.stride, rows.bytes, rows.n, cudaMemcpyHostToDevice, stream));
}

}  // namespace integralhist
