// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lists the available devices, for elements that take several.
#pragma once

#include <cstring>
#include <numeric>

#if INTHIST_CUDA
#include <cuda_runtime.h>
#endif

#include "pipelines.hpp"

inline int cuda_devices ()
{
  int n = 0;
#if INTHIST_CUDA
  if (cudaGetDeviceCount (&n) != cudaSuccess)
    n = 0;
#endif
  return n;
}

/// Returns some of the available devices, in any order.
inline std::string device_list (const char *backend, Random &random)
{
  std::vector<int> ids (strcmp (backend, "cpu") == 0 ? 6 : cuda_devices ());
  std::iota (ids.begin (), ids.end (), 0);
  std::ranges::shuffle (ids, random);
  const auto n = std::size_t (between (random, 1, std::min (4, int (ids.size ()))));
  std::string list;
  for (std::size_t i = 0; i < n && i < ids.size (); i++)
    list.append (i > 0 ? "," : "").append (std::to_string (ids[i]));
  return list;
}
