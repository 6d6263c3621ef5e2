// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Makes the engine that suits the shape of a tensor, the settings and the devices.
#pragma once

#include <gst/integralhist/engine/engine.hpp>
#include <gst/integralhist/engine/options.hpp>

namespace integralhist {

/// Which devices a user allows: with `automatic`, the CPU computes if CUDA cannot be used.
enum class Backend { automatic, cuda, cpu };

struct Devices {
  std::vector<std::shared_ptr<CudaContext>> contexts;  // if empty, the CPU computes
  std::vector<int> ids;  // device numbers that the user lists; without GPUs, the CPU imitates them

  bool on_gpu () const { return !contexts.empty (); }
  bool are_several () const { return contexts.size () > 1 || ids.size () > 1; }
};

/// Makes the engine for a tensor shape: a sharded engine (sharded_engine.hpp) for several devices,
/// or if settings or memory require rounds. Input pictures are at most as large as with `format`.
Expected<std::unique_ptr<Engine>> make_engine (const Shape &shape, const Lut &lut,
                                               const Options &options, const Devices &devices,
                                               const PixelFormat &format);

}  // namespace integralhist
