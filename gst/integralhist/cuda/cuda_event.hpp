// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Waits for CUDA events, with their context current.
#pragma once

#include <kernels/cuda/raii.hpp>

#include "../error.hpp"

namespace integralhist {

/// Returns whether the event's work is done or has failed; the next use reports a failure.
bool has_fired (cudaEvent_t event);
/// Waits for an event made with cudaEventBlockingSync. It polls for 50 microseconds, because a
/// blocked thread wakes later than a small frame takes.
inthist::cuda::CudaExpected<>
await (cudaEvent_t event, inthist::cuda::Location where = inthist::cuda::Location::current ());

/// Waits at most `timeout` nanoseconds for an event, then returns an Error::Kind::timeout.
Expected<> await (cudaEvent_t event, GstClockTime timeout,
                  inthist::cuda::Location where = inthist::cuda::Location::current ());

}  // namespace integralhist
