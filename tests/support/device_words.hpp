// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Streams and memory of a GPU that a test owns, as an application does.
#pragma once

#include <cstdint>
#include <vector>

#include <cuda_runtime.h>

#include "test.hpp"  // last: it has macros with names of the standard library

inline void check_cuda (int error)
{
  fail_unless (error == cudaSuccess, "CUDA: %s", cudaGetErrorString (cudaError_t (error)));
}

class DeviceStream {
public:
  DeviceStream () { check_cuda (cudaStreamCreateWithFlags (&stream_, cudaStreamNonBlocking)); }
  ~DeviceStream () { cudaStreamDestroy (stream_); }
  DeviceStream (const DeviceStream &) = delete;
  DeviceStream &operator= (const DeviceStream &) = delete;

  cudaStream_t get () const { return stream_; }
  void wait () const { check_cuda (cudaStreamSynchronize (stream_)); }

private:
  cudaStream_t stream_ = nullptr;
};

/// Memory of 32-bit words, each 0xa5a5a5a5 at first.
class DeviceWords {
public:
  explicit DeviceWords (std::size_t words) : words_ (words)
  {
    check_cuda (cudaMalloc (reinterpret_cast<void **> (&data), words * sizeof *data));
    check_cuda (cudaMemset (data, 0xa5, words * sizeof *data));
    check_cuda (cudaDeviceSynchronize ());
  }
  ~DeviceWords () { cudaFree (data); }
  DeviceWords (const DeviceWords &) = delete;
  DeviceWords &operator= (const DeviceWords &) = delete;

  std::vector<std::uint32_t> read () const
  {
    std::vector<std::uint32_t> words (words_);
    check_cuda (cudaMemcpy (words.data (), data, words_ * sizeof *data, cudaMemcpyDeviceToHost));
    return words;
  }

  std::uint32_t *data = nullptr;

private:
  const std::size_t words_;
};
