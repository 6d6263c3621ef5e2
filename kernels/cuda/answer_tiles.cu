// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Compiles the kernels of answer.cuh for tensors in tiles; answer.cu compiles those for rows.
#include "answer.cuh"

namespace inthist::cuda {

template void launch_answer (const TensorInTiles &, const Query &, Stream);

}  // namespace inthist::cuda
