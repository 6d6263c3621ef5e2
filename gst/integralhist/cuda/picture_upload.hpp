// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <kernels/cuda/raii.hpp>

#include <gst/integralhist/engine/picture_planes.hpp>

namespace integralhist {

/// Enqueues the upload of planes in pinned memory.
inthist::cuda::CudaExpected<> upload (const PicturePlanes &planes, std::byte *to,
                                      cudaStream_t stream);

}  // namespace integralhist
