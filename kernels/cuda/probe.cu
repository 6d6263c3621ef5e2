// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Not part of the library: compiled at configure time, to see whether nvcc, its host compiler and
// its headers fit together.
#include <cuda_runtime.h>

#include "../inthist.hpp"

__global__ void probe () {}
