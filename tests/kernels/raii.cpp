// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The owners of CUDA memory hold what the device says that they hold. An error says where a call
// failed, also without a device.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

#if INTHIST_CUDA
#include <kernels/cuda/raii.hpp>
#endif

#include "test.hpp"  // last: it has macros with names of the standard library

#if INTHIST_CUDA
using namespace inthist::cuda;

/// Prints why the test is skipped if there is no device.
static bool have_device (const char *what)
{
  int n = 0;
  const cudaError_t error = cudaGetDeviceCount (&n);
  if (error == cudaSuccess && n > 0)
    return true;
  cudaGetLastError ();
  printf ("SKIP: %s: %s\n", what, error ? cudaGetErrorString (error) : "no CUDA device");
  return false;
}

static void expect_here (const CudaError &error, unsigned line)
{
  fail_unless (std::string (error.where.file_name ()).ends_with ("raii.cpp")
                   && error.where.line () == line,
               "%s:%u instead of line %u", error.where.file_name (), error.where.line (), line);
}

/// An error names the line of this file, also if a function of raii.hpp has checked for it.
TEST (places)
{
  fail_unless (bool (check (cudaSuccess)));
  const auto checked = check (cudaErrorInvalidValue);
  expect_here (checked.error (), __LINE__ - 1);
  fail_unless (checked.error ().code == cudaErrorInvalidValue && checked.error ().bytes == 0);
  fail_unless (bool (check_allocation (cudaSuccess, 7, Memory::pinned)));
  const auto asked = check_allocation (cudaErrorMemoryAllocation, 7, Memory::pinned);
  expect_here (asked.error (), __LINE__ - 1);
  fail_unless (asked.error ().code == cudaErrorMemoryAllocation && asked.error ().bytes == 7
               && asked.error ().memory == Memory::pinned);
  const auto event = make_event (~0u);  // there are no such flags
  expect_here (event.error (), __LINE__ - 1);
  GrowingDeviceMemory memory;
  const auto reserved = memory.reserve (std::size_t (1) << 60);  // more than any device has
  expect_here (reserved.error (), __LINE__ - 1);
  fail_unless (reserved.error ().bytes == std::size_t (1) << 60
               && reserved.error ().memory == Memory::device);
  GrowingPinnedMemory pinned;
  fail_unless (pinned.reserve (std::size_t (1) << 60).error ().memory == Memory::pinned);
  fail_unless (cudaGetLastError () != cudaErrorMemoryAllocation);  // the next launch is well
}

/// A size of 0 allocates nothing, and needs no device.
TEST (none)
{
  const auto device = make_device_memory (0);
  const auto pinned = make_pinned_memory (0);
  fail_unless (device && !*device && pinned && !*pinned);
}

static_assert (!std::is_move_constructible_v<
                   GrowingDeviceMemory> && !std::is_move_assignable_v<GrowingDeviceMemory>);

/// Memory that is large enough stays, and is replaced if more is needed. A size that does not fit
/// leaves no memory, and a size that fits works afterwards.
template <class Growing>
static void grow (std::size_t alignment)
{
  Growing memory;
  fail_unless (!memory.get () && memory.bytes () == 0);
  fail_unless (bool (memory.reserve (0)) && !memory.get ());
  fail_unless (bool (memory.reserve (1000)) && memory.bytes () == 1000);
  std::byte *const first = memory.get ();
  fail_unless (reinterpret_cast<std::uintptr_t> (first) % alignment == 0);
  fail_unless (cudaMemset (first, 1, 1000) == cudaSuccess);
  for (const std::size_t less : { 1000, 999, 0 })
    fail_unless (bool (memory.reserve (less)) && memory.get () == first && memory.bytes () == 1000);
  const std::size_t large = 64 << 20;
  fail_unless (bool (memory.reserve (large)) && memory.bytes () == large);
  fail_unless (cudaMemset (memory.get () + large - 1, 1, 1) == cudaSuccess);
  const auto failed = memory.reserve (std::size_t (1) << 60);
  fail_unless (!failed && failed.error ().code == cudaErrorMemoryAllocation);
  fail_unless (!memory.get () && memory.bytes () == 0);
  fail_unless (bool (memory.reserve (10)) && memory.get () && memory.bytes () == 10);
}

TEST (growing)
{
  if (!have_device ("memory that grows"))
    return;
  std::size_t before, after, total;
  fail_unless (cudaFree (nullptr) == cudaSuccess
               && cudaMemGetInfo (&before, &total) == cudaSuccess);
  for (int i = 0; i < 20; i++) {
    grow<GrowingDeviceMemory> (256);
    grow<GrowingPinnedMemory> (alignof (std::max_align_t));
  }
  fail_unless (cudaMemGetInfo (&after, &total) == cudaSuccess);
  // all memory is freed; the runtime may keep a little, and other programs may take some
  fail_unless (after + (std::size_t (640) << 20) > before, "%zu MiB are lost",
               (before - after) >> 20);
}
#else
TEST (skipped)
{
  printf ("SKIP: owners of CUDA memory: this build has no CUDA\n");
}
#endif
