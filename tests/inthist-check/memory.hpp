// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Memory and queues of either device, for all checks of kernels. A block lies between two guards
// and is filled with a byte that no right result leaves there, so that missing bytes show, and
// bytes written outside. A failed CUDA call throws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <kernels/inthist.hpp>

#include "text.hpp"

#if INTHIST_CUDA
#include <kernels/cuda/raii.hpp>

#include "../support/must.hpp"
#endif

namespace inthist::check {

using Bytes = std::vector<std::uint8_t>;

constexpr Device kDevices[] = { Device::cpu, Device::cuda };

constexpr const char *name_of (Device device)
{
  return device == Device::cpu ? "CPU" : "CUDA";
}

/// Integers get a pattern, floats a NaN.
constexpr std::uint8_t kPoison = 0xa5, kNan = 0xff;

constexpr std::uint8_t poison_of (Type type)
{
  return is_floating (type) ? kNan : kPoison;
}

#if INTHIST_CUDA
inline void expect_success (int status, const char *call)
{
  if (status != cudaSuccess)
    throw std::runtime_error (std::string (call) + ": "
                              + cudaGetErrorString (cudaError_t (status)));
}
#define CHECK_CUDA(call) inthist::check::expect_success ((call), #call)
#endif

/// Says why the device is not available; empty if it is.
inline std::string why_not (Device device)
{
  if (device == Device::cpu)
    return "";
#if INTHIST_CUDA
  int count = 0, driver = 0;
  const cudaError_t status = cudaGetDeviceCount (&count);
  if (status == cudaSuccess && count > 0)
    return "";
  cudaDriverGetVersion (&driver);
  cudaGetLastError ();
  return driver == 0             ? "there is no NVIDIA driver"
         : status == cudaSuccess ? "there is no CUDA device"
                                 : cudaGetErrorString (status);
#else
  return "this build has no CUDA";
#endif
}

/// Returns the memory that may still be allocated; for the host this includes what caches would
/// give back.
inline std::size_t free_bytes (Device device)
{
#if INTHIST_CUDA
  if (device == Device::cuda) {
    std::size_t free, total;
    CHECK_CUDA (cudaMemGetInfo (&free, &total));
    return free;
  }
#endif
  (void) device;
  std::ifstream info ("/proc/meminfo");
  std::size_t kib;
  for (std::string word; info >> word;)
    if (word == "MemAvailable:" && info >> kib)
      return kib << 10;
  return SIZE_MAX;  // unknown: assume enough
}

/// Says why so many bytes of the host's memory, and with CUDA so many of the device's, are not
/// available; empty if they are.
inline std::string no_room (Device device, std::size_t on_host, std::size_t on_device)
{
  const auto lack = [] (Device of, std::size_t bytes) {
    const std::size_t free = free_bytes (of);
    return bytes <= free
               ? ""
               : text ("needs %.1f GiB of %s memory, %.1f GiB are free: a smaller --size or fewer "
                       "--bins",
                       double (bytes) / (1 << 30), of == Device::cpu ? "the host's" : "the GPU's",
                       double (free) / (1 << 30));
  };
  const std::string why = lack (Device::cpu, on_host);
  return why.empty () && device == Device::cuda ? lack (device, on_device) : why;
}

using Memory = std::unique_ptr<std::uint8_t, void (*) (void *)>;

/// Aligned to 256 bytes.
inline Memory allocate (Device device, std::size_t bytes)
{
#if INTHIST_CUDA
  if (device == Device::cuda) {
    void *memory = nullptr;
    CHECK_CUDA (cudaMalloc (&memory, std::max<std::size_t> (bytes, 1)));
    return { static_cast<std::uint8_t *> (memory), [] (void *block) { cudaFree (block); } };
  }
#endif
  (void) device;
  void *memory = nullptr;
  if (posix_memalign (&memory, 256, std::max<std::size_t> (bytes, 1)) != 0)
    throw std::bad_alloc ();
  return { static_cast<std::uint8_t *> (memory), std::free };
}

/// Copies from and to anywhere. The device is idle before, and all is done after.
inline void copy (Device device, void *to, const void *from, std::size_t bytes)
{
#if INTHIST_CUDA
  if (device == Device::cuda) {
    CHECK_CUDA (cudaMemcpy (to, from, bytes, cudaMemcpyDefault));
    CHECK_CUDA (cudaDeviceSynchronize ());
    return;
  }
#endif
  (void) device;
  if (bytes > 0)  // else there may be no address
    std::memcpy (to, from, bytes);
}

inline void fill (Device device, void *to, std::uint8_t byte, std::size_t bytes)
{
#if INTHIST_CUDA
  if (device == Device::cuda) {
    CHECK_CUDA (cudaMemset (to, byte, bytes));
    CHECK_CUDA (cudaDeviceSynchronize ());
    return;
  }
#endif
  (void) device;
  std::memset (to, byte, bytes);
}

/// A queue of work: a CUDA stream, or nothing.
class Queue {
public:
  explicit Queue ([[maybe_unused]] Device device)
  {
#if INTHIST_CUDA
    if (device == Device::cuda) {
      owner_ = must (cuda::make_stream ());
      stream = owner_.get ();
    }
#endif
  }

  void wait ()
  {
#if INTHIST_CUDA
    if (stream)
      CHECK_CUDA (cudaStreamSynchronize (stream));
#endif
  }

  Stream stream = nullptr;

#if INTHIST_CUDA
private:
  cuda::StreamOwner owner_;
#endif
};

/// Memory of a device between two guards. The data lies `shift` bytes past a multiple of 256.
/// Without the guard behind it sanitizers see the true end.
class Block {
public:
  Block (Device device, std::size_t bytes, std::size_t shift = 0, bool guard_behind = true)
      : front (256 + shift), total (front + bytes + (guard_behind ? 256 : 0)), bytes_ (bytes),
        device_ (device), memory_ (allocate (device, total)), data (memory_.get () + front)
  {
  }

  /// All of it, guards included.
  void poison (std::uint8_t with = kPoison)
  {
    fill (device_, memory_.get (), with, total);
    poison_ = with;
  }

  void put (const void *from, std::size_t bytes)
  {
    if (bytes > bytes_)
      throw std::logic_error ("more than the block holds");
    copy (device_, data, from, bytes);
  }

  /// All of it, guards included.
  Bytes get () const
  {
    Bytes all (total);
    copy (device_, all.data (), memory_.get (), total);
    return all;
  }

  /// Tells whether the guards are as they were when they were poisoned.
  bool guards_hold () const
  {
    const auto holds = [this] (const std::uint8_t *from, std::size_t bytes) {
      Bytes guard (bytes);
      copy (device_, guard.data (), from, bytes);
      return std::ranges::all_of (guard, [this] (std::uint8_t byte) { return byte == poison_; });
    };
    return holds (memory_.get (), front) && holds (data + bytes_, total - front - bytes_);
  }

  const std::size_t front, total;

private:
  const std::size_t bytes_;
  const Device device_;
  const Memory memory_;
  std::uint8_t poison_ = kPoison;

public:
  std::uint8_t *const data;
};

}  // namespace inthist::check
