// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Calls of the CUDA runtime in a context, and waits for its events.
#pragma once

#include <optional>
#include <string>

#include <kernels/cuda/raii.hpp>

#include "cuda_context.hpp"
#include "host_memory.hpp"
#include "picture_rows.hpp"

namespace inthist::cuda {

/// Describes a failed call. Error's constructor finds it here.
integralhist::Error to_error (const CudaError &error);

}  // namespace inthist::cuda

namespace integralhist {

using Context = std::shared_ptr<CudaContext>;

template <class Body>
auto on (const CudaContext &context, Body &&body) -> decltype (body ())
{
  const CudaContext::Scope scope (context);
  if (!scope)
    return error (Error::Kind::failed, "CUDA: the context of device ", context.device (),
                  " is gone");
  return body ();
}

/// A value that is dropped with its context current.
template <class T>
class InContext {
public:
  template <class... Args>
  InContext (Context context, Args &&...args)
      : context_ (std::move (context)), value_ (std::in_place, std::forward<Args> (args)...)
  {
  }
  ~InContext ()
  {
    const CudaContext::Scope scope (*context_);
    value_.reset ();
  }
  InContext (const InContext &) = delete;
  InContext &operator= (const InContext &) = delete;

  T &operator* () { return *value_; }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }

private:
  const Context context_;
  std::optional<T> value_;
};

/// Returns whether the event's work is done or has failed; the next use reports a failure.
bool has_fired (cudaEvent_t event);
/// Waits for an event made with cudaEventBlockingSync. It polls for 50 microseconds, because a
/// blocked thread wakes later than a small frame takes.
inthist::cuda::CudaExpected<> await (cudaEvent_t event);

/// Waits at most `timeout` nanoseconds for an event, then returns an Error::Kind::timeout.
Expected<> await (cudaEvent_t event, GstClockTime timeout);

/// Enqueues the upload of rows in pinned memory.
inthist::cuda::CudaExpected<> upload (const PictureRows &rows, std::byte *to, cudaStream_t stream);

/// Returns the free memory of the current context.
Available free_on_device ();
/// Returns the message for `what`, which could not be allocated.
std::string no_memory_on_device (const std::string &what, const inthist::cuda::CudaError &error);

}  // namespace integralhist
