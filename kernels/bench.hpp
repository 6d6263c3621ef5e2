// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs candidates of the tuner: has pixels and workspaces on the device, and times frames.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "expected.hpp"
#include "inthist.hpp"

namespace inthist {

namespace cuda {
struct CudaError;
}

/// The error that ended a candidate.
struct Failure {
  std::string text;
  bool stopped = false;  // by the watchdog, or as the time is up

  explicit Failure (std::string what, bool by_watchdog = false)
      : text (std::move (what)), stopped (by_watchdog)
  {
  }
  Failure (const cuda::CudaError &error);  // in builds with CUDA
};

template <class T = void>
using Outcome = Expected<T, Failure>;

inline unexpected<Failure> failure (std::string text, bool stopped = false)
{
  return unexpected<Failure> (Failure (std::move (text), stopped));
}

inline unexpected<Failure> stopped ()
{
  return failure ("stopped", true);
}

class Bench {
public:
  virtual ~Bench () = default;
  /// Gives the job pixels and workspaces, which are kept while they are large enough.
  virtual Outcome<> prepare (Job &job, std::size_t workspace_bytes) = 0;
  /// Returns the seconds that `n` frames take.
  virtual Outcome<double> time (int n, const Job &job, const Strategy &strategy) = 0;
  /// Tells whether a first run takes about as long as the others, so that it can be hopeless.
  virtual bool first_run_counts () const = 0;
};

/// Makes a bench with `slots` frames in flight on CUDA. On the CPU one frame follows another.
Outcome<std::unique_ptr<Bench>> make_bench (Device device, const Shape &shape, int slots,
                                            const std::atomic<bool> *cancelled);

}  // namespace inthist
