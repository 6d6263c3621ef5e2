// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

/// Marks what is compiled for the host and, in a .cu file, for the device as well.
#ifdef __CUDACC__
#define INTHIST_HOST_DEVICE __host__ __device__
#else
#define INTHIST_HOST_DEVICE
#endif
