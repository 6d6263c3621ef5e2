// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>

#include <gst/integralhist/engine/tensor.hpp>

namespace integralhist {

/// The primary CUDA context of a device, or an application's. A Scope makes the context current.
class CudaContext {
public:
  static Expected<int> device_count ();

  static Expected<std::shared_ptr<CudaContext>> primary (int device);
  /// Wraps an application's CUDA context, which `owner` keeps alive.
  static Expected<std::shared_ptr<CudaContext>> wrap (void *handle, int device,
                                                      std::shared_ptr<void> owner);

  void *handle () const { return handle_; }
  int device () const { return device_; }
  /// Returns whether this is the device's primary context, which the CUDA runtime makes and which
  /// PyTorch, CuPy and Numba use.
  bool is_primary () const;
  Expected<std::size_t> free_memory () const;
  Expected<> synchronize (Stream stream) const;
  /// Enqueues a copy from the memory of another CUDA context to this context, which is current:
  /// directly from GPU to GPU if possible.
  Expected<> copy_from (const CudaContext &other, const void *from, void *to, std::size_t bytes,
                        Stream stream) const;

  /// Records a CUDA event, which fires after the work now on all streams of this context. Returns
  /// false if the driver is older than CUDA 12.5 and cannot do this.
  bool record (CudaEvent event) const;

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
