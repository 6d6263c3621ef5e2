// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fingerprint.hpp"

#include <fstream>

#include <tbb/task_arena.h>

#include "cpu/parallel.hpp"
#if INTHIST_CUDA
#include <cuda_runtime.h>
#endif

namespace inthist {

std::string device_fingerprint ([[maybe_unused]] Device device)
{
#if INTHIST_CUDA
  if (device == Device::cuda) {
    int ordinal = 0, driver = 0;
    cudaDeviceProp properties;
    if (cudaGetDevice (&ordinal) != cudaSuccess
        || cudaGetDeviceProperties (&properties, ordinal) != cudaSuccess
        || cudaDriverGetVersion (&driver) != cudaSuccess) {
      cudaGetLastError ();  // clears the error, which is handled here
      return "";
    }
    // the driver's CUDA version, and its own from "... Kernel Module  580.159.04  ..."
    std::string text = std::string (properties.name) + ", "
                       + std::to_string (properties.multiProcessorCount) + " SMs, driver "
                       + std::to_string (driver);
    std::ifstream version ("/proc/driver/nvidia/version");
    for (std::string word; version >> word;)
      if (word.find ('.') != std::string::npos
          && word.find_first_not_of ("0123456789.") == std::string::npos) {
        text += " " + word;
        break;
      }
    return text;
  }
#endif
  int threads = 0;
  if (cpu::guarded ([&] { return threads = tbb::this_task_arena::max_concurrency (), 0; }) != 0)
    return "";
  std::ifstream info ("/proc/cpuinfo");
  for (std::string line; std::getline (info, line);)
    if (line.starts_with ("model name") && line.find (": ") != std::string::npos)
      return line.substr (line.find (": ") + 2) + ", " + std::to_string (threads) + " threads";
  return "";
}

}  // namespace inthist
