// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Answers queries of a tensor (query.hpp), such as the histograms of windows, on the GPU.
#include "answer.cuh"

namespace inthist::cuda {
int answer (TensorView tensor, const Query &query, Stream stream)
{
  if (finds_best (query, tensor.shape))
    clear_best (query, stream);
  tensor.with_arrangement ([&] (const auto &tensor) { launch_answer (tensor, query, stream); });
  return cudaGetLastError ();
}

}  // namespace inthist::cuda
