// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <kernels/cuda/raii.hpp>

#include "../picture_rows.hpp"

namespace integralhist {

/// Enqueues the upload of rows in pinned memory.
inthist::cuda::CudaExpected<> upload (const PictureRows &rows, std::byte *to, cudaStream_t stream);

}  // namespace integralhist
