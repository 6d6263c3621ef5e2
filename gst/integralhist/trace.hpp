// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a profiler shows beside CUDA's own calls (NVTX): what the streaming thread does, and which
// stream is which. Without a profiler a range costs a few nanoseconds, without NVTX
// (-Dnvtx=disabled) nothing.
#pragma once

#include <inthist.hpp>

#if HAVE_NVTX
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#endif

namespace integralhist {

/// From here to the end of the block.
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
