// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What can go wrong, as a value that functions return. The C functions make a GError of it, the
// elements an element error (elements/messages.hpp); nothing is thrown. Not installed.
#pragma once

#include <string>
#include <utility>

#include <expected.hpp>
#include <inthist.hpp>

#include "gstintegralhistogram.h"

namespace inthist::cuda {
struct CudaError;
}

namespace integralhist {

struct Error {
  enum class Kind {
    failed,          // the device, the driver or a library
    timeout,         // of a wait with a limit
    flushing,        // a wait that a flush or a stop has ended; nobody is told
    no_memory,       // on the host or a device
    no_threads,      // the system starts no more
    no_device,       // that the settings name
    not_downloaded,  // with download=never
    overflow,        // an answer of more than 32 bits
    bad_question,    // of a consumer
    bad_setting,     // of a property
    bad_frame,       // a buffer that is not what its caps or metas say
    no_histogram,    // frames that carry none
  };

  Kind kind;
  std::string message;  // for users: what is wrong, the limit and the remedy; no full stop

  Error (Kind k, std::string text) : kind (k), message (std::move (text)) {}
  /// Of a CUDA call; cuda_tensor.cpp has it.
  Error (const inthist::cuda::CudaError &error);
};

template <class T = void>
using Expected = inthist::Expected<T, Error>;

/// To be returned instead of a value.
inline tl::unexpected<Error> error (Error::Kind kind, std::string message)
{
  return tl::unexpected<Error> (Error (kind, std::move (message)));
}

/// What a kernel on the CPU returned (inthist.hpp).
Expected<> check_host (int result);

/// Sets `target`, unless it is null.
void set_gerror (GError **target, const Error &error);
/// Takes what a C function of this library has set, with what was being done in front.
Error take_gerror (GError *error, const char *doing = "");

/// "the integral histogram of 640x480 pixels with 32 bins (u32)", for messages.
std::string describe (const inthist::Shape &shape);
/// What to say where the system starts no more threads, for the reason that it gives.
std::string no_threads (const std::string &why);

/// How much memory can be had, and of what: "host memory", say, for messages.
struct Available {
  std::size_t bytes = 0;
  const char *of = "host memory";
};

/// "WHAT takes x GiB, and y GiB of host memory are free", for an error message.
std::string no_memory (const std::string &what, std::size_t bytes, const Available &available);
/// "WHAT takes x GiB, and LIMIT is y GiB".
std::string no_memory_within (const std::string &what, std::size_t bytes, const char *limit,
                              std::size_t value);
/// The first for a tensor, with what would make it smaller; `alive` others exist.
std::string no_memory_for_tensor (const inthist::Shape &shape, std::size_t bytes,
                                  const Available &available, unsigned alive);

}  // namespace integralhist
