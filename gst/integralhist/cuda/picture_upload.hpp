// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <kernels/cuda/raii.hpp>

#include <gst/integralhist/engine/picture_planes.hpp>

namespace integralhist {

/// Enqueues the upload of a picture's planes from pinned memory to `to`, in GPU memory.
inthist::cuda::CudaExpected<> upload (const PicturePlanes &planes, std::byte *to,
                                      cudaStream_t stream);

}  // namespace integralhist
