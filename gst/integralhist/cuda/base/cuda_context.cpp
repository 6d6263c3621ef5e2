// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Functions of the CUDA driver that the CUDA runtime lacks, looked up in libcuda at run time.
#include "cuda_context.hpp"

#include <dlfcn.h>

#include <cuda.h>

#include "cuda_error.hpp"
#include "in_context.hpp"

namespace integralhist {

using inthist::cuda::check;

namespace {

struct Driver {
  decltype (&cuCtxPushCurrent) push;
  decltype (&cuCtxPopCurrent) pop;
  decltype (&cuDevicePrimaryCtxRetain) retain;
  decltype (&cuDevicePrimaryCtxRelease) release;
  decltype (&cuDevicePrimaryCtxGetState) primary_state;
  decltype (&cuCtxEnablePeerAccess) enable_peer;
  decltype (&cuMemcpyPeerAsync) copy_peer;
  decltype (&cuGetErrorName) get_error_name;
  CUresult (CUDAAPI *record_context) (CUcontext, CUevent);  // null before CUDA 12.5

  /// Returns the driver's functions; find_it () must have succeeded, as for every CudaContext.
  static const Driver &get () { return *find_it (); }

  static const Expected<Driver> &find_it ()
  {
    static const Expected<Driver> driver = look_up ();
    return driver;
  }

private:
  static Expected<Driver> look_up ()
  {
    void *library = dlopen ("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library)
      return error (Error::Kind::no_device, dlerror (), ": install the NVIDIA driver");
    Driver driver;
    std::string missing;
    const auto find = [&] (auto &function, const char *name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype (function)>> (dlsym (library, name));
      if (!function)
        missing = name;
    };
    find (driver.push, "cuCtxPushCurrent_v2");
    find (driver.pop, "cuCtxPopCurrent_v2");
    find (driver.retain, "cuDevicePrimaryCtxRetain");
    find (driver.release, "cuDevicePrimaryCtxRelease_v2");
    find (driver.primary_state, "cuDevicePrimaryCtxGetState");
    find (driver.enable_peer, "cuCtxEnablePeerAccess");
    find (driver.copy_peer, "cuMemcpyPeerAsync");
    find (driver.get_error_name, "cuGetErrorName");
    if (!missing.empty ())
      return error (Error::Kind::no_device, "the NVIDIA driver has no ", missing,
                    ": install driver 525 or newer");
    driver.record_context =
        reinterpret_cast<decltype (driver.record_context)> (dlsym (library, "cuCtxRecordEvent"));
    return driver;
  }
};

std::string name_of (CUresult error)
{
  const char *name;
  return Driver::get ().get_error_name (error, &name) == CUDA_SUCCESS
             ? name
             : joined ("error ", int (error));
}

}  // namespace

Expected<int> CudaContext::device_count ()
{
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount (&count);
  if (result == cudaSuccess && count > 0)
    return count;
  int driver = 0;
  cudaDriverGetVersion (&driver);
  cudaGetLastError ();
  return error (Error::Kind::no_device, driver == 0             ? "there is no NVIDIA driver"
                                        : result == cudaSuccess ? "there is no CUDA device"
                                                                : cudaGetErrorString (result));
}

Expected<std::shared_ptr<CudaContext>> CudaContext::primary (int device)
{
  const Driver driver = TRY (Driver::find_it ());
  CUcontext context;
  if (const CUresult result = driver.retain (&context, device))
    return error (Error::Kind::failed, "CUDA device ", device,
                  " gave no context: ", name_of (result), ": look at nvidia-smi");
  const std::shared_ptr<void> owner (context,
                                     [driver, device] (void *) { driver.release (device); });
  return wrap (context, device, owner);
}

Expected<std::shared_ptr<CudaContext>> CudaContext::wrap (void *handle, int device,
                                                          std::shared_ptr<void> owner)
{
  TRY (Driver::find_it ());
  return std::shared_ptr<CudaContext> (new CudaContext (handle, device, std::move (owner)));
}

bool CudaContext::is_primary () const
{
  const Driver &driver = Driver::get ();
  unsigned flags;
  int active = 0;
  CUcontext primary = nullptr;
  // Retaining a primary context that is not active would create it.
  if (driver.primary_state (device_, &flags, &active) != CUDA_SUCCESS || !active
      || driver.retain (&primary, device_) != CUDA_SUCCESS)
    return false;
  driver.release (device_);
  return primary == handle_;
}

bool CudaContext::record (CudaEvent event) const
{
  const auto record_context = Driver::get ().record_context;
  return record_context && record_context (static_cast<CUcontext> (handle_), event) == CUDA_SUCCESS;
}

Expected<std::size_t> CudaContext::free_memory () const
{
  return with_context (*this, [] () -> Expected<std::size_t> {
    std::size_t available, total;
    TRY (check (cudaMemGetInfo (&available, &total)));
    return available;
  });
}

Expected<> CudaContext::synchronize (Stream stream) const
{
  return with_context (*this, [&] { return check (cudaStreamSynchronize (stream)); });
}

Expected<> CudaContext::copy_from (const CudaContext &other, const void *from, void *to,
                                   std::size_t bytes, Stream stream) const
{
  const auto as_pointer = [] (const void *p) { return reinterpret_cast<CUdeviceptr> (p); };
  const auto context = [] (const CudaContext &c) { return static_cast<CUcontext> (c.handle_); };
  if (other.device_ != device_)
    // Enabling peer access fails without harm if it is already enabled or impossible.
    Driver::get ().enable_peer (context (other), 0);
  if (const CUresult result = Driver::get ().copy_peer (
          as_pointer (to), context (*this), as_pointer (from), context (other), bytes, stream))
    return error (Error::Kind::failed, "CUDA: copying from device ", other.device_, " to device ",
                  device_, ": ", name_of (result), ": set cuda-device-ids to one of them");
  return {};
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
