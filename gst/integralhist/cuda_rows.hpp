// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "engine.hpp"

#include <cuda/raii.hpp>

namespace integralhist {

/// The rows of a picture in host memory, and their pitch on the device.
struct Rows {
  const std::byte *data;
  int n;
  std::size_t bytes;
  std::ptrdiff_t stride;  // bytes; negative from the bottom up
  std::size_t pitch;

  std::size_t size () const { return pitch * n; }
  bool are_close () const { return stride == std::ptrdiff_t (pitch); }
};

/// Returns a picture's rows. A stride that suits the kernels stays: one copy uploads all rows.
inline Rows rows_of (const inthist::Image &image, int width, int n)
{
  constexpr std::size_t kAlignment = 256;
  const std::size_t row = std::size_t (width) * image.format.bytes,
                    aligned = (row + kAlignment - 1) / kAlignment * kAlignment;
  const std::ptrdiff_t stride = image.stride;
  const bool suits = stride > 0 && std::size_t (stride) <= aligned && stride % 16 == 0;
  return { static_cast<const std::byte *> (image.data), n, row, stride,
           suits ? std::size_t (stride) : aligned };
}

/// Enqueues the upload of rows in pinned memory.
inline inthist::cuda::CudaExpected<> upload (const Rows &rows, std::byte *to, cudaStream_t stream)
{
  using inthist::cuda::check;
  if (rows.are_close ())
    return check (cudaMemcpyAsync (to, rows.data, rows.pitch * (rows.n - 1) + rows.bytes,
                                   cudaMemcpyHostToDevice, stream));
  return check (cudaMemcpy2DAsync (to, rows.pitch, rows.data, std::size_t (rows.stride), rows.bytes,
                                   rows.n, cudaMemcpyHostToDevice, stream));
}

}  // namespace integralhist
