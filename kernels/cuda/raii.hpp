// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Owners of CUDA handles and memory; functions borrow the raw handle. The context that an owner
// belongs to is current when it is made and dropped. Nothing throws: what fails is a CudaError.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include <cuda_runtime.h>

#include "../expected.hpp"

namespace inthist::cuda {

struct CudaError {
  cudaError_t code;
  std::size_t bytes;  // asked for, where an allocation failed
  bool pinned;        // the allocation was of host memory

  const char *what () const { return cudaGetErrorString (code); }
};

template <class T = void>
using CudaExpected = Expected<T, CudaError>;

/// Turns what a CUDA call, or a launcher of kernels, returned into a CudaExpected.
inline CudaExpected<> check (int error, std::size_t asked = 0, bool pinned = false)
{
  if (error == cudaSuccess)
    return {};
  cudaGetLastError ();  // else the next launch would report a failed allocation again
  return unexpected<CudaError> (CudaError{ cudaError_t (error), asked, pinned });
}

template <auto kDestroy>
struct Destroy {
  template <class Handle>
  void operator() (Handle handle) const
  {
    kDestroy (handle);
  }
};

using StreamOwner =
    std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy<cudaStreamDestroy>>;
using EventOwner = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy<cudaEventDestroy>>;
using DeviceMemory = std::unique_ptr<std::byte, Destroy<cudaFree>>;
using PinnedMemory = std::unique_ptr<std::byte, Destroy<cudaFreeHost>>;

/// Makes a stream that does not wait for the legacy default stream.
inline CudaExpected<StreamOwner> make_stream ()
{
  cudaStream_t stream;
  TRY (check (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking)));
  return StreamOwner (stream);
}

inline CudaExpected<EventOwner> make_event (unsigned flags)
{
  cudaEvent_t event;
  TRY (check (cudaEventCreateWithFlags (&event, flags)));
  return EventOwner (event);
}

inline CudaExpected<DeviceMemory> make_device_memory (std::size_t bytes)
{
  void *memory;
  TRY (check (cudaMalloc (&memory, bytes), bytes));
  return DeviceMemory (static_cast<std::byte *> (memory));
}

inline CudaExpected<PinnedMemory> make_pinned_memory (std::size_t bytes)
{
  void *memory;
  TRY (check (cudaMallocHost (&memory, bytes), bytes, true));
  return PinnedMemory (static_cast<std::byte *> (memory));
}

/// Memory that is replaced where more is wanted; nothing may use it then.
template <class Memory, CudaExpected<Memory> (*kMake) (std::size_t)>
class Growing {
public:
  CudaExpected<> reserve (std::size_t wanted)
  {
    if (wanted <= bytes_)
      return {};
    memory_.reset ();
    bytes_ = 0;
    memory_ = TRY (kMake (wanted));
    bytes_ = wanted;
    return {};
  }
  std::byte *get () const { return memory_.get (); }
  std::size_t bytes () const { return bytes_; }

private:
  Memory memory_;
  std::size_t bytes_ = 0;
};

using GrowingDeviceMemory = Growing<DeviceMemory, make_device_memory>;
using GrowingPinnedMemory = Growing<PinnedMemory, make_pinned_memory>;

}  // namespace inthist::cuda
