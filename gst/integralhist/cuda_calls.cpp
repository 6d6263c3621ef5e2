// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cuda_calls.hpp"

#include <chrono>
#include <thread>

#include "host_fence.hpp"
#include "memory_messages.hpp"

namespace integralhist {

using namespace inthist::cuda;
using Clock = std::chrono::steady_clock;

static constexpr std::chrono::microseconds kAsking (50);  // a wait polls for so long

Available free_on_device ()
{
  std::size_t available = 0, total = 0;
  cudaMemGetInfo (&available, &total);
  return { available, "GPU memory" };
}

std::string no_memory_on_device (const std::string &what, const CudaError &error)
{
  return no_memory (what + (error.pinned ? ", pinned on the host," : ", on the GPU,"), error.bytes,
                    error.pinned ? available_memory () : free_on_device ());
}

static cudaError_t state_of (cudaEvent_t event)
{
  const cudaError_t state = cudaEventQuery (event);
  if (state == cudaErrorNotReady)
    cudaGetLastError ();  // older runtimes would report it at the next launch
  return state;
}

bool has_fired (cudaEvent_t event)
{
  return state_of (event) != cudaErrorNotReady;
}

CudaExpected<> await (cudaEvent_t event)
{
  const auto start = Clock::now ();
  cudaError_t state;
  do
    state = state_of (event);
  while (state == cudaErrorNotReady && Clock::now () - start <= kAsking);
  return check (state == cudaErrorNotReady ? cudaEventSynchronize (event) : state);
}

Expected<> await (cudaEvent_t event, GstClockTime timeout)
{
  if (timeout == GST_CLOCK_TIME_NONE) {
    TRY (await (event));
    return {};
  }
  const auto start = Clock::now ();
  cudaError_t state;
  while ((state = state_of (event)) == cudaErrorNotReady) {
    const auto waited = Clock::now () - start;
    if (waited >= duration_of (timeout))
      return not_ready ();
    if (waited > kAsking)
      std::this_thread::sleep_for (std::chrono::microseconds (20));
  }
  TRY (check (state));
  return {};
}

CudaExpected<> upload (const PictureRows &rows, std::byte *to, cudaStream_t stream)
{
  if (rows.are_close ())
    return check (cudaMemcpyAsync (to, rows.data, rows.pitch * (rows.n - 1) + rows.bytes,
                                   cudaMemcpyHostToDevice, stream));
  return check (cudaMemcpy2DAsync (to, rows.pitch, rows.data, std::size_t (rows.stride), rows.bytes,
                                   rows.n, cudaMemcpyHostToDevice, stream));
}

}  // namespace integralhist

integralhist::Error inthist::cuda::to_error (const CudaError &error)
{
  using integralhist::Error;
  if (error.code == cudaErrorMemoryAllocation)
    return Error (Error::Kind::no_memory,
                  integralhist::no_memory_on_device ("what a frame needs besides its tensor", error)
                      + ": lower async-depth, set max-tensors, or download=never");
  return Error (Error::Kind::failed, integralhist::joined ("CUDA: ", error.what ()));
}
