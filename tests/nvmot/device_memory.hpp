// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Memory of the first GPU, such as that of nvtracker's surfaces; the driver is looked up at run
// time.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <dlfcn.h>

#include <glib.h>

namespace nvtracker {

/// The functions of the driver that are needed, with the primary context of the first GPU.
struct Driver {
  using Pointer = unsigned long long;
  int (*init) (unsigned);
  int (*count) (int *);
  int (*retain) (void **context, int device);
  int (*set_current) (void *context);
  int (*allocate) (Pointer *, std::size_t);
  int (*free) (Pointer);
  int (*upload) (Pointer, const void *, std::size_t);
  int (*fill) (Pointer, unsigned char, std::size_t);
  int (*create_stream) (void **stream, unsigned flags);
  int (*synchronize) ();
  void *context;

  /// Returns null if there is no GPU. The context is current in this thread.
  static const Driver *get ()
  {
    static const std::unique_ptr<Driver> driver = open ();
    if (driver)
      driver->set_current (driver->context);
    return driver.get ();
  }

  /// Makes a stream that does not wait for the default stream.
  void *make_stream () const
  {
    constexpr unsigned kNonBlocking = 1;
    void *stream = nullptr;
    if (create_stream (&stream, kNonBlocking) != 0)
      g_error ("no stream");
    return stream;
  }

private:
  static std::unique_ptr<Driver> open ()
  {
    void *const file = dlopen ("libcuda.so.1", RTLD_NOW);
    if (!file)
      return nullptr;
    auto made = std::make_unique<Driver> ();
    const auto find = [file]<class F> (F &function, const char *name) {
      function = reinterpret_cast<F> (dlsym (file, name));
      return function != nullptr;
    };
    int n = 0;
    const bool found =
        find (made->init, "cuInit") && find (made->count, "cuDeviceGetCount")
        && find (made->retain, "cuDevicePrimaryCtxRetain")
        && find (made->set_current, "cuCtxSetCurrent") && find (made->allocate, "cuMemAlloc_v2")
        && find (made->free, "cuMemFree_v2") && find (made->upload, "cuMemcpyHtoD_v2")
        && find (made->fill, "cuMemsetD8_v2") && find (made->create_stream, "cuStreamCreate")
        && find (made->synchronize, "cuCtxSynchronize");
    if (!found || made->init (0) != 0 || made->count (&n) != 0 || n == 0
        || made->retain (&made->context, 0) != 0)
      return nullptr;
    return made;
  }
};

/// A piece of the GPU's memory.
class DeviceMemory {
public:
  explicit DeviceMemory (std::size_t bytes) : bytes_ (bytes)
  {
    if (Driver::get ()->allocate (&pointer_, bytes) != 0)
      g_error ("no memory on the GPU");
  }
  DeviceMemory (DeviceMemory &&other) noexcept
      : bytes_ (other.bytes_), pointer_ (std::exchange (other.pointer_, 0))
  {
  }
  ~DeviceMemory ()
  {
    if (pointer_)
      Driver::get ()->free (pointer_);
  }

  // Both return when the memory is written: streams that do not wait for the default stream read
  // it.
  void upload (const void *from)
  {
    Driver::get ()->upload (pointer_, from, bytes_);
    Driver::get ()->synchronize ();
  }
  void fill (unsigned char byte)
  {
    Driver::get ()->fill (pointer_, byte, bytes_);
    Driver::get ()->synchronize ();
  }
  void *data () const { return reinterpret_cast<void *> (pointer_); }

private:
  const std::size_t bytes_;
  Driver::Pointer pointer_ = 0;
};

}  // namespace nvtracker
