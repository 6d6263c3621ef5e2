// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Marks ranges of time and names CUDA streams in the timeline of NVIDIA's profilers (NVTX). A range
// costs nanoseconds without a profiler, and nothing with -Dnvtx=disabled.
#pragma once

#include <kernels/inthist.hpp>

#if HAVE_NVTX
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#endif

namespace integralhist {

class TraceRange {
public:
#if HAVE_NVTX
  explicit TraceRange (const char *name)
  {
    nvtxRangePushA (name);
  }
  ~TraceRange ()
  {
    nvtxRangePop ();
  }
#else
  explicit TraceRange (const char *) {}
#endif
  TraceRange (const TraceRange &) = delete;
  TraceRange &operator= (const TraceRange &) = delete;
};

inline void trace_name (inthist::Stream stream, const char *name)
{
#if HAVE_NVTX
  nvtxNameCudaStreamA (stream, name);
#else
  (void) stream, (void) name;
#endif
}

}  // namespace integralhist
