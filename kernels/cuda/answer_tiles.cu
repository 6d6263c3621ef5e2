// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernels of answer.cuh for tensors in tiles.
#include "answer.cuh"

namespace inthist::cuda {

template void launch (const TensorInTiles &, const Query &, Stream);

}  // namespace inthist::cuda
