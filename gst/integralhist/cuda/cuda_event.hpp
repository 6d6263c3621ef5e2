// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Waits for CUDA events while their context is current.
#pragma once

#include <chrono>

#include <kernels/cuda/raii.hpp>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// Returns whether the work before the event is done or has failed. The next CUDA call with it
/// reports the failure.
bool has_fired (cudaEvent_t event);
/// How long a wait polls before it blocks. Waking a blocked thread takes longer than a small frame.
inline constexpr std::chrono::microseconds kPolling (50);
/// How long a wait for an answer to a tracker polls before it blocks. A tracker asks several times
/// per frame.
inline constexpr std::chrono::microseconds kAnswerPolling (200);
/// Waits for an event made with cudaEventBlockingSync.
inthist::cuda::CudaExpected<>
await (cudaEvent_t event, std::chrono::microseconds polling = kPolling,
       inthist::cuda::Location where = inthist::cuda::Location::current ());

/// Lets `stream` wait for all work that the stream `producer` has now; `event` is recorded there
/// for that. Without a producer, `stream` does not wait.
inthist::cuda::CudaExpected<>
wait_for_producer (cudaStream_t stream, cudaStream_t producer, cudaEvent_t event,
                   inthist::cuda::Location where = inthist::cuda::Location::current ());

/// Waits at most `timeout` nanoseconds for an event; then returns an Error::Kind::timeout.
Expected<> await (cudaEvent_t event, GstClockTime timeout,
                  inthist::cuda::Location where = inthist::cuda::Location::current ());

}  // namespace integralhist
