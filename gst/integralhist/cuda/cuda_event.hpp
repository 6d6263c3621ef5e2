// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Waits for CUDA events while their context is current.
#pragma once

#include <chrono>

#include <kernels/cuda/raii.hpp>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// Returns whether the event's work is done or has failed; the next use reports a failure.
bool has_fired (cudaEvent_t event);
/// How long a wait polls: a blocked thread wakes up later than a small frame takes.
inline constexpr std::chrono::microseconds kPolling (50);
/// How long a wait polls for an answer to the tracker, which asks several times per frame.
inline constexpr std::chrono::microseconds kAnswerPolling (200);
/// Waits for an event made with cudaEventBlockingSync.
inthist::cuda::CudaExpected<>
await (cudaEvent_t event, std::chrono::microseconds polling = kPolling,
       inthist::cuda::Location where = inthist::cuda::Location::current ());

/// Lets `stream` wait for the work that the producer's stream has now, by an event recorded there.
/// Without a producer there is nothing to wait for.
inthist::cuda::CudaExpected<>
wait_for_producer (cudaStream_t stream, cudaStream_t producer, cudaEvent_t event,
                   inthist::cuda::Location where = inthist::cuda::Location::current ());

/// Waits at most `timeout` nanoseconds for an event; then returns an Error::Kind::timeout.
Expected<> await (cudaEvent_t event, GstClockTime timeout,
                  inthist::cuda::Location where = inthist::cuda::Location::current ());

}  // namespace integralhist
