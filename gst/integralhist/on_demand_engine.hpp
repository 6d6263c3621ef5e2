// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "engine.hpp"
#include "options.hpp"
#include "whole_frames.hpp"

namespace integralhist {

/// The engine behind one on demand, which computes frames at once.
struct WholeEngine {
  WholeFrames::Make make;
  const char *backend = "cpu";
  bool takes_wholes = false;  // also tensors of which somebody asks all, instead of who asks
};

/// Makes an engine whose frames are computed when somebody asks. It reads pixels in host memory;
/// frames on a device are computed at once. With Compute::automatic others are, too, while
/// consumers keep asking for whole tensors.
Expected<std::unique_ptr<Engine>> make_on_demand_engine (const inthist::Shape &shape,
                                                         const inthist::Lut &lut,
                                                         const Options &options, WholeEngine whole);

}  // namespace integralhist
