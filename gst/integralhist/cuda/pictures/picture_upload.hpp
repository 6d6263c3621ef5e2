// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <kernels/cuda/raii.hpp>

#include <gst/integralhist/engine/picture_planes.hpp>

namespace integralhist {

/// Enqueues the upload of a picture's planes from pinned memory to `to`, in GPU memory.
inline inthist::cuda::CudaExpected<> upload (const PicturePlanes &planes, std::byte *to,
                                             cudaStream_t stream)
{
  for (const PictureRows &rows : planes.all ())
    TRY (inthist::cuda::check (
        rows.keeps_stride ()
            ? cudaMemcpyAsync (to + rows.offset, rows.data, rows.pitch * (rows.n - 1) + rows.bytes,
                               cudaMemcpyHostToDevice, stream)
            : cudaMemcpy2DAsync (to + rows.offset, rows.pitch, rows.data, std::size_t (rows.stride),
                                 rows.bytes, rows.n, cudaMemcpyHostToDevice, stream)));
  return {};
}

}  // namespace integralhist
