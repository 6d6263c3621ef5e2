// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cuda_event.hpp"

#include <thread>

#include <gst/integralhist/host/host_fence.hpp>

#include "cuda_error.hpp"

namespace integralhist {

using namespace inthist::cuda;
using Clock = std::chrono::steady_clock;

static cudaError_t state_of (cudaEvent_t event)
{
  const cudaError_t state = cudaEventQuery (event);
  if (state == cudaErrorNotReady)
    cudaGetLastError ();  // resets the error, which older runtimes would report at the next launch
  return state;
}

bool has_fired (cudaEvent_t event)
{
  return state_of (event) != cudaErrorNotReady;
}

CudaExpected<> await (cudaEvent_t event, std::chrono::microseconds polling, Location where)
{
  const auto start = Clock::now ();
  cudaError_t state;
  do
    state = state_of (event);
  while (state == cudaErrorNotReady && Clock::now () - start <= polling);
  return check (state == cudaErrorNotReady ? cudaEventSynchronize (event) : state, where);
}

CudaExpected<> wait_for_writes (cudaStream_t stream, cudaStream_t written_on, cudaEvent_t event,
                                Location where)
{
  if (!written_on)
    return {};
  TRY (check (cudaEventRecord (event, written_on), where));
  return check (cudaStreamWaitEvent (stream, event, 0), where);
}

Expected<> await_until (cudaEvent_t event, GstClockTime timeout, Location where)
{
  if (timeout == GST_CLOCK_TIME_NONE) {
    TRY (await (event, kPolling, where));
    return {};
  }
  const auto start = Clock::now ();
  cudaError_t state;
  while ((state = state_of (event)) == cudaErrorNotReady) {
    const auto waited = Clock::now () - start;
    if (waited >= duration_of (timeout))
      return not_ready ();
    if (waited > kPolling)
      std::this_thread::sleep_for (std::chrono::microseconds (20));
  }
  TRY (check (state, where));
  return {};
}

}  // namespace integralhist
