// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cuda_runtime.h>

#include "../inthist.hpp"

namespace inthist::cuda {
namespace {

__global__ void write_columns (std::uint8_t *tensor, Layout layout, int planes, Anchors anchors)
{
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < anchors.columns)
    write_anchor_column (tensor, layout, planes, anchors, blockIdx.y, j);
}

}  // namespace

int write_anchors (const Job &job)
{
  constexpr int kThreads = 64;  // a row has few anchors; not measured against others
  const Anchors anchors = anchors_of (job.shape);
  const dim3 blocks (divide_up (anchors.columns, kThreads), job.shape.bins);
  write_columns<<<blocks, kThreads, 0, job.stream>>> (static_cast<std::uint8_t *> (job.tensor),
                                                      job.layout, job.shape.bins, anchors);
  return cudaGetLastError ();
}

}  // namespace inthist::cuda
