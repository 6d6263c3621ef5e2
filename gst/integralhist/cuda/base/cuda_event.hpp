// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Functions that wait for CUDA events. The CUDA context of the event must be current.
#pragma once

#include <chrono>

#include <kernels/cuda/raii.hpp>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// Returns whether the work before a CUDA event is done or failed; later calls report failures.
bool has_fired (cudaEvent_t event);
/// How long a thread polls an event before it blocks: waking it takes longer than a small frame.
inline constexpr std::chrono::microseconds kPolling (50);
/// How long a thread polls for a query's answer before it blocks: longer than kPolling, because a
/// tracker asks several times per frame.
inline constexpr std::chrono::microseconds kAnswerPolling (200);
/// Waits for a CUDA event, which must have been made with cudaEventBlockingSync.
inthist::cuda::CudaExpected<>
await (cudaEvent_t event, std::chrono::microseconds polling = kPolling,
       inthist::cuda::Location where = inthist::cuda::Location::current ());

/// Makes the CUDA stream `stream` wait for the work now on the stream `written_on`, by recording
/// `event` on `written_on`. Does nothing if `written_on` is null.
inthist::cuda::CudaExpected<>
wait_for_writes (cudaStream_t stream, cudaStream_t written_on, cudaEvent_t event,
                 inthist::cuda::Location where = inthist::cuda::Location::current ());

/// Waits for a CUDA event at most `timeout` nanoseconds, and then returns an Error::Kind::timeout.
Expected<> await_until (cudaEvent_t event, GstClockTime timeout,
                        inthist::cuda::Location where = inthist::cuda::Location::current ());

}  // namespace integralhist
