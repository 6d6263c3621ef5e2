// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>

/// Enqueues on the stream, in the current context, a kernel that does nothing for a while and
/// copies after that. Returns a cudaError_t.
extern "C" int slow_copy (const void *from, void *to, std::size_t bytes, int milliseconds,
                          void *stream);
