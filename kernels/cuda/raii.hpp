// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Owners of CUDA streams, events and memory; functions borrow the raw handle. The CUDA context of
// an owner must be current when the owner is made and dropped. Nothing throws: a failure is a
// CudaError, which tells where in the source the failed call is. A function that checks a call for
// its caller takes this place as an argument.
#pragma once

#include <cstddef>
#include <memory>
#include <source_location>
#include <type_traits>

#include <cuda_runtime.h>

#include "../expected.hpp"

namespace inthist::cuda {

using Location = std::source_location;

enum class Memory { device, pinned };

struct CudaError {
  cudaError_t code;
  Location where;                  // place of the call in the source
  std::size_t bytes = 0;           // bytes of the allocation that failed, or 0
  Memory memory = Memory::device;  // of the failed allocation

  const char *what () const { return cudaGetErrorString (code); }
};

template <class T = void>
using CudaExpected = Expected<T, CudaError>;

/// Converts the result of a CUDA call, or of a function that launches kernels, to a CudaExpected.
inline CudaExpected<> check (int error, Location where = Location::current ())
{
  if (error == cudaSuccess)
    return {};
  cudaGetLastError ();  // clears the error, which the next launch would report again
  return unexpected<CudaError> (CudaError{ cudaError_t (error), where });
}

inline CudaExpected<> check_allocation (int error, std::size_t bytes, Memory memory,
                                        Location where = Location::current ())
{
  if (check (error, where))
    return {};
  return unexpected<CudaError> (CudaError{ cudaError_t (error), where, bytes, memory });
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
inline CudaExpected<StreamOwner> make_stream (Location where = Location::current ())
{
  cudaStream_t stream;
  TRY (check (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking), where));
  return StreamOwner (stream);
}

/// Makes an event with flags of cudaEventCreateWithFlags. cudaEventDisableTiming makes the event
/// cheaper; with cudaEventBlockingSync, a thread that waits for the event sleeps.
inline CudaExpected<EventOwner> make_event (unsigned flags, Location where = Location::current ())
{
  cudaEvent_t event;
  TRY (check (cudaEventCreateWithFlags (&event, flags), where));
  return EventOwner (event);
}

/// Allocates memory on the current device, aligned to 256 bytes. Returns null for 0 bytes.
inline CudaExpected<DeviceMemory> make_device_memory (std::size_t bytes,
                                                      Location where = Location::current ())
{
  void *memory = nullptr;
  if (bytes > 0)
    TRY (check_allocation (cudaMalloc (&memory, bytes), bytes, Memory::device, where));
  return DeviceMemory (static_cast<std::byte *> (memory));
}

/// Allocates pinned memory on the host, aligned for any type. Returns null for 0 bytes.
inline CudaExpected<PinnedMemory> make_pinned_memory (std::size_t bytes,
                                                      Location where = Location::current ())
{
  void *memory = nullptr;
  if (bytes > 0)
    TRY (check_allocation (cudaMallocHost (&memory, bytes), bytes, Memory::pinned, where));
  return PinnedMemory (static_cast<std::byte *> (memory));
}

/// Memory that reserve () replaces by a larger allocation when more is needed, without the old
/// contents. Nothing may use the memory at that time.
template <class Owner, CudaExpected<Owner> (*kMake) (std::size_t, Location)>
class Growing {
public:
  Growing () = default;
  Growing (Growing &&) = delete;  // a moved-from object would have bytes, but no memory

  /// Makes sure that at least `wanted` bytes are allocated. If this fails, the old memory is freed.
  CudaExpected<> reserve (std::size_t wanted, Location where = Location::current ())
  {
    if (wanted <= bytes_)
      return {};
    memory_.reset ();
    bytes_ = 0;
    memory_ = TRY (kMake (wanted, where));
    bytes_ = wanted;
    return {};
  }
  std::byte *get () const { return memory_.get (); }
  std::size_t bytes () const { return bytes_; }

private:
  Owner memory_;
  std::size_t bytes_ = 0;
};

using GrowingDeviceMemory = Growing<DeviceMemory, make_device_memory>;
using GrowingPinnedMemory = Growing<PinnedMemory, make_pinned_memory>;

}  // namespace inthist::cuda
