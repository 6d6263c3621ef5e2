// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The few driver calls that the CUDA runtime has no name for. libcuda comes with the driver, so it is looked up at run time.
#include "engine.hpp"

#include <dlfcn.h>

#include <cuda.h>
#include <cuda_runtime.h>

namespace integralhist {
namespace {

struct Driver {
  decltype (&cuCtxPushCurrent) push;
  decltype (&cuCtxPopCurrent) pop;
  decltype (&cuDevicePrimaryCtxRetain) retain;
  decltype (&cuDevicePrimaryCtxRelease) release;
  decltype (&cuCtxEnablePeerAccess) enable_peer;
  decltype (&cuMemcpyPeerAsync) copy_peer;

  static const Driver &get ()
  {
    static const Driver driver;
    return driver;
  }

private:
  Driver ()
  {
    void *library = dlopen ("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library)
      throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, dlerror ());
    const auto find = [&] (auto &function, const char *name) {
      function = reinterpret_cast<std::remove_reference_t<decltype (function)>> (dlsym (library, name));
      if (!function)
        throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, std::string ("the NVIDIA driver has no ") + name);
    };
    find (push, "cuCtxPushCurrent_v2");
    find (pop, "cuCtxPopCurrent_v2");
    find (retain, "cuDevicePrimaryCtxRetain");
    find (release, "cuDevicePrimaryCtxRelease_v2");
    find (enable_peer, "cuCtxEnablePeerAccess");
    find (copy_peer, "cuMemcpyPeerAsync");
  }
};

}  // namespace

int
CudaContext::device_count (std::string *why)
{
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount (&count);
  if (error == cudaSuccess && count > 0)
    return count;
  int driver = 0;
  cudaDriverGetVersion (&driver);
  *why = driver == 0 ? "there is no NVIDIA driver" : error == cudaSuccess ? "there is no CUDA device" : cudaGetErrorString (error);
  cudaGetLastError ();
  return 0;
}

std::shared_ptr<CudaContext>
CudaContext::primary (int device)
{
  CUcontext context;
  if (const CUresult error = Driver::get ().retain (&context, device))
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED,
                 "CUDA device " + std::to_string (device) + " gave no context: error " + std::to_string (error));
  const std::shared_ptr<void> owner (context, [device] (void *) { Driver::get ().release (device); });
  return wrap (context, device, owner);
}

std::shared_ptr<CudaContext>
CudaContext::wrap (void *handle, int device, std::shared_ptr<void> owner)
{
  Driver::get ();  // may throw, here and not in a Scope
  return std::shared_ptr<CudaContext> (new CudaContext (handle, device, std::move (owner)));
}

CudaContext::~CudaContext () = default;

std::size_t
CudaContext::free_memory () const
{
  const Scope scope (*this);
  std::size_t available = 0, total = 0;
  cudaMemGetInfo (&available, &total);
  return available;
}

void
CudaContext::synchronize (inthist::Stream stream) const
{
  const Scope scope (*this);
  if (const cudaError_t error = cudaStreamSynchronize (stream))
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, std::string ("CUDA: ") + cudaGetErrorString (error));
}

void
CudaContext::copy_from (const CudaContext &other, const void *from, void *to, std::size_t bytes, inthist::Stream stream) const
{
  const auto as_pointer = [] (const void *p) { return reinterpret_cast<CUdeviceptr> (p); };
  const auto context = [] (const CudaContext &c) { return static_cast<CUcontext> (c.handle_); };
  if (other.device_ != device_)
    Driver::get ().enable_peer (context (other), 0);  // where it is already, or cannot be, nothing changes
  if (const CUresult error = Driver::get ().copy_peer (as_pointer (to), context (*this), as_pointer (from), context (other), bytes, stream))
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, "CUDA: copying from device " + std::to_string (other.device_) + " to device "
                                                          + std::to_string (device_) + ": error " + std::to_string (error));
}

CudaContext::Scope::Scope (const CudaContext &context)
    : pushed_ (Driver::get ().push (static_cast<CUcontext> (context.handle ())) == CUDA_SUCCESS)
{
}

CudaContext::Scope::~Scope ()
{
  CUcontext context;
  if (pushed_)
    Driver::get ().pop (&context);
}

}  // namespace integralhist
