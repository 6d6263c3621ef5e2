// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Helpers that make a CUDA context current for a piece of work.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <kernels/cuda/raii.hpp>

#include "cuda_context.hpp"

namespace integralhist {

using inthist::cuda::CudaExpected;

using ContextRef = std::shared_ptr<CudaContext>;

/// Calls the function `body` with the CUDA context current and returns its result, or an error if
/// the context no longer exists.
template <class Body>
auto with_context (const CudaContext &context, Body &&body)
    -> Expected<typename decltype (body ())::value_type>
{
  const CudaContext::Scope scope (context);
  if (!scope)
    return error (Error::Kind::failed, "CUDA: the context of device ", context.device (),
                  " is gone: stop pipelines before the process ends");
  auto result = body ();
  if (!result)
    return tl::unexpected<Error> (std::move (result).error ());
  if constexpr (std::is_void_v<typename decltype (result)::value_type>)
    return {};
  else
    return std::move (*result);
}

/// Owns a value such as a CUDA stream, and makes its CUDA context current to destroy it. A class
/// has all that it owns in its context in one such member, `own_`.
template <class T>
class InContext {
public:
  template <class... Args>
  InContext (ContextRef context, Args &&...args)
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
  const T &operator* () const { return *value_; }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }

private:
  const ContextRef context_;
  std::optional<T> value_;
};

}  // namespace integralhist
