// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Answers queries on the GPU.
#include "answer.cuh"
#include "device/queries/find_best.cuh"

namespace inthist::cuda {
namespace {

__global__ void __launch_bounds__ (FindBest::kThreads)
find_best (Query query)
{
  __shared__ FindBest::Shared shared;
  FindBest (query, shared).run ();
}

}  // namespace

int answer (TensorView tensor, const Query &query, Stream stream)
{
  tensor.with_arrangement ([&] (const auto &tensor) { launch (tensor, query, stream); });
  if (query.best && !query.has_bins_after (tensor.shape))
    find_best<<<1, FindBest::kThreads, 0, stream>>> (query);
  return cudaGetLastError ();
}

}  // namespace inthist::cuda
