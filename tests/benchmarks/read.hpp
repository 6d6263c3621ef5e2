// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>

struct CUstream_st;

/// Reads all bytes of device memory; `never` is 4 bytes of it that are not written. A cudaError_t.
int read_all (const void *from, std::size_t bytes, void *never, CUstream_st *stream);
