// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

/// Marks code that is compiled for the host and, in a .cu file, also for the device.
#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif
