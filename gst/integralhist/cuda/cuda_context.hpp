// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// Says why there is no device, in builds without CUDA.
constexpr char kNoCuda[] =
    "this build has no CUDA (it was configured with -Dcuda=disabled, or without nvcc)";

/// A CUDA context: a device's primary one or an application's. A Scope makes it current.
class CudaContext {
public:
  /// Returns the number of devices. Having none is an error.
  static Expected<int> device_count ();

  static Expected<std::shared_ptr<CudaContext>> primary (int device);
  /// Wraps a context that `owner` keeps alive.
  static Expected<std::shared_ptr<CudaContext>> wrap (void *handle, int device,
                                                      std::shared_ptr<void> owner);

  void *handle () const { return handle_; }
  int device () const { return device_; }
  /// Returns whether this is the device's primary context, which the CUDA runtime makes and which
  /// PyTorch, CuPy and Numba use.
  bool is_primary () const;
  Expected<std::size_t> free_memory () const;
  Expected<> synchronize (inthist::Stream stream) const;
  /// Enqueues a copy from another context to this one, which is current: a peer copy if possible.
  Expected<> copy_from (const CudaContext &other, const void *from, void *to, std::size_t bytes,
                        inthist::Stream stream) const;

  /// Records an event of this context, which fires after all work that its streams have now.
  /// Returns false if the driver is older than CUDA 12.5 and cannot do this.
  bool record (void *event) const;

  class Scope {
  public:
    explicit Scope (const CudaContext &context);
    ~Scope ();
    Scope (const Scope &) = delete;
    Scope &operator= (const Scope &) = delete;
    /// Returns false if the context no longer exists, which happens only when the process ends.
    explicit operator bool () const { return pushed_; }

  private:
    const bool pushed_;
  };

private:
  CudaContext (void *handle, int device, std::shared_ptr<void> owner)
      : handle_ (handle), device_ (device), owner_ (std::move (owner))
  {
  }

  void *handle_;
  int device_;
  std::shared_ptr<void> owner_;
};

}  // namespace integralhist
