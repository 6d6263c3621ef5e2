// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Kernels of a stream that overlap at their ends (programmatic dependent launch, CUDA Programming
// Guide): blocks of the next kernel start while the last blocks of a kernel still run.
//
//   - A block calls wait_for_previous () before it reads or writes memory that an earlier kernel
//     writes, and before it writes memory that an earlier kernel reads.
//   - Take kernels A, B and C, in this order. If all blocks of B call let_next_start () after their
//     own wait, A is complete before C starts. Then a block of C needs no wait for the memory of A,
//     but still one for the memory of B. The first strip of a scan (C) relies on that: it reads the
//     picture while count (B) still runs (BinSource::ready).
//   - If blocks of B call let_next_start () before their wait, C may start while A still runs. Then
//     all blocks of C have to wait.
//
// Before compute capability 9.0, and in builds whose newest architecture is older (INTHIST_OVERLAP
// is 0), kernels simply follow each other.
#pragma once

#include <cuda_runtime.h>

#include "attribute.cuh"

namespace inthist::cuda {

/// Waits until all earlier work of the stream is done and the writes of that work are visible.
__device__ inline void wait_for_previous ()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the next kernel of the stream start once all blocks have called this or have ended.
__device__ inline void let_next_start ()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Gets whether the current device runs code of this build for compute capability 9.0 or later.
[[nodiscard]] inline int get_has_hopper_code (bool &has)
{
  int capability = 0;  // major number of the compute capability
  const int error = device_attribute (cudaDevAttrComputeCapabilityMajor, capability);
  has = INTHIST_OVERLAP && capability >= 9;
  return error;
}

/// Launches a kernel whose blocks are in clusters of `cluster` blocks, which are neighbours in x.
/// It overlaps with the kernel before, if the device can do so. Clusters of more than one block
/// need a device with code for Hopper.
template <class... Parameters, class... Arguments>
[[nodiscard]] int launch_clusters (void (*kernel) (Parameters...), unsigned cluster, dim3 blocks,
                                   unsigned threads, std::size_t shared_bytes, cudaStream_t stream,
                                   const Arguments &...arguments)
{
  bool hopper = false;
  TRY_CODE (get_has_hopper_code (hopper));
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = { cluster, 1, 1 };
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = dim3 (threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = !hopper ? 0 : cluster > 1 ? 2 : 1;
  return cudaLaunchKernelEx (&config, kernel, Parameters (arguments)...);
}

/// Launches a kernel that overlaps with the kernel before, if the device can do so.
template <class... Parameters, class... Arguments>
[[nodiscard]] int launch_overlapped (void (*kernel) (Parameters...), dim3 blocks, unsigned threads,
                                     std::size_t shared_bytes, cudaStream_t stream,
                                     const Arguments &...arguments)
{
  return launch_clusters (kernel, 1, blocks, threads, shared_bytes, stream, arguments...);
}

}  // namespace inthist::cuda
