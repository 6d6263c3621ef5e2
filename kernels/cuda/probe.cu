// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Meson compiles this at configure time, to see whether nvcc, its host compiler and headers fit.
#include <cuda_runtime.h>

#include "../inthist.hpp"

__global__ void probe () {}
