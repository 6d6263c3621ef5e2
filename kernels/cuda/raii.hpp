// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Owners of CUDA handles and memory. They are made and dropped with the context current that they belong to; functions borrow the raw handle.
// Constructors throw CudaError; destructors never throw.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include <cuda_runtime.h>

namespace inthist::cuda {

struct CudaError : std::runtime_error {
  cudaError_t code;
  std::size_t bytes;  // asked for, where an allocation failed
  explicit CudaError (cudaError_t error, std::size_t asked = 0)
      : std::runtime_error (cudaGetErrorString (error)), code (error), bytes (asked)
  {
  }
};

inline void
check (int error, std::size_t asked = 0)
{
  if (error != cudaSuccess) {
    cudaGetLastError ();  // a failed allocation would otherwise be reported again by the next launch
    throw CudaError (cudaError_t (error), asked);
  }
}

template <auto kDestroy>
struct Destroy {
  template <class Handle>
  void operator() (Handle handle) const
  {
    kDestroy (handle);
  }
};

using StreamOwner = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy<cudaStreamDestroy>>;
using EventOwner = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy<cudaEventDestroy>>;
using DeviceMemory = std::unique_ptr<std::byte, Destroy<cudaFree>>;
using PinnedMemory = std::unique_ptr<std::byte, Destroy<cudaFreeHost>>;

/// A stream that does not wait for the legacy default stream.
inline StreamOwner
make_stream ()
{
  cudaStream_t stream;
  check (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking));
  return StreamOwner (stream);
}

inline EventOwner
make_event (unsigned flags)
{
  cudaEvent_t event;
  check (cudaEventCreateWithFlags (&event, flags));
  return EventOwner (event);
}

inline DeviceMemory
make_device_memory (std::size_t bytes)
{
  void *memory;
  check (cudaMalloc (&memory, bytes), bytes);
  return DeviceMemory (static_cast<std::byte *> (memory));
}

inline PinnedMemory
make_pinned_memory (std::size_t bytes)
{
  void *memory;
  check (cudaMallocHost (&memory, bytes), bytes);
  return PinnedMemory (static_cast<std::byte *> (memory));
}

}  // namespace inthist::cuda
